package funcs

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// The functions of regular expressions (PostgreSQL 15, section 9.7.3).

// lazy finds a quantifier that prefers little. Without one the longest match is the one, as POSIX says.
var lazy = regexp.MustCompile(`[*+?}]\?`)

// regexpFlags compiles a pattern with PostgreSQL's flags; global says whether g is among them.
func regexpFlags(st *exec.State, pattern, flags string) (p *pattern, global bool, err error) {
	fold, lines, dots, literalText, expanded := false, false, true, false, false
	for _, c := range flags {
		switch c {
		case 'g':
			global = true
		case 'i':
			fold = true
		case 'c':
			fold = false
		case 'm', 'n':
			lines, dots = true, false
		case 'p':
			lines, dots = false, false
		case 's':
			lines, dots = false, true
		case 'w':
			lines, dots = true, true
		case 'q':
			literalText = true
		case 'x':
			expanded = true
		case 't':
			expanded = false
		case 'e', 'b':
		default:
			return nil, false, sqlstate.New(
				sqlstate.InvalidParameterValue,
				"invalid regular expression option: \"%s\"",
				string(c),
			)
		}
	}
	if literalText {
		pattern = regexp.QuoteMeta(pattern)
	} else if expanded {
		pattern = withoutBlanks(pattern)
	}
	text := strings.TrimPrefix(posix(pattern, false), "(?s)")
	mode := ""
	for flag, on := range map[string]bool{"i": fold, "m": lines, "s": dots} {
		if on {
			mode += flag
		}
	}
	if mode != "" {
		text = "(?" + sorted(mode) + ")" + text
	}
	if p, err = compile(st, text, !lazy.MatchString(pattern)); err != nil {
		return nil, false, err
	}
	return p, global, nil
}

// sorted puts the letters of a short text in order, so that the cache finds it.
func sorted(s string) string {
	out := ""
	for _, c := range "ims" {
		if strings.ContainsRune(s, c) {
			out += string(c)
		}
	}
	return out
}

// withoutBlanks takes blanks and comments out of an expanded pattern.
func withoutBlanks(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			b.WriteString(s[i : i+2])
			i++
		case c == '#':
			for i < len(s) && s[i] != '\n' {
				i++
			}
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// search is a call of one of the functions.
type search struct {
	re     *pattern
	s      string
	base   int // where the search begins, in bytes
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
	if err := re.affordable(st, a[0].S); err != nil {
		return nil, err
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

// each calls f for the first matches; offsets are those in the whole text.
func (s *search) each(st *exec.State, times int, f func(m []int) error) error {
	if s.base > len(s.s) {
		return nil
	}
	return s.re.each(st, s.s[s.base:], times, func(m []int) error {
		for i := range m {
			if m[i] >= 0 {
				m[i] += s.base
			}
		}
		return f(m)
	})
}

// groups are the texts of the groups of a match, or of the whole where there are none.
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

// nth is the nth match, nil for none.
func (s *search) nth(st *exec.State, n int64) (found []int, err error) {
	left := n
	err = s.each(st, int(min(n, maxMatches+1)), func(m []int) error {
		if left--; left == 0 {
			found = append([]int{}, m...)
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

// regexpForms adds a function with from least to all of its arguments.
func regexpForms(name string, ret types.OID, least int, args []types.OID, f evalFunc) {
	for n := least; n <= len(args); n++ {
		textFamily.function(name, ret, f, args[:n:n]...)
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
			ok, err := s.re.match(env.State, s.s)
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
			end := intAt(a, 4, 0)
			if end != 0 && end != 1 {
				return types.Null, badArgument("endoption", end)
			}
			from, to, s, err := groupOf(
				env,
				"regexp_instr",
				a,
				intAt(a, 2, 1),
				intAt(a, 3, 1),
				intAt(a, 6, 0),
				textAt(a, 5),
			)
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
		textFamily.AddTable(&exec.TableFunc{Name: "regexp_matches", Args: args,
			Columns: func([]types.OID) []exec.Column {
				return []exec.Column{{Name: "regexp_matches", Type: types.TextArray, Mod: -1}}
			},
			Rows: func(env *exec.Env, _ []types.OID, a []types.Datum) (rows [][]types.Datum, err error) {
				s, err := newSearch(env.State, "regexp_matches", a, 1, textAt(a, 2))
				if err != nil {
					return nil, err
				}
				times := 1
				if s.global {
					times = -1
				}
				err = s.each(env.State, times, func(m []int) error {
					rows = append(rows, []types.Datum{s.groups(m)})
					return env.Fits(int64(len(rows)) * (exec.DatumSize*int64(1+len(m)/2) + 40))
				})
				return rows, err
			}})
		textFamily.AddTable(&exec.TableFunc{Name: "regexp_split_to_table", Args: args,
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
	return s.re.split(env, s.s)
}

// groupOf is where a group of the nth match is, negative for none.
func groupOf(
	env *exec.CallEnv,
	name string,
	a []types.Datum,
	start, n, sub int64,
	flags string,
) (from, to int, text string, err error) {
	s, err := newSearch(env.State, name, a, start, flags)
	switch {
	case err != nil:
		return -1, 0, "", err
	case n < 1:
		return -1, 0, "", badArgument("n", n)
	case sub < 0:
		return -1, 0, "", badArgument("subexpr", sub)
	}
	m, err := s.nth(env.State, n)
	if m == nil || err != nil || int64(len(m)) <= 2*sub {
		return -1, 0, "", err
	}
	return m[2*sub], m[2*sub+1], s.s, nil
}

// replaceNth replaces the nth match behind a place, or all of them for 0.
func replaceNth(env *exec.CallEnv, s string, at int, expr, with string, n int64, flags string) (types.Datum, error) {
	re, _, err := regexpFlags(env.State, expr, flags)
	if err == nil {
		err = re.affordable(env.State, s)
	}
	if err != nil {
		return types.Null, err
	}
	with = expansion(with)
	if n == 0 {
		d, err := re.replace(env, s[at:], with, -1)
		if err != nil || at == 0 {
			return d, err
		}
		if err := fitsText(env, len(d.S)+at); err != nil {
			return types.Null, err
		}
		return types.NewText(s[:at] + d.S), nil
	}
	r := &search{re: re, s: s, base: at}
	m, err := r.nth(env.State, n)
	if m == nil || err != nil {
		return types.NewText(s), err
	}
	if err := fitsText(env, len(s)+len(with)+strings.Count(with, "$")*(m[1]-m[0])); err != nil {
		return types.Null, err
	}
	out := re.re.ExpandString([]byte(s[:m[0]]), with, s, m)
	return types.NewText(string(out) + s[m[1]:]), nil
}

// expansion is a replacement in the syntax of Expand.
func expansion(with string) string {
	with = strings.ReplaceAll(with, "$", "$$")
	for _, d := range "0123456789" {
		with = strings.ReplaceAll(with, `\`+string(d), "${"+string(d)+"}")
	}
	return strings.ReplaceAll(with, `\&`, "${0}")
}
