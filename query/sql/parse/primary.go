package parse

import (
	"strconv"
	"strings"

	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/sql/lex"
	"github.com/divandb/divan/query/sqlstate"
)

// primary reads a constant, a parameter, a name, a call, CASE, an expression in parentheses, ARRAY, ROW, EXISTS or one
// of the functions that SQL writes with words (c_expr).
func (p *parser) primary() (ast.Expr, error) {
	t := p.peek()
	at := ast.At(t.Off)
	switch t.Kind {
	case lex.String, lex.Integer, lex.Number, lex.Bits:
		p.take()
		return p.constant(t)
	case lex.Param:
		p.take()
		n, err := strconv.Atoi(t.Text)
		if err != nil || n < 1 || n > 65535 {
			return nil, sqlstate.New(sqlstate.UndefinedParameter, "there is no parameter $%s", t.Text).At(t.Off)
		}
		return p.indirection(&ast.Param{At: at, Number: n})
	case lex.Punct:
		if t.Is("(") {
			return p.bracket()
		}
	case lex.Ident:
		return p.word(t)
	case lex.Quoted:
		return p.named()
	}
	return nil, p.unexpected()
}

func (p *parser) constant(t lex.Token) (ast.Expr, error) {
	kind := map[lex.Kind]ast.LiteralKind{lex.String: ast.String, lex.Integer: ast.Integer, lex.Number: ast.Number,
		lex.Bits: ast.Bits}[t.Kind]
	if kind == ast.Bits {
		digits, what := "01", "binary"
		if t.Text[0] == 'x' {
			digits, what = "0123456789abcdefABCDEF", "hexadecimal"
		}
		for _, r := range t.Text[1:] {
			if !strings.ContainsRune(digits, r) {
				return nil, sqlstate.New(sqlstate.InvalidTextRepresentation, "\"%c\" is not a valid %s digit", r,
					what).At(t.Off)
			}
		}
	}
	return &ast.Literal{At: ast.At(t.Off), Kind: kind, Text: t.Text}, nil
}

// bracket reads (query), (expression) or an implicit row (a, b).
func (p *parser) bracket() (ast.Expr, error) {
	at := p.here()
	if p.queryIn() {
		sub, err := p.subquery(at, ast.Scalar)
		if err != nil {
			return nil, err
		}
		return p.indirection(sub)
	}
	list, err := p.bracketList()
	if err != nil {
		return nil, err
	}
	if len(list) > 1 {
		return &ast.Row{At: at, Items: list}, nil
	}
	return p.indirection(list[0])
}

// subquery reads a query in parentheses.
func (p *parser) subquery(at ast.At, kind ast.SubqueryKind) (*ast.Subquery, error) {
	q, err := p.queryInBrackets()
	return &ast.Subquery{At: at, Kind: kind, Query: q}, err
}

// word reads the primaries that begin with a word: those of the grammar, otherwise a name.
func (p *parser) word(t lex.Token) (ast.Expr, error) {
	at, next := ast.At(t.Off), p.peekAt(1)
	switch t.Text {
	case "true", "false":
		p.take()
		return &ast.Literal{At: at, Kind: ast.Boolean, Text: t.Text}, nil
	case "null":
		p.take()
		return &ast.Literal{At: at, Kind: ast.Null, Text: t.Text}, nil
	case "default":
		p.take()
		return &ast.Default{At: at}, nil
	case "case":
		return p.caseExpr()
	case "array":
		return p.array()
	}
	if next.Is("(") {
		switch t.Text {
		case "exists":
			p.take()
			if !p.queryIn() {
				p.take()
				return nil, p.unexpected()
			}
			return p.subquery(at, ast.Exists)
		case "row":
			return p.row()
		}
	}
	if t.Category == keyword.ColumnName || t.Category == keyword.Reserved {
		if read := wordy[t.Text]; read != nil && next.Is("(") {
			p.take()
			return read(p, at)
		}
	}
	if n, ok := sessionValues[t.Text]; ok && !(t.Text == "current_schema" && next.Is("(")) {
		return p.sessionValue(n)
	}
	if t.Category == keyword.Reserved {
		return nil, p.unexpected()
	}
	if t.Text == "collation" && next.Word("for") {
		p.i += 2
		args, err := p.bracketList()
		if err == nil && len(args) != 1 {
			err = p.unexpected()
		}
		return systemCall(at, "pg_collation_for", args...), err
	}
	if constantTypes[t.Text] {
		if e, err := p.typedConstant(); e != nil || err != nil {
			return e, err
		}
	}
	return p.named()
}

