package sql

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xwb1989/sqlparser"

	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/work"
)

// How PostgreSQL's SQL goes through a parser of MySQL's grammar.
//
// The library keeps the grammar of statements: select lists, joins, sub-queries, unions, CASE, IN, BETWEEN, AND, OR, NOT, ORDER BY
// and LIMIT. It never sees PostgreSQL's text. The rewriting pass reads PostgreSQL's tokens, knows PostgreSQL's precedence, and writes
// a text in which every name, constant, parameter, operator and cast is only a number: `17` for a name or a call, :v17 for a
// constant. The number leads to a note, which says what stood there and where. So no quoting rule, keyword or operator of MySQL
// can ever touch the meaning, and the offset of everything is known, also in the library's own syntax errors.

// note is what one number of the rewritten text stands for.
type note struct {
	off  int
	kind noteKind
	text string   // an operator, a kind of test
	name []string // a column, table or function
	not  bool
	star bool
	// ops are the operators of a chain: operands are ops plus one, left-associative.
	ops []opAt
	typ typeName // of a cast
	// calls: how the emitted arguments divide.
	args, orders, partitions int
	orderSpecs               []orderSpec
	distinct, filter, over   bool
	variadic                 bool
	// tables
	alias      string
	columns    []string
	types      []typeName
	lateral    bool
	ordinality bool
	body       *selectStmt // of a function in FROM: SELECT call; of a CTE
	// select
	ctes       []cte
	recursive  bool
	distinctOn int
	values     bool // the targets are the rows of VALUES
}

// constant is a literal or a parameter, of which a statement may have very many.
type constant struct {
	off  int
	text string
	tok  tokenKind // tParam for a parameter
}

type opAt struct {
	op  string
	off int
}

type orderSpec struct{ desc, nullsFirst bool }

type noteKind uint8

const (
	noteColumn   noteKind = iota
	noteChain             // infix operators of one level
	notePrefix            // prefix operator
	noteCast              // one argument
	noteCollate           // one argument, name
	noteIs                // x or x, y
	noteLike              // x, pattern [, escape]
	noteBetween           // symmetric: x, low, high
	noteQuantify          // x, array or subquery
	noteCall              // arguments, order items, filter, window
	noteArray             // items
	noteArraySub          // one subquery
	noteRow               // items
	noteSubscript
	noteField
	noteOrder // one argument of ORDER BY with NULLS FIRST or LAST
	noteAlias
	noteTable
	noteSubselect
	noteFuncTable
	noteSelect
	noteJoin // an ON clause: its argument, or using, or natural
	noteAll  // LIMIT ALL
	noteEmpty
)

// rewriter turns the tokens of one statement into the library's text.
type rewriter struct {
	work      *work.Work
	src       string
	toks      []token
	i         int
	notes     []note
	constants []constant
	depth     int
	// failed is why a note could not be filed: the next enter or parse answers it.
	failed error
	// closing is made by close when it is first asked.
	closing []int
}

// maxDepth bounds nesting; the library's own bound is 200 brackets, and no level takes two.
const maxDepth = 180

func (r *rewriter) peek() token { return r.toks[r.i] }

// peekAt looks n tokens ahead.
func (r *rewriter) peekAt(n int) token { return r.toks[min(r.i+n, len(r.toks)-1)] }

func (r *rewriter) take() token {
	t := r.toks[r.i]
	if t.Kind != tEOF {
		r.i++
	}
	return t
}

func (r *rewriter) acceptWord(w string) bool {
	if r.peek().word(w) {
		r.i++
		return true
	}
	return false
}

func (r *rewriter) acceptPunct(p string) bool {
	if r.peek().is(p) {
		r.i++
		return true
	}
	return false
}

func (r *rewriter) expectPunct(p string) error {
	if !r.acceptPunct(p) {
		return r.unexpected()
	}
	return nil
}

func (r *rewriter) expectWord(w string) error {
	if !r.acceptWord(w) {
		return r.unexpected()
	}
	return nil
}

// unexpected is the error of the current token.
func (r *rewriter) unexpected() error { return r.unexpectedAt(r.peek()) }

func (r *rewriter) unexpectedAt(t token) error {
	if t.Kind == tEOF {
		return syntaxError(t.Off, "syntax error at end of input")
	}
	return syntaxError(t.Off, "syntax error at or near %q", r.src[t.Off:t.End])
}

// enter counts nesting; leave with the function it returns.
func (r *rewriter) enter() error {
	if r.failed != nil {
		return r.failed
	}
	if r.depth++; r.depth > maxDepth {
		return sqlstate.New(sqlstate.StatementTooComplex, "statement is nested more than %d levels deep", maxDepth).At(r.peek().Off)
	}
	return nil
}

func (r *rewriter) leave() { r.depth-- }

// add files a note and returns its number.
func (r *rewriter) add(n note) string {
	r.hold(noteSize)
	r.notes = append(r.notes, n)
	return strconv.Itoa(len(r.notes) - 1)
}

// What a note and a constant take of memory, in bytes, with the library's nodes and ours that are made of them.
const (
	noteSize     = 700
	constantSize = 280
)

func (r *rewriter) hold(n int64) {
	if r.failed == nil {
		r.failed = r.work.Hold(n)
	}
	if r.failed == nil {
		r.failed = r.work.Step(1)
	}
}

// name files a note and writes it as a name.
func (r *rewriter) name(n note) string { return "`" + r.add(n) + "`" }

// call files a note and writes it as a call.
func (r *rewriter) call(n note, args ...string) string {
	return "`" + r.add(n) + "`(" + strings.Join(args, ", ") + ")"
}

// parse runs the library over a rewritten statement and decodes what it gives.
func (r *rewriter) parse(text string) (*selectStmt, error) {
	if r.failed != nil {
		return nil, r.failed
	}
	tree, err := sqlparser.Parse(text)
	if err != nil {
		return nil, r.libraryError(text, err)
	}
	sel, ok := tree.(sqlparser.SelectStatement)
	if !ok {
		return nil, syntaxError(0, "syntax error")
	}
	return (&decoder{notes: r.notes, constants: r.constants}).selectStatement(sel)
}

// libraryError finds the place of the library's syntax error: the last number written before it.
func (r *rewriter) libraryError(text string, err error) error {
	pos := len(text)
	if _, after, ok := strings.Cut(err.Error(), "at position "); ok {
		if _, e := fmt.Sscanf(after, "%d", &pos); e != nil {
			pos = len(text)
		}
	}
	if strings.Contains(err.Error(), "nesting") {
		return sqlstate.New(sqlstate.StatementTooComplex, "statement is nested too deeply")
	}
	head := text[:min(max(pos, 0), len(text))]
	off := 0
	if end := strings.LastIndexAny(head, "0123456789"); end >= 0 {
		start := end
		for start > 0 && digit(head[start-1]) {
			start--
		}
		n, e := strconv.Atoi(head[start : end+1])
		switch {
		case e != nil:
		case start > 1 && head[start-2:start] == ":v" && n < len(r.constants):
			off = r.constants[n].off
		case n < len(r.notes):
			off = r.notes[n].off
		}
	}
	return syntaxError(off, "syntax error near this place").WithDetail("The statement's structure is not understood.")
}
