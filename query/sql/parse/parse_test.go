package parse_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/parse"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/work"
)

// TestParse_Long checks that statements of 128 KB, one for each construct that can repeat, are parsed or refused
// quickly: nothing is quadratic, and recursion is limited.
func TestParse_Long(t *testing.T) {
	const size = 128 << 10
	fill := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
	for name, src := range map[string]string{
		"brackets":       "SELECT " + fill("("),
		"closed":         "SELECT " + strings.Repeat("(", size/2) + "1" + strings.Repeat(")", size/2),
		"sum":            "SELECT 1" + fill(" + 1"),
		"powers":         "SELECT 1" + fill(" ^ 1 * 2"),
		"minus":          "SELECT " + fill("- ") + "1",
		"pluses":         "SELECT a" + fill("+"),
		"not":            "SELECT " + fill("NOT ") + "true",
		"and":            "SELECT true" + fill(" AND a = 1"),
		"or and":         "SELECT true" + fill(" AND a = 1 OR b"),
		"is null":        "SELECT a" + fill(" IS NULL"),
		"subscripts":     "SELECT a" + fill("[1]"),
		"casts":          "SELECT a" + fill("::int"),
		"fields":         "SELECT (a)" + fill(".b"),
		"names":          "SELECT a" + fill(".b"),
		"concat":         "SELECT a" + fill(" || 'b'"),
		"case":           "SELECT " + fill("CASE WHEN a THEN "),
		"in":             "SELECT a IN (1" + fill(", 1") + ")",
		"calls":          "SELECT " + fill("f("),
		"arrays":         "SELECT " + fill("ARRAY["),
		"targets":        "SELECT 1" + fill(", 1"),
		"values":         "VALUES (1)" + fill(", (1)"),
		"unions":         "SELECT 1" + fill(" UNION SELECT 1"),
		"tables":         "SELECT 1 FROM a" + fill(", a"),
		"joins":          "SELECT 1 FROM a" + fill(" JOIN b ON true"),
		"sub-queries":    "SELECT " + fill("(SELECT "),
		"sub-selects":    "SELECT 1 FROM " + fill("(SELECT 1 FROM "),
		"function calls": "SELECT 1 FROM " + fill("f((SELECT 1 FROM "),
		"withs":          fill("WITH a AS ("),
		"with list":      "WITH a AS (SELECT 1)" + fill(", a AS (SELECT 1)") + " SELECT 1",
		"strings":        "SELECT " + fill("'a' "),
		"comments":       fill("/*"),
		"semicolons":     fill(";"),
		"collate":        `SELECT a` + fill(` COLLATE "C"`),
		"at time zone":   "SELECT a" + fill(" AT TIME ZONE 'UTC'"),
		"any":            "SELECT a" + fill(" = ANY (b)"),
		"order":          "SELECT 1 ORDER BY 1" + fill(", 1"),
		"explain":        fill("EXPLAIN "),
		"prepare":        fill("PREPARE a AS "),
		"dollars":        "SELECT " + fill("$a$"),
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := parse.Statement(unbounded(), src)
			// milliseconds on an idle machine; anything cubic takes hours
			if d := time.Since(began); d > time.Minute {
				t.Errorf("took %v", d)
			}
			var e *sqlstate.Error
			if err != nil && !errors.As(err, &e) {
				t.Errorf("error without an SQLSTATE: %v", err)
			}
		})
	}
}

// TestParse_Errors checks messages and positions against PostgreSQL's.
func TestParse_Errors(t *testing.T) {
	for _, c := range []struct {
		src  string
		code sqlstate.Code
		pos  int // byte offset, from 1
		msg  string
	}{
		{"SELEC 1", "42601", 1, `syntax error at or near "SELEC"`},
		{"SELECT 1 FROM", "42601", 14, "syntax error at end of input"},
		{"SELECT (1", "42601", 10, "syntax error at end of input"},
		{"SELECT 1 +", "42601", 11, "syntax error at end of input"},
		{"SELECT a b c", "42601", 12, `syntax error at or near "c"`},
		{"SELECT * FROM a WHERE", "42601", 22, "syntax error at end of input"},
		{"SELECT 'abc", "42601", 8, `unterminated quoted string at or near "'abc"`},
		{`SELECT "abc`, "42601", 8, `unterminated quoted identifier at or near ""abc"`},
		{"SELECT /* 1", "42601", 8, `unterminated /* comment at or near "/* 1"`},
		{`SELECT ""`, "42601", 8, `zero-length delimited identifier at or near """"`},
		{"SELECT 12ab", "42601", 8, `trailing junk after numeric literal at or near "12ab"`},
		{"SELECT a < b < c", "42601", 14, `syntax error at or near "<"`},
		{"SELECT * FROM (SELECT 1)", "42601", 15, "subquery in FROM must have an alias"},
		{"SELECT 1 LIMIT 1 LIMIT 2", "42601", 18, `syntax error at or near "LIMIT"`},
		{"SELECT 1; SELECT 2", "42601", 0, "cannot insert multiple commands into a prepared statement"},
		{"SELECT \x00", "22021", 0, `invalid byte sequence for encoding "UTF8": 0x00`},
		{"SELECT '\xff'", "22021", 0, `invalid byte sequence for encoding "UTF8": 0xff`},
		{"SELECT 1::", "42601", 11, "syntax error at end of input"},
		{"SET x", "42601", 6, "syntax error at end of input"},
		{"FETCH 1 FROM", "42601", 13, "syntax error at end of input"},
	} {
		_, err := parse.Statement(unbounded(), c.src)
		var e *sqlstate.Error
		if !errors.As(err, &e) {
			t.Errorf("%q: %v", c.src, err)
			continue
		}
		if e.Code != c.code || e.Pos != c.pos || e.Message != c.msg {
			t.Errorf("%q: %s at %d: %s", c.src, e.Code, e.Pos, e.Message)
		}
	}
}

func TestSplit(t *testing.T) {
	src := "SELECT ';' ; ; SELECT 2 -- ;\n; /* ; */ SELECT $a$;$a$"
	texts, offsets, err := parse.Split(unbounded(), src)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"SELECT ';' ;", "SELECT 2 -- ;\n;", "SELECT $a$;$a$"}
	if fmt.Sprint(texts) != fmt.Sprint(want) {
		t.Errorf("pieces %q", texts)
	}
	for i, o := range offsets {
		if !strings.HasPrefix(src[o:], texts[i]) {
			t.Errorf("piece %d is not at %d", i, o)
		}
	}
}

// TestStatement_Semicolons checks that semicolons around a statement are ignored.
func TestStatement_Semicolons(t *testing.T) {
	for _, src := range []string{"SELECT 1", "SELECT 1;", "; ;SELECT 1", ";SELECT 1;; ;"} {
		st, err := parse.Statement(unbounded(), src)
		if _, ok := st.(*ast.Query); !ok {
			t.Errorf("%q is a %T: %v", src, st, err)
		}
	}
}

// unbounded returns work without a limit or a deadline.
func unbounded() *work.Work { return work.New(context.Background(), nil, 0, nil) }
