package texts

import (
	"unicode/utf8"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/regex"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// The functions of regular expressions (PostgreSQL 15, section 9.7.3).

// regexpFlags compiles a pattern with PostgreSQL's flags. global reports whether g is among them.
func regexpFlags(st *exec.State, pattern, flags string) (p *pattern, global bool, err error) {
	var f regex.Flags
	for i, c := range flags {
		switch {
		case c == 'g':
			global = true
		case c == 'e':
			f.Syntax = regex.Basic // as in PostgreSQL, not Extended
		case c > 127 || f.Option(flags[i]) != nil:
			return nil, false, sqlstate.New(sqlstate.InvalidParameterValue,
				"invalid regular expression option: \"%s\"", string(c))
		}
	}
	p, err = Compile(st, pattern, f)
	return p, global, err
}

// search is a call of one of the functions.
type search struct {
	re     *pattern
	s      string
	base   int // start of the search in bytes
	global bool
}

func newSearch(st *exec.State, name string, a []types.Datum, start int64, flags string) (*search, error) {
	if start < 1 {
		return nil, badArgument("start", start)
	}
	re, global, err := regexpFlags(st, a[1].S, flags)
	if err != nil {
		return nil, err
	}
	if global && name != "regexp_matches" && name != "regexp_replace" {
		e := sqlstate.New(sqlstate.InvalidParameterValue, "%s() does not support the \"global\" option", name)
		if name == "regexp_match" {
			e = e.WithHint("Use the regexp_matches function instead.")
		}
		return nil, e
	}
	s := &search{re: re, s: a[0].S, global: global}
	for ; start > 1 && s.base < len(s.s); start-- {
		_, n := utf8.DecodeRuneInString(s.s[s.base:])
		s.base += n
	}
	if start > 1 {
		s.base = len(s.s) + 1
	}
	return s, nil
}

func badArgument(name string, value int64) error {
	return sqlstate.New(sqlstate.InvalidParameterValue, "invalid value for parameter \"%s\": %d", name, value)
}

// each calls f for at most times matches.
func (s *search) each(st *exec.State, times int64, f func(m []int) error) error {
	return s.re.each(st, s.s, s.base, times, f)
}

// groups returns the texts of the groups of a match, or the whole match if there are no groups.
func (s *search) groups(m []int) types.Datum {
	if len(m) == 2 {
		return types.NewArray(types.Text, []types.Datum{types.NewText(s.s[m[0]:m[1]])})
	}
	var items []types.Datum
	for i := 2; i < len(m); i += 2 {
		if m[i] < 0 {
			items = append(items, types.Null)
			continue
		}
		items = append(items, types.NewText(s.s[m[i]:m[i+1]]))
	}
	return types.NewArray(types.Text, items)
}

// nth returns the nth match, or nil.
func (s *search) nth(st *exec.State, n int64) (found []int, err error) {
	left := n
	err = s.each(st, n, func(m []int) error {
		if left--; left == 0 {
			found = m
		}
		return nil
	})
	return found, err
}

func textAt(a []types.Datum, i int) string {
	if i < len(a) {
		return a[i].S
	}
	return ""
}

func intAt(a []types.Datum, i int, byDefault int64) int64 {
	if i < len(a) {
		return a[i].I
	}
	return byDefault
}

// regexpForms adds a function that takes at least least of its arguments.
func regexpForms(name string, ret types.OID, least int, args []types.OID, f funcs.EvalFunc) {
	for n := least; n <= len(args); n++ {
		funcs.TextFamily.Function(name, ret, f, args[:n:n]...)
	}
}

func init() {
	t, i := types.Text, types.Int4
	regexpForms("regexp_match", types.TextArray, 2, []types.OID{t, t, t},
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			s, err := newSearch(env.State, "regexp_match", a, 1, textAt(a, 2))
			if err != nil {
				return types.Null, err
			}
			m, err := s.nth(env.State, 1)
			if m == nil || err != nil {
				return types.Null, err
			}
			return s.groups(m), nil
		})
	regexpForms("regexp_like", types.Bool, 2, []types.OID{t, t, t},
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			s, err := newSearch(env.State, "regexp_like", a, 1, textAt(a, 2))
			if err != nil {
				return types.Null, err
			}
			ok, err := s.re.Match(env.State, s.s)
			return types.NewBool(ok), err
		})
	regexpForms("regexp_count", types.Int4, 2, []types.OID{t, t, i, t},
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			s, err := newSearch(env.State, "regexp_count", a, intAt(a, 2, 1), textAt(a, 3))
			if err != nil {
				return types.Null, err
			}
			n := int64(0)
			err = s.each(env.State, -1, func([]int) error { n++; return nil })
			return types.NewInt(n), err
		})
	regexpForms("regexp_substr", types.Text, 2, []types.OID{t, t, i, i, t, i},
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			n, sub := intAt(a, 3, 1), intAt(a, 5, 0)
			from, to, s, err := groupOf(env, "regexp_substr", a, intAt(a, 2, 1), n, sub, textAt(a, 4))
			if err != nil || from < 0 {
				return types.Null, err
			}
			return types.NewText(s[from:to]), nil
		})
	regexpForms("regexp_instr", types.Int4, 2, []types.OID{t, t, i, i, i, t, i},
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			start, n, end := intAt(a, 2, 1), intAt(a, 3, 1), intAt(a, 4, 0)
			if start > 0 && n > 0 && end != 0 && end != 1 {
				return types.Null, badArgument("endoption", end)
			}
			from, to, s, err := groupOf(env, "regexp_instr", a, start, n, intAt(a, 6, 0), textAt(a, 5))
			if err != nil || from < 0 {
				return types.NewInt(0), err
			}
			if end == 1 {
				from = to
			}
			return types.NewInt(int64(utf8.RuneCountInString(s[:from])) + 1), nil
		})
	regexpForms("regexp_split_to_array", types.TextArray, 2, []types.OID{t, t, t},
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			rows, err := splitText(env.Env, "regexp_split_to_array", a)
			items := make([]types.Datum, len(rows))
			for i, r := range rows {
				items[i] = r[0]
			}
			return types.NewArray(types.Text, items), err
		})
	for n := 2; n <= 3; n++ {
		args := []types.OID{t, t, t}[:n:n]
		funcs.TextFamily.AddTable(&exec.TableFunc{Name: "regexp_matches", Args: args,
			Columns: func([]types.OID) []exec.Column {
				return []exec.Column{{Name: "regexp_matches", Type: types.TextArray, Mod: -1}}
			},
			Rows: func(env *exec.Env, _ []types.OID, a []types.Datum) (rows [][]types.Datum, err error) {
				s, err := newSearch(env.State, "regexp_matches", a, 1, textAt(a, 2))
				if err != nil {
					return nil, err
				}
				times := int64(1)
				if s.global {
					times = -1
				}
				err = s.each(env.State, times, func(m []int) error {
					rows = append(rows, []types.Datum{s.groups(m)})
					return env.Fits(int64(len(rows)) * (exec.DatumSize*int64(1+len(m)/2) + 40))
				})
				return rows, err
			}})
		funcs.TextFamily.AddTable(&exec.TableFunc{Name: "regexp_split_to_table", Args: args,
			Columns: func([]types.OID) []exec.Column {
				return []exec.Column{{Name: "regexp_split_to_table", Type: types.Text, Mod: -1}}
			},
			Rows: func(env *exec.Env, _ []types.OID, a []types.Datum) ([][]types.Datum, error) {
				return splitText(env, "regexp_split_to_table", a)
			}})
	}
}