// sessionValues lists the functions that are written without parentheses, and whether they take a precision.
var sessionValues = map[string]bool{
	"current_date": false, "current_time": true, "current_timestamp": true, "localtime": true, "localtimestamp": true,
	"current_user": false, "session_user": false, "user": false, "current_role": false, "current_catalog": false,
	"current_schema": false,
}

// sessionTypes gives the type that each of sessionValues is cast to if it has a precision.
var sessionTypes = map[string]string{"current_time": "timetz", "current_timestamp": "timestamptz", "localtime": "time",
	"localtimestamp": "timestamp"}

func (p *parser) sessionValue(precise bool) (ast.Expr, error) {
	t := p.take()
	c := &ast.Call{At: ast.At(t.Off), Name: []string{t.Text}}
	if !precise || !p.peek().Is("(") {
		return c, nil
	}
	typ := ast.TypeName{At: ast.At(t.Off), Parts: []string{"pg_catalog", sessionTypes[t.Text]}}
	err := p.inBrackets(func() error {
		n := p.take()
		if !n.IsInt() {
			return p.unexpectedAt(n)
		}
		typ.Mods = []string{n.Text}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &ast.Cast{At: ast.At(t.Off), X: c, Type: typ}, nil
}

func (p *parser) caseExpr() (ast.Expr, error) {
	n := &ast.Case{At: ast.At(p.take().Off)}
	var err error
	if !p.peek().Word("when") {
		if n.Operand, err = p.expr(); err != nil {
			return nil, err
		}
	}
	if !p.peek().Word("when") {
		return nil, p.unexpected()
	}
	for p.peek().Word("when") {
		w := ast.When{At: ast.At(p.take().Off)}
		if w.Cond, err = p.expr(); err != nil {
			return nil, err
		}
		if err := p.expectWords("then"); err != nil {
			return nil, err
		}
		if w.Result, err = p.expr(); err != nil {
			return nil, err
		}
		n.Whens = append(n.Whens, w)
	}
	if p.acceptWord("else") {
		if n.Else, err = p.expr(); err != nil {
			return nil, err
		}
	}
	return n, p.expectWords("end")
}

// array reads ARRAY[...] or ARRAY(query).
func (p *parser) array() (ast.Expr, error) {
	t := p.take()
	if p.peek().Is("(") {
		if !p.queryIn() {
			p.take()
			return nil, p.unexpected()
		}
		return p.subquery(ast.At(t.Off), ast.ArrayOf)
	}
	return p.arrayItems(ast.At(t.Off))
}

func (p *parser) arrayItems(at ast.At) (ast.Expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if err := p.expectPunct("["); err != nil {
		return nil, err
	}
	n := &ast.Array{At: at}
	if p.acceptPunct("]") {
		return n, nil
	}
	nested := p.peek().Is("[")
	if err := p.list(func() error {
		var e ast.Expr
		var err error
		if nested {
			e, err = p.arrayItems(p.here())
		} else {
			e, err = p.expr()
		}
		n.Items = append(n.Items, e)
		return err
	}); err != nil {
		return nil, err
	}
	return n, p.expectPunct("]")
}

// row reads ROW(...).
func (p *parser) row() (ast.Expr, error) {
	n := &ast.Row{At: ast.At(p.take().Off)}
	return n, p.inBrackets(func() (err error) {
		if !p.peek().Is(")") {
			n.Items, err = p.exprs()
		}
		return err
	})
}

// indirection reads [subscript], .field and .* after a primary.
func (p *parser) indirection(x ast.Expr) (ast.Expr, error) {
	for n := 1; ; n++ {
		if err := p.deep(n); err != nil {
			return nil, err
		}
		el, err := p.indirectionPart(x)
		if el == nil || err != nil {
			return x, err
		}
		if f, ok := el.(*ast.Field); ok && f.Name == "*" && (p.peek().Is(".") || p.peek().Is("[")) {
			return nil, p.starInside()
		}
		if sub, ok := el.(*ast.Subscript); ok && n > 1 {
			_, sub.Chained = sub.X.(*ast.Subscript)
		}
		x = el
	}
}

// starInside returns the error for a star that is not the last part. PostgreSQL reports it after all parts.
func (p *parser) starInside() error {
	for {
		el, err := p.indirectionPart(nil)
		if err != nil {
			return err
		}
		if el == nil {
			return p.near(p.peek(), `improper use of "*"`)
		}
	}
}

// indirectionPart reads one subscript or field of x, or returns nil.
func (p *parser) indirectionPart(x ast.Expr) (ast.Expr, error) {
	at := p.here()
	if x != nil {
		at = ast.At(x.Pos())
	}
	switch {
	case p.acceptPunct("."):
		if p.peek().Op("*") {
			p.take()
			return &ast.Field{At: at, X: x, Name: "*"}, nil
		}
		name, err := p.label()
		return &ast.Field{At: at, X: x, Name: name}, err
	case p.acceptPunct("["):
		n := &ast.Subscript{At: at, X: x}
		var err error
		if !p.peek().Is(":") {
			if n.Index, err = p.expr(); err != nil {
				return nil, err
			}
		}
		if p.acceptPunct(":") {
			n.Slice, n.Low, n.Index = true, n.Index, nil
			if !p.peek().Is("]") {
				if n.Index, err = p.expr(); err != nil {
					return nil, err
				}
			}
		}
		return n, p.expectPunct("]")
	}
	return nil, nil
}

// maxParts is the most parts a name can have: catalog.schema.table.column.
const maxParts = 4

// named reads a column, t.*, a call, or a constant of a type whose name is not a key word.
func (p *parser) named() (ast.Expr, error) {
	t := p.take()
	if !t.ColumnName() && !t.FunctionName() {
		return nil, p.unexpectedAt(t)
	}
	c := &ast.Column{At: ast.At(t.Off), Parts: []string{t.Text}}
	for p.peek().Is(".") {
		if p.peekAt(1).Op("*") {
			p.i += 2
			if p.peek().Is(".") || p.peek().Is("[") {
				return nil, p.starInside()
			}
			c.Star = true
			break
		}
		p.take()
		part, err := p.label()
		if err != nil {
			return nil, err
		}
		c.Parts = append(c.Parts, part)
	}
	// A name of one part is a function's or a column's by its category. The first of several parts must be a column's.
	function := t.FunctionName()
	if len(c.Parts) > 1 {
		function = t.ColumnName()
	}
	if !c.Star && function {
		switch n := p.peek(); {
		case n.Is("("):
			if e, err := p.constantOfNamedType(c); e != nil || err != nil {
				return e, err
			}
			if len(c.Parts) > maxParts-1 {
				return nil, tooManyParts(c.Pos(), c.Parts)
			}
			return p.call(c.At, c.Parts)
		case n.Kind == lex.String:
			return p.constantOfNamedType(c)
		}
	}
	if !t.ColumnName() {
		return nil, p.unexpected()
	}
	switch {
	case c.Star && len(c.Parts) > maxParts-1:
		return nil, tooManyParts(c.Pos(), append(c.Parts, "*"))
	case len(c.Parts) > maxParts:
		return nil, tooManyParts(c.Pos(), c.Parts)
	case c.Star:
		return c, nil
	}
	return p.indirection(c)
}

func tooManyParts(off int, parts []string) error {
	return lex.SyntaxError(off, "improper qualified name (too many dotted names): %s", strings.Join(parts, "."))
}
