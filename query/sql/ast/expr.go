package ast

// LiteralKind is the kind of a constant.
type LiteralKind uint8

// The kinds of constants.
const (
	Integer LiteralKind = iota // digits
	Number                     // with a decimal point or an exponent
	String
	Bits    // Text begins with b or x
	Boolean // Text is "true" or "false"
	Null
)

type (
	// Literal is a constant. Text is its value; a number may begin with a sign.
	Literal struct {
		At
		Kind LiteralKind
		Text string
	}
	// Param is a parameter such as $1.
	Param struct {
		At
		Number int
	}
	// Column is a name of one to four parts. Star is set for * (no parts) and t.*.
	Column struct {
		At
		Parts []string
		Star  bool
	}
	// Operator is a prefix operator (one argument) or an infix operator (two), given by its symbol.
	Operator struct {
		At
		Op   string
		Args []Expr
	}
	// Logic is "and" or "or" (two or more arguments), or "not" (one).
	Logic struct {
		At
		Op   string
		Args []Expr
	}
	// IsTest is x IS [NOT] NULL, TRUE, FALSE, UNKNOWN, DOCUMENT, NORMALIZED or DISTINCT FROM y.
	IsTest struct {
		At
		What string // "null", "true", "false", "unknown", "document", "normalized", "distinct"
		Not  bool
		X, Y Expr
	}
	// InList is x [NOT] IN (list).
	InList struct {
		At
		Not  bool
		X    Expr
		List []Expr
	}
	// Between is x [NOT] BETWEEN [SYMMETRIC] low AND high.
	Between struct {
		At
		Not, Symmetric bool
		X, Low, High   Expr
	}
	// Like is x [NOT] LIKE pattern [ESCAPE escape].
	Like struct {
		At
		Kind       string // "like", "ilike", "similar"
		Not        bool
		X, Pattern Expr
		Escape     Expr // or nil
	}
	// Quantified is x op ANY|ALL (array or *Subquery). x IN (SELECT) is = ANY.
	Quantified struct {
		At
		Op   string
		All  bool
		X, Y Expr
	}
	// Case is CASE [operand] WHEN ... ELSE ... END.
	Case struct {
		At
		Operand Expr // or nil
		Whens   []When
		Else    Expr // or nil
	}
	// When is a branch of a Case.
	When struct {
		At
		Cond, Result Expr
	}
	// Cast is x::type, CAST (x AS type) and type 'text'.
	Cast struct {
		At
		X    Expr
		Type TypeName
		// Try makes the cast of a value that has another form NULL. SQL has no syntax for it; columns that design
		// documents declare use it.
		Try bool
		// Lists makes the cast of a jsonb to an array one of the items of its list, as jsonb_to_record does it. It has
		// no syntax either.
		Lists bool
	}
	// Collate is x COLLATE name.
	Collate struct {
		At
		X    Expr
		Name []string
	}
	// Call is a function call with the clauses that may follow it.
	Call struct {
		At
		Name      []string
		Args      []Expr // *NamedArg are last
		Star      bool   // f(*)
		Distinct  bool
		Variadic  bool        // the last argument is VARIADIC
		Order     []OrderItem // ORDER BY in the parentheses or in WITHIN GROUP
		Within    bool        // WITHIN GROUP
		Filter    Expr        // or nil
		Over      *Window     // or nil
		Procedure bool        // the call of a CALL statement
	}
	// NamedArg is name => value.
	NamedArg struct {
		At
		Name  string
		Value Expr
	}
	// Array is ARRAY[...].
	Array struct {
		At
		Items []Expr
	}
	// Row is ROW(...) or (a, b).
	Row struct {
		At
		Items []Expr
	}
	// Subscript is x[index] or x[low:index]; both bounds may be nil. Chained is set when x is a subscript too and is
	// not in parentheses.
	Subscript struct {
		At
		X          Expr
		Slice      bool
		Low, Index Expr
		Chained    bool
	}
	// Field is (x).name; the name is "*" for all.
	Field struct {
		At
		X    Expr
		Name string
	}
	// Subquery is a query in an expression.
	Subquery struct {
		At
		Kind  SubqueryKind
		Query *Select
	}
	// GroupingSet is an item of GROUP BY: ROLLUP, CUBE, GROUPING SETS, or () if it has no items.
	GroupingSet struct {
		At
		Kind  string // "rollup", "cube", "grouping sets", "empty"
		Items []Expr
	}
	// Default is the word DEFAULT in the place of a value.
	Default struct{ At }
	// CurrentOf is WHERE CURRENT OF cursor.
	CurrentOf struct {
		At
		Cursor string
	}
)

// SubqueryKind is how an expression uses a sub-query.
type SubqueryKind string

// The kinds of sub-queries.
const (
	Scalar  SubqueryKind = "scalar"
	Exists  SubqueryKind = "exists"
	ArrayOf SubqueryKind = "array"
)

// TypeName is a type as it is written.
type TypeName struct {
	At
	Parts []string
	Mods  []string // modifiers: constants and words
	// Array reports whether the type is followed by [] or ARRAY, any number of times.
	Array bool
	SetOf bool
	// Fields are the fields of an interval, such as "day to second".
	Fields string
}

// Start returns the position where the text of an expression begins.
func Start(e Expr) int {
	off := e.Pos()
	switch n := e.(type) {
	case *Cast:
		if l, ok := n.X.(*Literal); ok && l.Kind == String {
			return l.Pos() // as in type 'text', which is a constant at its text
		}
		off = min(off, Start(n.X))
	case *Operator:
		off = min(off, Start(n.Args[0]))
	case *Subscript:
		off = min(off, Start(n.X))
	case *Field:
		off = min(off, Start(n.X))
	case *Collate:
		off = min(off, Start(n.X))
	}
	return off
}
