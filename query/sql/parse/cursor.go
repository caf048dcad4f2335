package parse

import (
	"strconv"
	"strings"

	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/lex"
)

// cursor reads DECLARE, FETCH, MOVE and CLOSE.
func (p *parser) cursor() (ast.Statement, error) {
	t := p.take()
	switch t.Text {
	case "declare":
		return p.declare()
	case "close":
		if p.acceptWord("all") {
			return &ast.CloseCursor{At: ast.At(t.Off)}, nil
		}
		at := p.here()
		name, err := p.name()
		return &ast.CloseCursor{At: at, Name: name}, err
	}
	return p.fetch(t)
}

// declare reads name [options] CURSOR [WITH HOLD] FOR query.
func (p *parser) declare() (ast.Statement, error) {
	d := &ast.Declare{At: p.here()}
	var err error
	if d.Name, err = p.name(); err != nil {
		return nil, err
	}
	for !p.acceptWord("cursor") {
		switch {
		case p.acceptWord("binary"):
			d.IsBinary = true
		case p.acceptWord("insensitive"):
			d.Insensitive = true
		case p.acceptWord("asensitive"):
			d.Asensitive = true
		case p.acceptWord("scroll"):
			d.Scroll = true
		case p.acceptWords("no", "scroll"):
			d.NoScroll = true
		default:
			return nil, p.unexpected()
		}
	}
	if p.acceptWord("with") {
		d.Hold = true
		err = p.expectWords("hold")
	} else if p.acceptWord("without") {
		err = p.expectWords("hold")
	}
	if err != nil {
		return nil, err
	}
	if err := p.expectWords("for"); err != nil {
		return nil, err
	}
	q, err := p.query()
	d.Query = &ast.Query{Select: q}
	return d, err
}

// fetch reads FETCH|MOVE [direction] [FROM|IN] cursor.
func (p *parser) fetch(t lex.Token) (ast.Statement, error) {
	f := &ast.Fetch{At: ast.At(t.Off), Move: t.Text == "move", Direction: "forward", Count: 1}
	var err error
	switch d := p.peek(); {
	case d.ColumnName() && (p.peekAt(1).Kind == lex.EOF || p.peekAt(1).Is(";")):
		// only the cursor's name
	case p.acceptWord("next"):
	case p.acceptWord("prior"):
		f.Direction = "backward"
	case p.acceptWord("first"):
		f.Direction = "absolute"
	case p.acceptWord("last"):
		f.Direction, f.Count = "absolute", -1
	case d.Words("absolute", "relative"):
		p.take()
		f.Direction = d.Text
		err = p.count(f)
	case p.acceptWord("all"):
		f.All = true
	case d.Words("forward", "backward"):
		p.take()
		f.Direction = d.Text
		if p.acceptWord("all") {
			f.All = true
		} else if p.countAhead() {
			err = p.count(f)
		}
	case p.countAhead():
		err = p.count(f)
	}
	if err != nil {
		return nil, err
	}
	if f.Count < 0 && f.Direction == "forward" {
		f.Direction, f.Count = "backward", -f.Count
	}
	if !p.acceptWord("from") {
		p.acceptWord("in")
	}
	f.At = p.here()
	f.Cursor, err = p.name()
	return f, err
}

func (p *parser) countAhead() bool {
	t := p.peek()
	return t.Kind == lex.Integer || t.Kind == lex.Number || t.Op("-") || t.Op("+")
}

// sign reads an optional sign and returns "-" or "".
func (p *parser) sign() string {
	t := p.peek()
	if !t.Op("-") && !t.Op("+") {
		return ""
	}
	p.take()
	return strings.TrimPrefix(t.Text, "+")
}

// count reads an integer with an optional sign.
func (p *parser) count(f *ast.Fetch) error {
	sign := p.sign()
	t := p.take()
	if !t.IsInt() {
		return p.unexpectedAt(t)
	}
	var err error
	f.Count, err = strconv.ParseInt(sign+t.Text, 10, 64)
	return err
}
