package query_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/query"
	qexec "github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/sqlstate"
)

type silent struct{}

func (silent) Notice(*sqlstate.Error)         {}
func (silent) ParameterStatus(string, string) {}
func (silent) Wake()                          {}
func (silent) SetEncoding(pgwire.Encoding)    {}

// openSession opens a session without a connection.
func openSession(t testing.TB, s *exectest.Store, db string) pgwire.Session {
	t.Helper()
	ss := openSessionWith(t, s, db, func(*query.Options) {})
	t.Cleanup(ss.Close)
	return ss
}

// openSessionWith opens a session of a server with other options. The caller closes it.
func openSessionWith(t testing.TB, s *exectest.Store, db string, change func(*query.Options)) pgwire.Session {
	t.Helper()
	opts := query.Options{
		Catalog: func(context.Context, query.Principal) (qexec.Catalog, error) { return s, nil },
		Log:     slog.New(slog.DiscardHandler),
	}
	change(&opts)
	srv := query.NewServer(opts)
	ss, err := srv.Open(t.Context(),
		pgwire.Start{User: "ann", Database: db, Remote: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, PID: 1,
			Since: time.Now()}, silent{})
	if err != nil {
		t.Fatal(err)
	}
	return ss
}

// run executes a simple query and returns its rows as texts, at most limit of them.
func run(ctx context.Context, ss pgwire.Session, src string, limit int) ([]string, error) {
	pieces, err := ss.Split(ctx, src)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, piece := range pieces {
		ss.Final(len(pieces) == 1)
		p, err := ss.Simple(ctx, piece)
		if err != nil {
			ss.Fail(nil)
			return nil, err
		}
		defer p.Close()
		for len(out) < limit {
			err := p.Next(ctx)
			if errors.Is(err, io.EOF) {
				p.Tag(0)
				break
			}
			if err != nil {
				ss.Fail(nil)
				return nil, err
			}
			var fields []string
			n := len(p.Columns())
			if p.Copy() != nil {
				n = 1
			}
			for i := range n {
				b, null, err := p.Append(nil, i)
				if err != nil {
					return nil, err
				}
				if null {
					b = []byte("NULL")
				}
				fields = append(fields, string(b))
			}
			out = append(out, strings.Join(fields, "|"))
		}
	}
	if err := ss.Commit(ctx); err != nil {
		ss.Fail(nil)
		return nil, err
	}
	return out, nil
}

// FuzzStatement checks that no statement makes the gateway panic, run on after its context ends, or fail with an
// internal error.
func FuzzStatement(f *testing.F) {
	text, err := os.ReadFile("testdata/expressions.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		expr, _, _ := strings.Cut(line, " => ")
		f.Add("SELECT " + expr)
	}
	for _, s := range []string{
		`SELECT id, doc->>'name' FROM docs WHERE id > 'b' AND id LIKE 'o%' OR id IN ('a','paris') ORDER BY id DESC LIMIT 2 OFFSET 1`,
		`SELECT key, value FROM city WHERE key BETWEEN 'A' AND 'P' ORDER BY key, id`,
		`SELECT * FROM changes WHERE seq > '00' AND shard = 's0' ORDER BY seq DESC`,
		`SELECT key->>0, count(*), sum(value) FROM "by".country GROUP BY 1 HAVING count(*) > 1 ORDER BY 2`,
		`EXPLAIN (ANALYZE, FORMAT JSON) SELECT DISTINCT doc->'country' FROM docs WHERE doc @> '{"pop":1}'`,
		`BEGIN; DECLARE c CURSOR FOR SELECT * FROM docs; FETCH 2 FROM c; MOVE ALL FROM c; CLOSE c; COMMIT`,
		`SELECT c.relname, a.attname, t.typname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_type t ON t.oid = a.atttypid WHERE c.relname = 'docs'`,
		`COPY (SELECT id, doc FROM docs) TO STDOUT (FORMAT csv, HEADER)`,
		`PREPARE p AS SELECT $1::int + 1; EXECUTE p(41); DEALLOCATE p`,
		`SHOW ALL; SET search_path = by, public; SHOW search_path; RESET ALL`,
		`SELECT * FROM conflicts; SELECT * FROM local_docs; SELECT * FROM divan.sessions`,
		`WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT sum(n) OVER (ORDER BY n) FROM t`,
		`INSERT INTO docs AS d (id, doc) VALUES ('a', '{"x": 1}'), (DEFAULT, DEFAULT) ON CONFLICT (id) DO UPDATE SET doc = d.doc || excluded.doc WHERE d.id > '' RETURNING *, d.doc->'x'`,
		`WITH w AS (SELECT id, doc FROM docs) INSERT INTO docs (doc, id) SELECT doc - '_id' - '_rev', id || '2' FROM w ON CONFLICT DO NOTHING`,
		`UPDATE docs d SET doc = jsonb_set(d.doc, '{n}', to_jsonb(v.n)) FROM (VALUES ('a', 1), ('oslo', 2)) v(k, n) WHERE d.id = v.k RETURNING d.rev, v.*`,
		`BEGIN; SELECT id FROM docs FOR UPDATE; SAVEPOINT s; DELETE FROM docs USING docs e WHERE docs.id = e.id RETURNING docs.doc; ROLLBACK TO s; COMMIT`,
		`COPY docs (id, doc) FROM STDIN (FORMAT csv, HEADER match, FORCE_NULL (id)); EXPLAIN DELETE FROM docs WHERE id < 'b'`,
	} {
		f.Add(s)
	}
	store := exectest.NewStore()
	cities(store)
	ss := openSession(f, store, "cities")
	f.Fuzz(func(t *testing.T, src string) {
		if strings.Contains(src, "pg_sleep") || strings.Contains(src, "follow") {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		began := time.Now()
		_, err := run(ctx, ss, src, 1000)
		if d := time.Since(began); d > 5*time.Second {
			t.Fatalf("ran for %v", d)
		}
		var e *sqlstate.Error
		if err != nil && !errors.Is(err, context.DeadlineExceeded) &&
			(!errors.As(err, &e) || e.Code == sqlstate.InternalError) {
			t.Fatalf("%v", err)
		}
		if e != nil && (e.Pos < 0 || e.Pos > len(src)+1) {
			t.Fatalf("position %d in %d bytes", e.Pos, len(src))
		}
		if ss.Status() != 'I' {
			if _, err := run(context.Background(), ss, "ROLLBACK; DEALLOCATE ALL; RESET ALL", 1); err != nil {
				t.Fatal(err)
			}
		}
	})
}
