package parse

import (
	"strings"

	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/sql/lex"
	"github.com/divandb/divan/query/sqlstate"
)

// constantTypes lists the types that are key words and may precede a constant: numeric '1' (ConstTypename and
// ConstInterval).
var constantTypes = map[string]bool{
	"bigint": true, "bit": true, "boolean": true, "char": true, "character": true, "dec": true, "decimal": true,
	"double": true, "float": true, "int": true, "integer": true, "interval": true, "national": true, "nchar": true,
	"numeric": true, "real": true, "smallint": true, "time": true, "timestamp": true, "varchar": true,
}

// systemNames maps SQL's names of types to PostgreSQL's.
var systemNames = map[string]string{
	"bigint": "int8", "boolean": "bool", "dec": "numeric", "decimal": "numeric", "int": "int4", "integer": "int4",
	"real": "float4", "smallint": "int2",
}

// typedConstant reads a constant after a type that is a key word. If there is no constant it returns nil and consumes
// nothing.
func (p *parser) typedConstant() (ast.Expr, error) {
	start := p.i
	t := p.peek()
	if t.Word("double") && !p.peekAt(1).Word("precision") {
		return nil, nil
	}
	typ, err := p.simpleType(true)
	if err != nil || p.peek().Kind != lex.String {
		if err != nil && p.i > start+1 {
			return nil, err
		}
		if t.Category == keyword.ColumnName {
			// This can only be a type, unless it is a column's name.
			if p.i == start+1 {
				p.i = start
				return nil, nil
			}
			return nil, p.unexpected()
		}
		p.i = start
		return nil, nil
	}
	c := p.take()
	if t.Word("interval") && len(typ.Mods) == 0 {
		if err := p.intervalFields(&typ); err != nil {
			return nil, err
		}
	}
	return &ast.Cast{At: ast.At(t.Off), X: &ast.Literal{At: ast.At(c.Off), Kind: ast.String, Text: c.Text}, Type: typ},
		nil
}

// constantOfNamedType reads 'text' or (modifiers) 'text' after the name of a type. If there is no constant it returns
// nil and consumes nothing.
func (p *parser) constantOfNamedType(c *ast.Column) (ast.Expr, error) {
	typ := ast.TypeName{At: c.At, Parts: c.Parts}
	if p.peek().Is("(") {
		if p.closing == nil {
			p.matchBrackets()
		}
		end := p.closing[p.i]
		if end < 0 || p.toks[end+1].Kind != lex.String {
			return nil, nil
		}
		var err error
		if typ.Mods, err = p.modifiers(typ.At); err != nil {
			return nil, err
		}
	}
	s := p.take()
	return &ast.Cast{At: c.At, X: &ast.Literal{At: ast.At(s.Off), Kind: ast.String, Text: s.Text}, Type: typ}, nil
}

// typeName reads a type with its array bounds (Typename).
func (p *parser) typeName() (ast.TypeName, error) {
	setOf := p.acceptWord("setof")
	typ, err := p.simpleType(false)
	if err != nil {
		return typ, err
	}
	typ.SetOf = setOf
	if p.acceptWord("array") {
		typ.Array = true
		if p.acceptPunct("[") {
			if n := p.take(); !n.IsInt() {
				return typ, p.unexpectedAt(n)
			}
			return typ, p.expectPunct("]")
		}
		return typ, nil
	}
	for p.acceptPunct("[") {
		typ.Array = true
		if p.peek().IsInt() {
			p.take()
		}
		if err := p.expectPunct("]"); err != nil {
			return typ, err
		}
	}
	return typ, nil
}

// simpleType reads a type without array bounds: the words of one of SQL's own names, or a name with an optional schema
// and modifiers. The fields of an interval come after the constant if there is one.
func (p *parser) simpleType(constant bool) (ast.TypeName, error) {
	t := p.peek()
	typ := ast.TypeName{At: ast.At(t.Off)}
	if t.Kind == lex.Ident && constantTypes[t.Text] && (t.Text != "double" || p.peekAt(1).Word("precision")) {
		p.take()
		return typ, p.systemType(t, &typ, constant)
	}
	if !t.FunctionName() {
		return typ, p.unexpected()
	}
	p.take()
	typ.Parts = []string{t.Text}
	for p.acceptPunct(".") {
		part, err := p.label()
		if err != nil {
			return typ, err
		}
		typ.Parts = append(typ.Parts, part)
	}
	var err error
	if p.peek().Is("(") {
		typ.Mods, err = p.modifiers(typ.At)
	}
	return typ, err
}

