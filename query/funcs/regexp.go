package funcs

import (
	"container/list"
	"io"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// compiled keeps the regular expressions used last: a filter asks for the same one at every row.
var compiled struct {
	sync.Mutex
	byText map[string]*list.Element // of *pattern
	order  list.List                // the one used last in front
	held   int                      // instructions of all of them
}

// pattern is a compiled regular expression.
type pattern struct {
	text string
	re   *regexp.Regexp
	size int // instructions of its program: a match takes up to so many steps for each character
	// context says that it looks at what stands before a match: ^ or a word's boundary.
	context bool
}

// How many patterns are kept, of how many instructions together, and how many matches a call may collect.
const (
	maxCompiled     = 256
	maxInstructions = 1_000_000
	maxMatches      = 200_000
)

// Longest patterns, and how many steps of the machine a match may take before it must be able to be cancelled, or at all.
const (
	maxPattern   = 64 << 10
	manySteps    = 20_000_000
	maxSteps     = 2_000_000_000
	stepsPerStep = 64  // of the machine in one of the statement's
	stepBytes    = 512 // of a text in one
)

// compile compiles a pattern in Go's syntax, by way of the cache. leftmostLongest is POSIX' rule of matching.
func compile(st *exec.State, text string, longest bool) (*pattern, error) {
	key := text
	if longest {
		key = "L" + text
	}
	compiled.Lock()
	if e := compiled.byText[key]; e != nil {
		compiled.order.MoveToFront(e)
		p := e.Value.(*pattern)
		compiled.Unlock()
		return p, nil
	}
	compiled.Unlock()
	if len(text) > maxPattern {
		return nil, sqlstate.New(sqlstate.InvalidRegularExpression, "invalid regular expression: longer than %d bytes", maxPattern)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, &sqlstate.Error{Code: sqlstate.InvalidRegularExpression, Message: "invalid regular expression: " + types.Truncate(err.Error(), 200),
			Hint: "Back references and lookaround are not supported.", Err: err}
	}
	if longest {
		re.Longest()
	}
	p := &pattern{text: key, re: re}
	p.size, p.context = measure(text)
	if err := st.Step(p.size); err != nil {
		return nil, err
	}
	compiled.Lock()
	defer compiled.Unlock()
	if compiled.byText == nil {
		compiled.byText = map[string]*list.Element{}
	}
	if compiled.byText[key] == nil {
		compiled.byText[key] = compiled.order.PushFront(p)
		compiled.held += p.size
		for compiled.order.Len() > maxCompiled || compiled.held > maxInstructions && compiled.order.Len() > 1 {
			last := compiled.order.Remove(compiled.order.Back()).(*pattern)
			delete(compiled.byText, last.text)
			compiled.held -= last.size
		}
	}
	return p, nil
}

// measure counts the instructions of a pattern that compiles.
func measure(text string) (size int, context bool) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 1, true
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return 1, true
	}
	for i := range prog.Inst {
		if prog.Inst[i].Op == syntax.InstEmptyWidth {
			context = true
		}
	}
	return len(prog.Inst), context
}

// match says whether p matches somewhere in s. Matches that may take long can be cancelled.
func (p *pattern) match(st *exec.State, s string) (bool, error) {
	if err := st.Step(1 + len(s)/stepsPerStep); err != nil {
		return false, err
	}
	if len(s)*p.size < manySteps {
		return p.re.MatchString(s), nil
	}
	r := &stepReader{st: st, text: strings.NewReader(s), size: p.size}
	found := p.re.MatchReader(r)
	return found && r.err == nil, r.err
}

// stepReader gives a text to the machine, and ends it early when the statement has ended.
type stepReader struct {
	st   *exec.State
	text *strings.Reader
	size int
	err  error
}

// ReadRune implements io.RuneReader.
func (r *stepReader) ReadRune() (rune, int, error) {
	if r.err = r.st.Step(1 + r.size/stepsPerStep); r.err != nil {
		return 0, 0, io.EOF
	}
	return r.text.ReadRune()
}

// affordable refuses what could take minutes and cannot be cancelled.
func (p *pattern) affordable(st *exec.State, s string) error {
	if len(s)*p.size > maxSteps {
		return sqlstate.New(sqlstate.StatementTooComplex, "the regular expression is too complex for a text of %d bytes", len(s))
	}
	return st.Step(1 + len(s)*p.size/stepsPerStep/256)
}

