package sql

// The tree that decode makes of the library's, with positions and PostgreSQL's meaning. Offsets are in bytes of the statement.

type expr interface{ offset() int }

type at int

func (a at) offset() int { return int(a) }

type (
	// literal is a constant; kind is the token's, tIdent for true, false and null.
	literal struct {
		at
		kind tokenKind
		text string
	}
	param struct {
		at
		number int // from 1
	}
	// column is a name of one to four parts; star for t.*.
	column struct {
		at
		parts []string
		star  bool
	}
	// operator is a prefix (one argument) or infix operator by its symbol.
	operator struct {
		at
		op   string
		args []expr
	}
	// logic is and, or (two or more arguments) and not (one).
	logic struct {
		at
		op   string
		args []expr
	}
	// isTest is x IS [NOT] NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM y.
	isTest struct {
		at
		what string // "null", "true", "false", "unknown", "distinct"
		not  bool
		x, y expr
	}
	inList struct {
		at
		not  bool
		x    expr
		list []expr
	}
	between struct {
		at
		not, symmetric bool
		x, low, high   expr
	}
	like struct {
		at
		kind       string // "like", "ilike", "similar"
		not        bool
		x, pattern expr
		escape     expr // or nil
	}
	// quantified is x op ANY|ALL (array or subquery). IN (SELECT) is = ANY.
	quantified struct {
		at
		op   string
		all  bool
		x, y expr // y may be a *subquery
	}
	caseExpr struct {
		at
		operand expr // or nil
		whens   []when
		other   expr // or nil
	}
	when struct{ cond, result expr }
	cast struct {
		at
		x    expr
		name typeName
	}
	collation struct {
		at
		x    expr
		name []string
	}
	call struct {
		at
		name     []string
		args     []expr
		distinct bool
		star     bool
		variadic bool
		order    []orderItem
		filter   expr    // or nil
		over     *window // or nil
	}
	window struct {
		partition []expr
		order     []orderItem
	}
	arrayLit struct {
		at
		items []expr
	}
	rowLit struct {
		at
		items []expr
	}
	subscript struct {
		at
		x        expr
		slice    bool
		low, idx expr // low only for a slice; either may be nil there
	}
	field struct {
		at
		x    expr
		name string // "*" for all
	}
	subquery struct {
		at
		kind string // "scalar", "exists", "array"
		sel  *selectStmt
	}
)

// typeName is a type as written.
type typeName struct {
	at
	parts []string
	mods  []string // literal modifiers
	array bool
	// fields of an interval are read over.
}

// selectStmt is a SELECT, a UNION of two, or VALUES turned into one.
type selectStmt struct {
	at
	with       []cte
	recursive  bool
	distinct   bool
	distinctOn []expr
	targets    []target
	values     [][]expr // instead of all from targets to having
	from       []fromItem
	where      expr
	groupBy    []expr
	having     expr
	orderBy    []orderItem
	limit      expr // nil for none
	skip       expr
	// union
	left, right *selectStmt
	unionAll    bool
}

type target struct {
	expr  expr
	alias string
}

type orderItem struct {
	expr       expr
	desc       bool
	nullsFirst bool // resolved: the default is last for ascending, first for descending
}

type cte struct {
	at
	name    string
	columns []string
	sel     *selectStmt
	// materialize is "always" for MATERIALIZED, "never" for NOT MATERIALIZED, else "".
	materialize string
}

type fromItem interface{ offset() int }

type (
	tableRef struct {
		at
		name    []string
		alias   string
		columns []string
	}
	subselect struct {
		at
		sel     *selectStmt
		alias   string
		columns []string
		lateral bool
	}
	funcTable struct {
		at
		call       expr
		alias      string
		columns    []string
		types      []typeName // of a column definition list
		ordinality bool
	}
	join struct {
		at
		kind        string // "inner", "left", "right", "full", "cross"
		left, right fromItem
		on          expr
		using       []string
		natural     bool
	}
)
