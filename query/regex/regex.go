// Package regex has PostgreSQL's regular expressions: Henry Spencer's advanced ones, and the extended and basic ones of
// POSIX (PostgreSQL 15, section 9.7.3). A match begins as early as it can, and the whole expression says whether the
// longest or the shortest one is taken; what the parts match follows from that, from the left to the right. No
// expression backtracks over characters: parts are found by automata whose states are made as they are met. Only back
// references try one division of the text after the other, which the caller can end.
package regex

import (
	"errors"
	"sync"
)

// Syntax is how a pattern is written.
type Syntax uint8

const (
	Advanced Syntax = iota
	Extended
	Basic
	Literal // no character is special
)

// Flags say how a pattern is read.
type Flags struct {
	Syntax   Syntax
	Fold     bool // letters match both cases
	Expanded bool // blanks and comments in the pattern are nothing
	// NewlineStop says that . and [^...] do not match a newline, NewlineAnchors that ^ and $ match at one.
	NewlineStop, NewlineAnchors bool
}

// What is wrong with a pattern, in PostgreSQL's words.
var (
	ErrCollate     = errors.New("invalid collating element")
	ErrClass       = errors.New("invalid character class")
	ErrEscape      = errors.New(`invalid escape \ sequence`)
	ErrReference   = errors.New("invalid backreference number")
	ErrBracket     = errors.New("brackets [] not balanced")
	ErrParenthesis = errors.New("parentheses () not balanced")
	ErrBrace       = errors.New("braces {} not balanced")
	ErrBounds      = errors.New("invalid repetition count(s)")
	ErrRange       = errors.New("invalid character range")
	ErrOperand     = errors.New("quantifier operand invalid")
	ErrPattern     = errors.New("invalid regexp (reg version 0.8)")
	ErrOption      = errors.New("invalid embedded option")
	ErrTooBig      = errors.New("regular expression is too complex")
)

// Regexp is a compiled pattern. It may be used by several goroutines.
type Regexp struct {
	groups     int
	tree       *node
	prog       *program
	alphabet   *alphabet
	looks      []*look
	references bool // some node refers to a group
	fold       bool

	mu struct {
		sync.Mutex
		spare *machine // kept for its states; nil while somebody has it
	}
}

// Compile compiles a pattern.
func Compile(pattern string, flags Flags) (*Regexp, error) {
	p, e, err := parse(pattern, flags)
	if err != nil {
		return nil, err
	}
	re := &Regexp{groups: p.groups, references: p.references, fold: p.flags.Fold}
	re.alphabet = newAlphabet(p.sets)
	b := &builder{groups: p.bodies}
	re.tree = b.tree(e)
	c := &compiler{groups: p.bodies, left: maxInstructions}
	if re.prog, err = c.program(func() error { return c.node(re.tree) }, false); err != nil {
		return nil, err
	}
	for i := 0; i < len(c.looks); i++ { // which may find further ones
		l := c.looks[i]
		body := l.expr.sub[0]
		if l.prog, err = c.program(func() error { return c.expr(body) }, l.behind); err != nil {
			return nil, err
		}
	}
	re.looks = c.looks
	return re, nil
}

// Groups is the number of groups that capture.
func (re *Regexp) Groups() int { return re.groups }

// Size is the number of instructions that it has been compiled to.
func (re *Regexp) Size() int {
	n := len(re.prog.inst)
	for _, l := range re.looks {
		n += len(l.prog.inst)
	}
	return n
}

// Match says whether s has a match. step is called now and then with an amount of work, about as many characters, and
// ends the search with the error that it returns.
func (re *Regexp) Match(s string, step func(n int) error) (bool, error) {
	m := re.machine(s, step)
	defer re.release(m)
	if re.references {
		found, err := m.find(0)
		return found != nil, err
	}
	_, end, err := m.search(0)
	return end >= 0, err
}

// Find finds the first match that begins at from or behind it, but not in front of what of s lies before from. It
// answers the places in bytes where the match and each group begin and end, -1 for groups that have no part in it, and
// nil where there is no match.
func (re *Regexp) Find(s string, from int, step func(n int) error) ([]int, error) {
	m := re.machine(s, step)
	defer re.release(m)
	return m.find(from)
}

func (re *Regexp) machine(s string, step func(n int) error) *machine {
	re.mu.Lock()
	m := re.mu.spare
	re.mu.spare = nil
	re.mu.Unlock()
	if m == nil {
		m = &machine{re: re, automata: map[place]*automaton{}}
	}
	m.s, m.step = s, step
	return m
}

func (re *Regexp) release(m *machine) {
	m.s, m.step, m.pending, m.err = "", nil, 0, nil
	clear(m.seen)
	re.mu.Lock()
	re.mu.spare = m
	re.mu.Unlock()
}