// each calls f for the first matches in s, at most times of them when that is not negative, in turn. Where the pattern
// does not look back they are found one by one, so that their number needs no memory.
func (p *pattern) each(st *exec.State, s string, times int, f func(match []int) error) error {
	if p.context {
		all, size, err := p.all(st, s, times)
		if err != nil {
			return err
		}
		defer st.Release(size)
		for _, m := range all {
			if err := f(m); err != nil {
				return err
			}
		}
		return nil
	}
	// As FindAll: an empty match right behind another match is none.
	for at, end := 0, -1; times != 0 && at <= len(s); {
		m := p.re.FindStringSubmatchIndex(s[at:])
		if m == nil {
			return nil
		}
		for i := range m {
			if m[i] >= 0 {
				m[i] += at
			}
		}
		if err := st.Step(1 + (m[1]-at)/stepsPerStep); err != nil {
			return err
		}
		if m[1] > m[0] || m[0] != end {
			if err := f(m); err != nil {
				return err
			}
			times--
		}
		if end = m[1]; m[1] > m[0] {
			at = m[1]
			continue
		}
		_, width := utf8.DecodeRuneInString(s[m[1]:])
		at = m[1] + max(width, 1)
	}
	return nil
}

// all finds the first matches in s together, at most times of them when that is not negative, and the memory that the
// statement holds for them. They are counted before their groups are asked for, of which a pattern may have thousands.
func (p *pattern) all(st *exec.State, s string, times int) (all [][]int, size int64, err error) {
	const sliceSize, intSize = 24, 8
	if times < 0 || times > maxMatches {
		times = maxMatches + 1
	}
	all = p.re.FindAllStringIndex(s, times)
	switch {
	case len(all) > maxMatches:
		return nil, 0, sqlstate.New(sqlstate.ProgramLimitExceeded,
			"the regular expression has more than %d matches", maxMatches)
	case len(all) == 0:
		return nil, 0, nil
	}
	times, size = len(all), int64(len(all))*(sliceSize+2*intSize*int64(p.re.NumSubexp()+1))
	if err := st.Hold(size); err != nil {
		return nil, 0, err
	}
	if p.re.NumSubexp() > 0 {
		all = p.re.FindAllStringSubmatchIndex(s, times)
	}
	return all, size, nil
}

// replace puts with, in the syntax of Expand, in the place of matches.
func (p *pattern) replace(env *exec.CallEnv, s, with string, times int) (types.Datum, error) {
	out := &strings.Builder{}
	var part []byte // what replaces the present match
	done := 0
	var used [10]int // how often the replacement names each group
	for g := range used {
		used[g] = strings.Count(with, "${"+strconv.Itoa(g)+"}")
	}
	// grow makes room for n bytes more. For a moment there are the text so far and a longer copy.
	grow := func(n int) error {
		if out.Cap()-out.Len() >= n {
			return nil
		}
		n += out.Len() / 2
		if err := fitsText(env, out.Cap()+out.Len()+n); err != nil {
			return err
		}
		longer := &strings.Builder{}
		longer.Grow(out.Len() + n)
		longer.WriteString(out.String())
		out = longer
		return nil
	}
	err := p.each(env.State, s, times, func(m []int) error {
		n := len(with)
		for g, times := range used {
			if 2*g+1 < len(m) && m[2*g] >= 0 {
				n += times * (m[2*g+1] - m[2*g])
			}
		}
		if err := fitsText(env, n); err != nil {
			return err
		}
		part = p.re.ExpandString(part[:0], with, s, m)
		if err := grow(m[0] - done + len(part)); err != nil {
			return err
		}
		out.WriteString(s[done:m[0]])
		out.Write(part)
		done = m[1]
		return env.Step(1 + len(part)/stepBytes)
	})
	if err != nil {
		return types.Null, err
	}
	if out.Len() == 0 && done == 0 {
		return types.NewText(s), nil
	}
	if err := grow(len(s) - done); err != nil {
		return types.Null, err
	}
	out.WriteString(s[done:])
	return types.NewText(out.String()), nil
}

// split cuts s at the matches, as regexp.Split does.
func (p *pattern) split(env *exec.Env, s string) ([][]types.Datum, error) {
	var rows [][]types.Datum
	done := 0
	add := func(part string) { rows = append(rows, []types.Datum{types.NewText(part)}) }
	err := p.each(env.State, s, -1, func(m []int) error {
		if m[1] == 0 {
			return nil // an empty match in front
		}
		if m[0] == len(s) && m[0] == m[1] {
			return nil // or at the end
		}
		add(s[done:m[0]])
		done = m[1]
		return env.Fits(int64(len(rows)) * (exec.DatumSize + 40))
	})
	if err != nil {
		return nil, err
	}
	add(s[done:])
	return rows, nil
}
