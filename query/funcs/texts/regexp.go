package texts

import (
	"container/list"
	"sync"
	"unicode/utf8"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/regex"
	"github.com/divandb/divan/query/sqlstate"
)

// compiled caches recently used regular expressions, because a filter uses the same one for every row.
var compiled struct {
	sync.Mutex
	byKey map[patternKey]*list.Element // of *pattern
	order list.List                    // most recently used first
	held  int                          // instructions of all of them
}

type patternKey struct {
	text  string
	flags regex.Flags
}

// pattern is a compiled regular expression.
type pattern struct {
	key patternKey
	re  *regex.Regexp
}

// Limits of the cache: patterns, and their instructions.
const (
	maxCompiled     = 128
	maxInstructions = 1_000_000
)

// Limits of the length of a pattern and of the steps of a match.
const (
	maxPattern   = 64 << 10
	maxSteps     = 4_000_000_000
	stepsPerStep = 64  // steps of the machine that count as one step of the statement
	StepBytes    = 512 // bytes of text that count as one step
)

// Compile compiles a pattern, using the cache.
func Compile(st *exec.State, text string, flags regex.Flags) (*pattern, error) {
	key := patternKey{text, flags}
	compiled.Lock()
	if e := compiled.byKey[key]; e != nil {
		compiled.order.MoveToFront(e)
		p := e.Value.(*pattern)
		compiled.Unlock()
		return p, nil
	}
	compiled.Unlock()
	if len(text) > maxPattern {
		return nil, sqlstate.New(sqlstate.InvalidRegularExpression, "invalid regular expression: longer than %d bytes",
			maxPattern)
	}
	re, err := regex.Compile(text, flags)
	if err != nil {
		return nil, sqlstate.New(sqlstate.InvalidRegularExpression, "invalid regular expression: %s", err)
	}
	p := &pattern{key: key, re: re}
	if err := st.Step(re.Size()); err != nil {
		return nil, err
	}
	compiled.Lock()
	defer compiled.Unlock()
	if compiled.byKey == nil {
		compiled.byKey = map[patternKey]*list.Element{}
	}
	if compiled.byKey[key] == nil {
		compiled.byKey[key] = compiled.order.PushFront(p)
		compiled.held += re.Size()
		for compiled.order.Len() > maxCompiled || compiled.held > maxInstructions && compiled.order.Len() > 1 {
			last := compiled.order.Remove(compiled.order.Back()).(*pattern)
			delete(compiled.byKey, last.key)
			compiled.held -= last.re.Size()
		}
	}
	return p, nil
}

// steps reports the work of a match in s to the statement, so that it can be cancelled, and ends a match that takes too
// long.
func steps(st *exec.State, s string) func(n int) error {
	spent := 0
	return func(n int) error {
		if spent += n; spent > maxSteps {
			return tooComplex(s)
		}
		return st.Step(1 + n/stepsPerStep)
	}
}

func tooComplex(s string) error {
	return sqlstate.New(sqlstate.StatementTooComplex, "the regular expression is too complex for a text of %d bytes",
		len(s))
}

// matched converts the error of a match in s to an error of the statement.
func matched(err error, s string) error {
	if err == regex.ErrTooBig { //nolint:errorlint // it is never wrapped
		return tooComplex(s)
	}
	return err
}

// Match reports whether p matches anywhere in s.
func (p *pattern) Match(st *exec.State, s string) (bool, error) {
	if err := st.Step(1 + len(s)/StepBytes); err != nil {
		return false, err
	}
	found, err := p.re.Match(s, steps(st, s))
	return found, matched(err, s)
}

// first returns the first match in s, or nil.
func (p *pattern) first(st *exec.State, s string) (found []int, err error) {
	err = p.each(st, s, 0, 1, func(m []int) error {
		found = m
		return nil
	})
	return found, err
}

// each calls f for the matches in s from an offset on, for at most times matches if times is not negative.
func (p *pattern) each(st *exec.State, s string, from int, times int64, f func(match []int) error) error {
	step := steps(st, s)
	for ; times != 0 && from <= len(s); times-- {
		m, err := p.re.Find(s, from, step)
		if m == nil || err != nil {
			return matched(err, s)
		}
		if err := st.Step(1 + (m[1]-from)/StepBytes); err != nil {
			return err
		}
		if err := f(m); err != nil {
			return err
		}
		// The next match begins at the end of this one, or one character later if this one is empty.
		if from = m[1]; m[0] == m[1] {
			_, width := utf8.DecodeRuneInString(s[from:])
			from += max(width, 1)
		}
	}
	return nil
}
