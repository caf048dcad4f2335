package parse_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/divandb/divan/query/sql/parse"
	"github.com/divandb/divan/query/sqlstate"
)

// FuzzParse checks that no text makes the parser panic, and that every error has an SQLSTATE and a position inside the
// text.
func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("../../testdata/expressions.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		expr, _, _ := strings.Cut(line, " => ")
		f.Add("SELECT " + expr)
	}
	for _, s := range []string{
		`COPY (SELECT a FROM b) TO STDOUT WITH (FORMAT csv, HEADER, FORCE_QUOTE *)`,
		`DECLARE c NO SCROLL CURSOR WITH HOLD FOR SELECT 1`,
		`FETCH FORWARD 10 FROM c`, `SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY`,
		`PREPARE p (int, text[]) AS SELECT $1, $2`,
		`EXECUTE p(1, 'a')`, `EXPLAIN (ANALYZE, FORMAT JSON) SELECT 1`,
		`WITH RECURSIVE t(n) AS (VALUES (1) UNION SELECT n + 1 FROM t) TABLE t`,
		`SELECT DISTINCT ON (a, b) a.*, "B c".d[1:2] FROM x a NATURAL LEFT JOIN (SELECT 1) "B c" USING (z) WHERE EXISTS (SELECT) FOR UPDATE`,
		"SELECT 1 -- c\n/* a /* b */ */ + $tag$ x $tag$::text",
		`BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; COMMIT AND CHAIN`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		_, offsets, err := parse.Split(unbounded(), src)
		if err == nil {
			for _, o := range offsets {
				if o < 0 || o > len(src) {
					t.Fatalf("piece at %d of %d", o, len(src))
				}
			}
		}
		if _, err = parse.Statement(unbounded(), src); err == nil {
			return
		}
		var e *sqlstate.Error
		if !errors.As(err, &e) {
			t.Fatalf("error without an SQLSTATE: %v", err)
		}
		if e.Pos < 0 || e.Pos > len(src)+1 {
			t.Fatalf("position %d in a text of %d bytes: %v", e.Pos, len(src), err)
		}
		if e.Code == sqlstate.InternalError || strings.HasPrefix(e.Detail, "unexpected ") {
			t.Fatalf("internal error of the parser: %v (%s)", err, e.Detail)
		}
	})
}
