// Package parse parses PostgreSQL 15's SQL: expressions, types, queries and the statements of a session. It reads the
// tokens of package lex and builds the tree of package ast. Errors have PostgreSQL's messages, codes and positions.
//
// The parser is a recursive descent over the tokens, with precedence climbing for expressions. The clauses of one
// SELECT and its joins are left to the grammar of github.com/xwb1989/sqlparser: core.go gives it a skeleton in which
// each expression and table is a placeholder.
//
// Everything that PostgreSQL's grammar accepts is parsed, even if Divan cannot run it: package bind refuses that with a
// position and a hint.
package parse

import (
	"errors"

	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/lex"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/work"
)

// MaxDepth is how deeply a statement may nest. PostgreSQL limits the size of its stack instead: 2 MB, some thousand
// levels.
const MaxDepth = 4000

// Split splits the text of a simple query after its semicolons. Pieces without tokens are left out. The pieces are
// slices of src; offsets says where they begin. If there are several, a syntax error in any of them fails the whole
// text, so that nothing of it is run.
func Split(w *work.Work, src string) (pieces []string, offsets []int, err error) {
	defer w.Back(w.Used())
	toks, failed, err := lex.Tokens(w, src)
	if err != nil {
		return nil, nil, err
	}
	start := 0
	for i, t := range toks {
		if !t.Is(";") && t.Kind != lex.EOF && t.Kind != lex.Bad {
			continue
		}
		end := i
		if t.Kind == lex.Bad {
			end++ // The last piece has the bad token. Its parser reports it.
		}
		if end > start {
			from, to := toks[start].Off, toks[end-1].End
			if from > toks[end-1].Off {
				return nil, nil, failed
			}
			if t.Is(";") {
				to = t.End
			}
			pieces, offsets = append(pieces, src[from:to]), append(offsets, from)
		}
		start = i + 1
	}
	if len(pieces) < 2 {
		return pieces, offsets, nil
	}
	return pieces, offsets, (&parser{work: w, src: src, toks: toks, failed: failed}).check()
}

// check parses all statements. It ignores statements that PostgreSQL accepts and Divan refuses: running them reports
// that.
func (p *parser) check() error {
	for p.peek().Kind != lex.EOF {
		var e *sqlstate.Error
		switch _, err := p.statement(); {
		case err == nil && !p.peek().Is(";") && p.peek().Kind != lex.EOF:
			return p.unexpected()
		case errors.As(err, &e) && e.Code == sqlstate.FeatureNotSupported:
			for t := p.peek(); !t.Is(";") && t.Kind != lex.EOF; t = p.peek() {
				if p.take().Kind == lex.Bad {
					return p.failed
				}
			}
		case err != nil:
			return err
		}
		p.acceptPunct(";")
		p.depth = 0
	}
	return nil
}

// Statement parses one statement; a semicolon at its end is allowed. Errors carry positions. The memory of the
// statement stays reserved in w; memory used only for parsing is released.
func Statement(w *work.Work, src string) (ast.Statement, error) {
	before := w.Used()
	toks, failed, err := lex.Tokens(w, src)
	if err != nil {
		return nil, err
	}
	p := &parser{work: w, src: src, toks: toks, failed: failed}
	for p.acceptPunct(";") {
	}
	st, err := p.statement()
	if err != nil {
		return nil, err
	}
	if err := p.alone(); err != nil {
		return nil, err
	}
	w.Back(before)
	if err := w.Hold(int64(len(src)) + p.nodes*nodeSize); err != nil {
		return nil, err
	}
	return st, nil
}

// alone returns an error if anything but semicolons follows the statement. A syntax error in a following statement
// comes first.
func (p *parser) alone() error {
	several := false
	for p.acceptPunct(";") {
		st, err := p.statement()
		if err != nil {
			return err
		}
		if _, none := st.(*ast.Empty); !none {
			several = true
		}
	}
	switch {
	case p.peek().Kind != lex.EOF:
		return p.unexpected()
	case several:
		return lex.SyntaxError(-1, "cannot insert multiple commands into a prepared statement")
	}
	return nil
}

// parser reads the tokens of one statement.
type parser struct {
	work *work.Work
	src  string
	toks []lex.Token
	i    int
	// failed says why the last token is a lex.Bad.
	failed *sqlstate.Error
	depth  int
	// nodes is the approximate number of nodes in the tree.
	nodes int64
	// closing and queries are built when first needed: the closing parenthesis of each opening one, and which of them
	// begin a query.
	closing []int
	queries []int8
}

func (p *parser) peek() lex.Token { return p.toks[p.i] }

// peekAt returns the token n places ahead.
func (p *parser) peekAt(n int) lex.Token { return p.toks[min(p.i+n, len(p.toks)-1)] }

// here returns the position of the next token.
func (p *parser) here() ast.At { return ast.At(p.peek().Off) }

func (p *parser) take() lex.Token {
	t := p.toks[p.i]
	if t.Kind != lex.EOF && t.Kind != lex.Bad {
		p.i++
	}
	return t
}

func (p *parser) acceptWord(w string) bool {
	if p.peek().Word(w) {
		p.i++
		return true
	}
	return false
}

// acceptWords consumes all words or none.
func (p *parser) acceptWords(ws ...string) bool {
	if !p.ahead(ws...) {
		return false
	}
	p.i += len(ws)
	return true
}

// ahead reports whether the words come next.
func (p *parser) ahead(ws ...string) bool {
	for i, w := range ws {
		if !p.peekAt(i).Word(w) {
			return false
		}
	}
	return true
}

