package texts

import (
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/types"
)

// replacement is the text that regexp_replace puts in place of a match: literal texts and groups of the match.
type replacement []struct {
	text  string
	group int // negative for a literal text
}

// newReplacement parses \1 to \9, \& and \\. Any other backslash is literal.
func newReplacement(with string) replacement {
	var r replacement
	var text strings.Builder
	part := func(s string, group int) {
		if s != "" || group >= 0 {
			r = append(r, struct {
				text  string
				group int
			}{s, group})
		}
	}
	for i := 0; i < len(with); i++ {
		c := byte(0)
		if with[i] == '\\' && i+1 < len(with) {
			c = with[i+1]
		}
		switch {
		case c >= '1' && c <= '9', c == '&':
			part(text.String(), -1)
			text.Reset()
			group := 0
			if c != '&' {
				group = int(c - '0')
			}
			part("", group)
			i++
		case c == '\\':
			text.WriteByte('\\')
			i++
		default:
			text.WriteByte(with[i])
		}
	}
	part(text.String(), -1)
	return r
}

// each calls f with the parts of the replacement for a match of s.
func (r replacement) each(s string, m []int, f func(part string)) {
	for _, p := range r {
		switch g := 2 * p.group; {
		case p.group < 0:
			f(p.text)
		case g < len(m) && m[g] >= 0:
			f(s[m[g]:m[g+1]])
		}
	}
}

// size returns the length of the replacement.
func (r replacement) size(s string, m []int) (n int) {
	r.each(s, m, func(part string) { n += len(part) })
	return n
}

// replace replaces matches of s that begin at from or later: the nth one, or all if n is 0.
func (p *pattern) replace(env *exec.CallEnv, s string, from int, n int64, with string) (types.Datum, error) {
	out, r, done := &strings.Builder{}, newReplacement(with), 0
	// grow reserves n more bytes. While the text grows, the old and the longer copy exist together.
	grow := func(n int) error {
		if out.Cap()-out.Len() >= n {
			return nil
		}
		n += out.Len() / 2
		if err := funcs.FitsText(env, out.Cap()+out.Len()+n); err != nil {
			return err
		}
		longer := &strings.Builder{}
		longer.Grow(out.Len() + n)
		longer.WriteString(out.String())
		out = longer
		return nil
	}
	times, left := int64(-1), n
	if n > 0 {
		times = n
	}
	err := p.each(env.State, s, from, times, func(m []int) error {
		if left--; left > 0 {
			return nil
		}
		size := r.size(s, m)
		if err := grow(m[0] - done + size); err != nil {
			return err
		}
		out.WriteString(s[done:m[0]])
		r.each(s, m, func(part string) { out.WriteString(part) })
		done = m[1]
		return env.Step(1 + size/StepBytes)
	})
	switch {
	case err != nil:
		return types.Null, err
	case out.Len() == 0 && done == 0:
		return types.NewText(s), nil
	}
	if err := grow(len(s) - done); err != nil {
		return types.Null, err
	}
	out.WriteString(s[done:])
	return types.NewText(out.String()), nil
}
