package query_test

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/sqlstate"
)

// noticed keeps the notices of a text of SQL.
type noticed struct{ said, ends []string } // said is of what is undone, ends of a session that ends

func (*noticed) Columns([]pgwire.Column) error { return nil }
func (*noticed) Row([][]byte) error            { return nil }
func (*noticed) Done(string) error             { return nil }
func (n *noticed) Notice(e *sqlstate.Error) error {
	switch e.Code {
	case sqlstate.TransactionRollback:
		n.said = append(n.said, e.Message)
	case sqlstate.Warning:
		n.ends = append(n.ends, e.Message)
	}
	return nil
}

// Who sends a text that ends before its transaction does is told what became of that, if it has written.
func TestServer_undone(t *testing.T) {
	const (
		write, more = "INSERT INTO docs (id, doc) VALUES ('a', '{}')", "INSERT INTO docs (id, doc) VALUES ('b', '{}')"
		open        = "The transaction was not committed, so it is undone"
		failed      = "Nothing that was written is stored"
		since       = "What was written after the last COMMIT is undone."
		before      = "What was committed before is stored."
	)
	for _, c := range []struct {
		text   string
		stored string   // ids
		said   []string // parts of the notice; none: there is no notice
	}{
		{text: write, stored: "a"},
		{text: write + ";" + more, stored: "a b"},
		{text: "BEGIN;" + write + "; COMMIT", stored: "a"},
		{text: "BEGIN;" + write, said: []string{open}},
		{text: write + "; BEGIN", said: []string{open}},
		{text: "BEGIN;" + write + "; COMMIT; BEGIN;" + more, stored: "a", said: []string{open, before}},
		{text: write + "; SELECT 1/0", said: []string{failed}},
		{text: "BEGIN;" + write + "; SELECT 1/0", said: []string{failed}},
		{text: write + ";" + write, said: []string{failed}},
		{text: write + "; COMMIT;" + more + "; SELECT 1/0", stored: "a", said: []string{since, before}},
		{text: write + "; COMMIT; SELECT 1/0", stored: "a"},
		{text: "BEGIN;" + write + "; ROLLBACK"},
		{text: "BEGIN;" + write + "; ROLLBACK; SELECT 1/0"},
		{text: "BEGIN; SAVEPOINT s;" + write + "; ROLLBACK TO s"},
		{text: "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT id FROM docs"},
		{text: "BEGIN; UPDATE docs SET doc = '{}' WHERE id = 'nope'"},
		{text: "SELECT id FROM docs; SELECT 1/0"},
		{text: "SELECT 1/0"},
		{text: write + "; SELECT nope", said: []string{failed}},
	} {
		s := exectest.NewStore()
		to, err := inside(t, s, c.text)
		if fails := strings.Contains(c.text, "SELECT 1/0") || strings.Contains(c.text, "nope;") ||
			c.text == write+";"+write || strings.HasSuffix(c.text, "SELECT nope"); (err != nil) != fails {
			t.Errorf("%s: %v", c.text, err)
		}
		ids, err := run(t.Context(), openSession(t, s, "db"), "SELECT id FROM docs ORDER BY id", 10)
		if err != nil || strings.Join(ids, " ") != c.stored {
			t.Errorf("%s: stored are %q, %v", c.text, ids, err)
		}
		if len(c.said) == 0 && len(to.said) > 0 || len(c.said) > 0 && len(to.said) != 1 ||
			slices.ContainsFunc(c.said, func(part string) bool { return !strings.Contains(to.said[0], part) }) ||
			len(to.said) == 1 && strings.Contains(to.said[0], before) != slices.Contains(c.said, before) {
			t.Errorf("%s: it is said %q", c.text, to.said)
		}
	}
}

// inside runs a text in a session of its own, in the database db.
func inside(t *testing.T, s *exectest.Store, text string) (*noticed, error) {
	t.Helper()
	s.Create("db")
	server := query.NewServer(query.Options{Log: slog.New(slog.DiscardHandler),
		Catalog: func(context.Context, query.Principal) (exec.Catalog, error) { return s, nil }})
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	who, to := pgwire.Inside{User: "ann", Database: "db", Remote: at, Local: at}, &noticed{}
	return to, server.Wire().Run(t.Context(), who, text, to)
}

// Who sends a text whose last statement is for those that follow is told that the session ends with the text.
func TestServer_ofNoEffect(t *testing.T) {
	for text, tag := range map[string]string{
		"BEGIN": "BEGIN", "START TRANSACTION": "START TRANSACTION", "SET statement_timeout = 100": "SET",
		"SELECT 1; SET statement_timeout = 100": "SET", "PREPARE p AS SELECT 1": "PREPARE",
		"SET statement_timeout = 100; SELECT 1": "", "BEGIN; SELECT 1; COMMIT": "", "BEGIN; SELECT 1": "",
		"SELECT 1": "", "BEGIN; SELECT 1/0": "", "ROLLBACK": "",
	} {
		to, err := inside(t, exectest.NewStore(), text)
		if failed := strings.Contains(text, "/0"); (err != nil) != failed {
			t.Errorf("%s: %v", text, err)
		}
		const ends = " had no effect: each text runs in a session of its own, which ends with it."
		got := slices.DeleteFunc(to.ends, func(s string) bool { return !strings.Contains(s, ends) })
		if tag == "" && len(got) > 0 || tag != "" && (len(got) != 1 || !strings.HasPrefix(got[0], tag+ends)) {
			t.Errorf("%s: it is said %q, want it of %q", text, to.ends, tag)
		}
	}
}
