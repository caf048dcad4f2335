// Package regex implements PostgreSQL's regular expressions: Henry Spencer's advanced ones, and the extended and basic
// ones of POSIX (PostgreSQL 15, section 9.7.3). A match begins as early as possible, and the whole expression
// determines whether it is the longest or the shortest one. The parts are then matched from left to right. Matching
// does not backtrack over characters: it uses automata whose states are built on demand. Only back references try one
// division of the text after the other, which the caller can end.
package regex

import (
	"errors"
	"sync"
)

// Syntax is the syntax of a pattern.
type Syntax uint8

const (
	Advanced Syntax = iota
	Extended
	Basic
	Literal // no character is special
)

// Flags control how a pattern is read.
type Flags struct {
	Syntax   Syntax
	Fold     bool // match both cases of letters
	Expanded bool // ignore white space and comments in the pattern
	// NewlineStop means that . and [^...] do not match a newline, NewlineAnchors that ^ and $ match at one.
	NewlineStop, NewlineAnchors bool
}

// Errors of patterns, with PostgreSQL's messages.
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

// Regexp is a compiled pattern. It is safe for concurrent use.
type Regexp struct {
	groups     int
	tree       *node
	prog       *program
	alphabet   *alphabet
	looks      []*look
	references bool // a node refers to a group
	refers     map[place]*node
	fold       bool

	mu struct {
		sync.Mutex
		spare *machine // kept for its states; nil while it is in use
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
	c := &compiler{groups: p.bodies, refers: map[place]*node{}, left: maxInstructions}
	if re.prog, err = c.program(func() error { return c.node(re.tree) }, false); err != nil {
		return nil, err
	}
	for i := 0; i < len(c.looks); i++ { // compiling one may add further ones
		l := c.looks[i]
		body := l.expr.sub[0]
		if l.prog, err = c.program(func() error { return c.expr(body) }, l.behind); err != nil {
			return nil, err
		}
	}
	re.looks, re.refers = c.looks, c.refers
	return re, nil
}

// Groups returns the number of capturing groups.
func (re *Regexp) Groups() int { return re.groups }

// Size returns the number of instructions of the compiled pattern.
func (re *Regexp) Size() int {
	n := len(re.prog.inst)
	for _, l := range re.looks {
		n += len(l.prog.inst)
	}
	return n
}

// Match reports whether s has a match. It calls step from time to time with an amount of work, roughly a number of
// characters, and returns its error.
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

// Find finds the first match that begins at from or later. The text before from still counts as context. It returns the
// byte offsets where the match and each group begin and end, -1 for groups that do not take part, and nil if there is
// no match.
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
