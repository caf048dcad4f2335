package parse_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divandb/divan/query/pgtest"
	"github.com/divandb/divan/query/sql/parse"
	"github.com/divandb/divan/query/sqlstate"
)

// corpus returns every statement in the test data of packages query and parse.
func corpus(t testing.TB) []string {
	var out []string
	lines := func(pattern string, statement func(line string) string) {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(string(text), "\n") {
				if s := statement(line); s != "" {
					out = append(out, s)
				}
			}
		}
	}
	lines("testdata/statements.sql", func(line string) string {
		if strings.HasPrefix(line, "--") {
			return ""
		}
		return line
	})
	lines("../../testdata/expressions.txt", func(line string) string {
		expr, _, ok := strings.Cut(line, " => ")
		if !ok || strings.HasPrefix(line, "#") {
			return ""
		}
		return "SELECT " + expr
	})
	return append(out, scripted(t)...)
}

// ofGrammar lists the beginnings of messages that PostgreSQL's scanner and grammar produce, rather than its analysis.
var ofGrammar = []string{
	"syntax error", "unterminated", "zero-length", "trailing junk", "invalid Unicode", "operator too long",
	"UESCAPE must", "improper qualified name", "improper use of", "multiple ORDER", "multiple LIMIT", "multiple OFFSET",
	"multiple WITH", "LIMIT #,#", "VALUES lists must", "subquery in FROM must", "VALUES in FROM must", "frame ",
	"positional argument", "argument name", "cannot use ", "wrong number of parameters on", "type modifiers",
	"precision for type float",
}

// different lists the statements on which Divan and PostgreSQL disagree, and why.
var different = map[string]string{
	"SELECT 1 IS":              "the word of an operator is no alias without AS",
	"SELECT 'a' LIKE":          "the word of an operator is no alias without AS",
	"SELECT 'a' COLLATE":       "the word of an operator is no alias without AS",
	"SELECT true AND":          "the word of an operator is no alias without AS",
	"EXPLAIN (WRONG) SELECT 1": "PostgreSQL complains when it is run",
}

// TestStatement_PostgreSQL checks that PostgreSQL 15 and the parser accept the same statements, and report the same
// message and position for the others. Statements that Divan refuses with 0A000 are skipped.
func TestStatement_PostgreSQL(t *testing.T) {
	conn, err := pgconn.Connect(t.Context(), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, s := range corpus(t) {
		if different[s] != "" {
			continue
		}
		_, theirs := conn.Prepare(t.Context(), "", s, nil)
		_, ours := parse.Statement(unbounded(), s)
		var want *pgconn.PgError
		if theirs != nil && !errors.As(theirs, &want) {
			t.Fatalf("%s\n%v", s, theirs)
		}
		var got *sqlstate.Error
		switch {
		case ours != nil && !errors.As(ours, &got):
			t.Errorf("%s\nerror without an SQLSTATE: %v", s, ours)
		case got != nil && got.Code == sqlstate.FeatureNotSupported:
		case got == nil && want != nil:
			for _, prefix := range ofGrammar {
				if strings.HasPrefix(want.Message, prefix) {
					t.Errorf("%s\nwant %s %s at %d\ngot none", s, want.Code, want.Message, want.Position)
				}
			}
		case got != nil && want == nil:
			t.Errorf("%s\nwant none\ngot %s %s at %d", s, got.Code, got.Message, got.Pos)
		case got != nil && (string(got.Code) != want.Code || got.Message != want.Message ||
			int32(characters(s, got.Pos)) != want.Position):
			t.Errorf("%s\nwant %s %s at %d\ngot  %s %s at %d", s, want.Code, want.Message, want.Position, got.Code,
				got.Message, got.Pos)
		}
	}
}

// characters converts a position in bytes to one in characters.
func characters(s string, pos int) int {
	if pos == 0 {
		return 0
	}
	return len([]rune(s[:min(pos-1, len(s))])) + 1
}

// TestStatement_Corpus checks that every statement is parsed or refused with an SQLSTATE, and that errors point inside
// the text.
func TestStatement_Corpus(t *testing.T) {
	for _, s := range corpus(t) {
		_, err := parse.Statement(unbounded(), s)
		var e *sqlstate.Error
		if err != nil && (!errors.As(err, &e) || e.Code == sqlstate.InternalError || e.Pos < 0 || e.Pos > len(s)+1) {
			t.Errorf("%s\n%v", s, err)
		}
	}
}

// scripted returns the statements of query's scripts.
func scripted(t testing.TB) []string {
	files, err := filepath.Glob("../../testdata/scripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var out []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range strings.Split(string(text), "\n\n") {
			if head, _, ok := strings.Cut(block, "\n----"); ok && strings.HasPrefix(head, "query") {
				_, s, _ := strings.Cut(head, "\n")
				out = append(out, s)
			}
		}
	}
	return out
}