// systemType reads the rest of one of SQL's own types after its first word.
func (p *parser) systemType(t lex.Token, typ *ast.TypeName, constant bool) (err error) {
	name := t.Text
	switch name {
	case "double":
		p.take()
		name = "float8"
	case "national":
		if !p.acceptWord("character") && !p.acceptWord("char") {
			return p.unexpected()
		}
		name = "char"
	case "float":
		return p.floatType(typ)
	case "interval":
		typ.Parts = []string{name}
		if p.peek().Is("(") {
			return p.precision(typ)
		}
		if constant {
			return nil
		}
		return p.intervalFields(typ)
	case "timestamp", "time":
		return p.timeType(name, typ)
	}
	switch name {
	case "char", "character", "nchar":
		name = "bpchar"
		if p.acceptWord("varying") {
			name = "varchar"
		}
	case "bit":
		if p.acceptWord("varying") {
			name = "varbit"
		}
	}
	if system, ok := systemNames[name]; ok {
		name = system
	}
	typ.Parts = []string{name}
	switch name {
	case "numeric", "bit", "varbit":
		if p.peek().Is("(") {
			typ.Mods, err = p.modifiers(typ.At)
		}
		return err
	case "bpchar", "varchar":
		if p.peek().Is("(") {
			return p.precision(typ)
		}
		if name == "bpchar" && !constant {
			typ.Mods = []string{"1"} // character is character(1)
		}
	}
	return nil
}

// floatType reads FLOAT [(bits)].
func (p *parser) floatType(typ *ast.TypeName) error {
	typ.Parts = []string{"float8"}
	if !p.peek().Is("(") {
		return nil
	}
	n := p.peekAt(1)
	if err := p.precision(typ); err != nil {
		return err
	}
	typ.Mods = nil
	switch bits, _ := atoi(n.Text); {
	case bits < 1:
		return sqlstate.New(sqlstate.InvalidParameterValue, "precision for type float must be at least 1 bit").At(n.Off)
	case bits > 53:
		return sqlstate.New(sqlstate.InvalidParameterValue,
			"precision for type float must be less than 54 bits").At(n.Off)
	case bits <= 24:
		typ.Parts = []string{"float4"}
	}
	return nil
}

// timeType reads [(precision)] [WITH | WITHOUT TIME ZONE].
func (p *parser) timeType(name string, typ *ast.TypeName) error {
	typ.Parts = []string{name}
	if p.peek().Is("(") {
		if err := p.precision(typ); err != nil {
			return err
		}
	}
	switch {
	case p.ahead("with", "time"):
		typ.Parts[0] += "tz"
	case p.ahead("without", "time"):
	default:
		return nil
	}
	p.i += 2
	return p.expectWords("zone")
}

// precision reads (number).
func (p *parser) precision(typ *ast.TypeName) error {
	return p.inBrackets(func() error {
		n := p.take()
		if !n.IsInt() {
			return p.unexpectedAt(n)
		}
		typ.Mods = []string{n.Text}
		return nil
	})
}

// modifiers reads (expression, ...) after the type at a position. Only constants and words are valid modifiers.
func (p *parser) modifiers(at ast.At) ([]string, error) {
	list, err := p.bracketList()
	if err != nil {
		return nil, err
	}
	out := make([]string, len(list))
	for i, e := range list {
		switch n := e.(type) {
		case *ast.Literal:
			out[i] = n.Text
			continue
		case *ast.Column:
			if len(n.Parts) == 1 && !n.Star {
				out[i] = n.Parts[0]
				continue
			}
		}
		return nil, lex.SyntaxError(at.Pos(), "type modifiers must be simple constants or identifiers")
	}
	return out, nil
}

// intervalFields reads YEAR, DAY TO SECOND(3) and so on after INTERVAL or its constant.
func (p *parser) intervalFields(typ *ast.TypeName) error {
	from := p.peek()
	ends := map[string]string{"year": "month", "month": "", "day": "hour minute second", "hour": "minute second",
		"minute": "second", "second": ""}
	to, ok := ends[from.Text]
	if !ok || from.Kind != lex.Ident {
		return nil
	}
	p.take()
	typ.Fields = from.Text
	last := from.Text
	if to != "" && p.acceptWord("to") {
		end := p.peek()
		if end.Kind != lex.Ident || !strings.Contains(" "+to+" ", " "+end.Text+" ") {
			return p.unexpected()
		}
		p.take()
		last = end.Text
		typ.Fields += " to " + last
	}
	if last == "second" && p.peek().Is("(") {
		return p.precision(typ)
	}
	return nil
}