func (p *parser) acceptPunct(s string) bool {
	if p.peek().Is(s) {
		p.i++
		return true
	}
	return false
}

func (p *parser) expectPunct(s string) error {
	if !p.acceptPunct(s) {
		return p.unexpected()
	}
	return nil
}

// expectWords consumes the words one after the other.
func (p *parser) expectWords(ws ...string) error {
	for _, w := range ws {
		if !p.acceptWord(w) {
			return p.unexpected()
		}
	}
	return nil
}

func (p *parser) expectOp(op string) error {
	if !p.peek().Op(op) {
		return p.unexpected()
	}
	p.i++
	return nil
}

// unexpected returns the syntax error for the next token.
func (p *parser) unexpected() error { return p.unexpectedAt(p.peek()) }

func (p *parser) unexpectedAt(t lex.Token) error { return p.near(t, "syntax error") }

// near returns an error that PostgreSQL reports at a token.
func (p *parser) near(t lex.Token, what string) error {
	switch t.Kind {
	case lex.Bad:
		return p.failed
	case lex.EOF:
		return lex.SyntaxError(t.Off, "%s at end of input", what)
	}
	return lex.SyntaxError(t.Off, "%s at or near \"%s\"", what, p.src[t.Off:t.End])
}

// enter counts a nesting level. The caller must call leave.
func (p *parser) enter() error {
	p.depth++
	return p.deep(0)
}

func (p *parser) leave() { p.depth-- }

// deep counts a node, and fails if n more levels would be too many. Chains such as 1 + 1 + 1 nest in the tree though
// not in the text.
func (p *parser) deep(n int) error {
	if p.depth+n > MaxDepth {
		return TooDeep(p.peek().Off)
	}
	p.nodes++
	if err := p.work.Hold(nodeSize); err != nil {
		return err
	}
	return p.work.Step(1)
}

// nodeSize is the approximate memory of a node in bytes.
const nodeSize = 160

// TooDeep returns the error for a statement that nests too deeply.
func TooDeep(off int) *sqlstate.Error {
	return sqlstate.New(sqlstate.StatementTooComplex, "stack depth limit exceeded").At(off).
		WithHint("A statement may nest %d levels deep.", MaxDepth)
}

// list reads one or more items separated by commas.
func (p *parser) list(item func() error) error {
	for {
		if err := item(); err != nil {
			return err
		}
		if !p.acceptPunct(",") {
			return nil
		}
	}
}

// inBrackets reads (...).
func (p *parser) inBrackets(inside func() error) error {
	if err := p.expectPunct("("); err != nil {
		return err
	}
	if err := inside(); err != nil {
		return err
	}
	return p.expectPunct(")")
}

// name reads the name of a column, a table or an alias (ColId).
func (p *parser) name() (string, error) {
	if t := p.peek(); t.ColumnName() {
		p.i++
		return t.Text, nil
	}
	return "", p.unexpected()
}

// label reads a name that may be any key word (ColLabel).
func (p *parser) label() (string, error) {
	if t := p.peek(); t.Label() {
		p.i++
		return t.Text, nil
	}
	return "", p.unexpected()
}

// qualified reads a name with dots (any_name).
func (p *parser) qualified() ([]string, error) {
	first, err := p.name()
	if err != nil {
		return nil, err
	}
	parts := []string{first}
	for p.acceptPunct(".") {
		part, err := p.label()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// names reads a, b, ...
func (p *parser) names() ([]string, error) {
	var out []string
	err := p.list(func() error {
		n, err := p.name()
		out = append(out, n)
		return err
	})
	return out, err
}

// columnNames reads an optional (a, b, ...).
func (p *parser) columnNames() (out []string, err error) {
	if !p.peek().Is("(") {
		return nil, nil
	}
	err = p.inBrackets(func() error {
		out, err = p.names()
		return err
	})
	return out, err
}

// queryIn reports whether the parenthesis at the next token holds a query rather than an expression or a join:
// "((SELECT 1) UNION SELECT 2)" does, "((SELECT 1) + 1)" and "((SELECT 1) t JOIN u ON true)" do not.
func (p *parser) queryIn() bool {
	if p.closing == nil {
		p.matchBrackets()
	}
	return p.peek().Is("(") && p.queries[p.i] > 0
}

// matchBrackets finds where each parenthesis closes and whether it holds a query.
func (p *parser) matchBrackets() {
	p.closing, p.queries = make([]int, len(p.toks)), make([]int8, len(p.toks))
	var open []int
	for j, t := range p.toks {
		switch {
		case t.Is("("):
			p.closing[j] = -1
			open = append(open, j)
		case t.Is(")") && len(open) > 0:
			p.closing[open[len(open)-1]] = j
			open = open[:len(open)-1]
		}
	}
	for j := len(p.toks) - 2; j >= 0; j-- {
		if !p.toks[j].Is("(") {
			continue
		}
		switch t := p.toks[j+1]; {
		case t.Words("select", "with", "table"), t.Word("values") && p.toks[min(j+2, len(p.toks)-1)].Is("("):
			p.queries[j] = 1
		case t.Is("(") && p.queries[j+1] > 0:
			// A query in parentheses: what follows tells whether it is part of a query, an expression or a join. If it
			// does not close, take it for a query, so that its parser reports the end of input.
			end := p.closing[j+1]
			if end < 0 || p.toks[end+1].Is(")") ||
				p.toks[end+1].Words("union", "intersect", "except", "order", "limit", "offset", "fetch", "for") {
				p.queries[j] = 1
			}
		}
	}
}