func splitText(env *exec.Env, name string, a []types.Datum) ([][]types.Datum, error) {
	s, err := newSearch(env.State, name, a, 1, textAt(a, 2))
	if err != nil {
		return nil, err
	}
	return s.split(env)
}

// split splits the text at the matches. It ignores empty matches at its ends or right after another match.
func (s *search) split(env *exec.Env) ([][]types.Datum, error) {
	var rows [][]types.Datum
	done, last := 0, 0 // where the part begins, and where the last match ended
	add := func(part string) error {
		rows = append(rows, []types.Datum{types.NewText(part)})
		return env.Fits(int64(len(rows)) * (exec.DatumSize + 40))
	}
	err := s.each(env.State, -1, func(m []int) error {
		previous := last
		if last = m[1]; m[0] == len(s.s) || m[1] <= previous {
			return nil
		}
		part := s.s[done:m[0]]
		done = m[1]
		return add(part)
	})
	if err != nil {
		return nil, err
	}
	return rows, add(s.s[done:])
}

// groupOf returns the position of a group in the nth match, negative if there is none.
func groupOf(
	env *exec.CallEnv,
	name string,
	a []types.Datum,
	start, n, sub int64,
	flags string,
) (from, to int, text string, err error) {
	switch {
	case start < 1:
		return -1, 0, "", badArgument("start", start)
	case n < 1:
		return -1, 0, "", badArgument("n", n)
	case sub < 0:
		return -1, 0, "", badArgument("subexpr", sub)
	}
	s, err := newSearch(env.State, name, a, start, flags)
	if err != nil {
		return -1, 0, "", err
	}
	m, err := s.nth(env.State, n)
	if m == nil || err != nil || int64(len(m)) <= 2*sub {
		return -1, 0, "", err
	}
	return m[2*sub], m[2*sub+1], s.s, nil
}
