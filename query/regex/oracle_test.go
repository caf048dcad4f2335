package regex_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divandb/divan/query/pgtest"
	"github.com/divandb/divan/query/regex"
)

// TestRegexp_PostgreSQL compares random patterns with a live PostgreSQL: the position of the first match and of its
// groups, or the error.
func TestRegexp_PostgreSQL(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), pgtest.URL(t)+" default_query_exec_mode=simple_protocol")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	m := maker{rand.New(rand.NewPCG(15, 973))}
	bad := 0
	for i := 0; i < 1000 && bad < 10; i++ {
		pattern, text := m.alternation(i%3+1), m.text()
		flags := []string{"", "", "", "i", "n", "w", "p", "x", "b", "q"}[m.IntN(10)]
		want := theirs(t, conn, pattern, text, flags)
		if got := ours(t, pattern, text, flags); got != want {
			t.Errorf("%q in %q with %q\ngot  %s\nwant %s", pattern, text, flags, got, want)
			bad++
		}
	}
}

// theirs returns PostgreSQL's regexp_match and the position, or its error.
func theirs(t *testing.T, conn *pgx.Conn, pattern, text, flags string) string {
	t.Helper()
	var groups []*string
	var at, end, n int
	err := conn.QueryRow(t.Context(), `SELECT regexp_match($1, $2, $3), regexp_instr($1, $2, 1, 1, 0, $3),
		regexp_instr($1, $2, 1, 1, 1, $3), regexp_count($1, $2, 1,
			$3)`, text, pattern, flags).Scan(&groups, &at, &end, &n)
	if err != nil {
		_, message, _ := strings.Cut(err.Error(), "invalid regular expression: ")
		message, _, _ = strings.Cut(message, " (SQLSTATE")
		return message
	}
	if at == 0 {
		return "none"
	}
	out := fmt.Sprintf("%d-%d", at-1, end-1)
	for _, g := range groups {
		if g == nil {
			out += " -"
		} else {
			out += fmt.Sprintf(" %q", *g)
		}
	}
	return out
}

func ours(t *testing.T, pattern, text, flags string) string {
	t.Helper()
	var f regex.Flags
	for i := range flags {
		if err := f.Option(flags[i]); err != nil {
			t.Fatal(err)
		}
	}
	re, err := regex.Compile(pattern, f)
	if err != nil {
		return err.Error()
	}
	m, err := re.Find(text, 0, never)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := re.Match(text, never); err != nil || found != (m != nil) {
		return fmt.Sprintf("Match says %v, %v", found, err)
	}
	if m == nil {
		return "none"
	}
	chars := func(end int) int { return len([]rune(text[:end])) }
	out := fmt.Sprintf("%d-%d", chars(m[0]), chars(m[1]))
	if re.Groups() > 0 {
		m = m[2:]
	}
	for ; len(m) > 0; m = m[2:] {
		if m[0] < 0 {
			out += " -"
		} else {
			out += fmt.Sprintf(" %q", text[m[0]:m[1]])
		}
	}
	return out
}

// maker generates patterns and texts.
type maker struct{ *rand.Rand }

func (m maker) of(list ...string) string { return list[m.IntN(len(list))] }

func (m maker) text() string {
	out := ""
	for range m.IntN(10) {
		out += m.of("a", "a", "b", "b", "c", "1", " ", "é", "A", "B", "\n", "-")
	}
	return out
}

func (m maker) alternation(depth int) string {
	out := m.branch(depth)
	for m.IntN(5) > 2 {
		out += "|" + m.branch(depth)
	}
	return out
}

func (m maker) branch(depth int) string {
	out := ""
	for range m.IntN(4) + 1 {
		out += m.atom(depth) + m.of("", "", "", "", "", "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}",
			"{1,2}?",
			"{0,1}", "{2}?", "{1,1}", "{1,1}?", "{0}", "{,2}", "{1,}", "{2,}?")
	}
	return out
}

func (m maker) atom(depth int) string {
	switch n := m.IntN(100); {
	case n < 50 || depth == 0:
		return m.of("a", "b", "c", ".", "[ab]", "[^a]", `\w`, `\d`, "1", " ", "é", "[[:alpha:]]", `\s`, "[a-c1]", "A")
	case n < 75:
		return "(" + m.alternation(depth-1) + ")"
	case n < 85:
		return "(?:" + m.alternation(depth-1) + ")"
	case n < 88:
		return m.of("(?=", "(?!", "(?<=", "(?<!") + m.alternation(depth-1) + ")"
	case n < 91:
		return m.of(`\m`, `\M`, `\y`, `\Y`, "^", "$", `\A`, `\Z`)
	case n < 97:
		return m.of(`\1`, `\2`, `(a)\1`, `(b|a)\1`)
	}
	return m.of("[[:<:]]", `\x61`, `\u0062`, "(?#x)", `\n`, `\`, "[", "(", "{", "}", "]", ")", "*", "[b-a]", "[[.a.]]",
		"[[=b=]]",
		`\D`, `[\W]`, "[a-]", "[]a]", "[^]a]", "a{2,1}", "a{300}", `\8`, `\07`, `\q`)
}
