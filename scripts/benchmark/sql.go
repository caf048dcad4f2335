package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divandb/divan/query/pgtest"
	"github.com/divandb/divan/scripts/fixtures"
)

// sqlServer is a server that is sent the same statements as another: the node, or PostgreSQL.
type sqlServer struct {
	url   string
	cpu   func() time.Duration
	conns []*pgconn.PgConn
}

// sqlView is a design document whose views PostgreSQL has as indexes.
var sqlView = map[string]any{"views": map[string]any{
	"country": map[string]string{"map": "function (doc) { emit(doc.country, doc.name) }", "reduce": "_count"},
	"name":    map[string]string{"map": "function (doc) { emit(doc.name, null) }"},
}}

// sqlPrepare makes the node's relations of what PostgreSQL is given.
var sqlPrepare = []string{
	`CREATE TABLE docs (id text COLLATE "C" PRIMARY KEY, doc jsonb NOT NULL)`,
	`CREATE TABLE countries (id text COLLATE "C" PRIMARY KEY, doc jsonb NOT NULL)`,
}

var sqlIndexes = []string{
	`CREATE INDEX ON docs ((doc->>'country'))`,
	`CREATE INDEX ON docs ((doc->>'name'))`,
	`VACUUM (ANALYZE, FREEZE) docs`,
	`CHECKPOINT`,
}

// sqlClients is the number of connections that send short statements.
const sqlClients = 16

// runSQL compares SQL statements over the cities with PostgreSQL 15: the same rows, the same indexes, on the same
// machine, measured in turns.
func runSQL(ctx context.Context, e *environment, t *table) (err error) {
	docs, err := cities(max(e.documents, 171_000))
	if err != nil {
		return err
	}
	return e.onNode(ctx, "sql", func(n *node) error {
		if err := loadSQL(ctx, n, docs); err != nil {
			return err
		}
		return beside(ctx, n, func(divan, postgres *sqlServer) error {
			p := &paired{servers: [2]*sqlServer{divan, postgres}, t: t}
			if err := p.long(ctx, len(docs)); err != nil {
				return err
			}
			return p.short(ctx, docs)
		})
	})
}

// loadSQL fills the node, and indexes its documents.
func loadSQL(ctx context.Context, n *node, docs []fixtures.City) error {
	if err := loadCities(ctx, n, "/cities", docs); err != nil {
		return err
	}
	if err := n.call(ctx, "PUT", "/cities/_design/by", sqlView, nil); err != nil {
		return err
	}
	return n.call(ctx, "GET", "/cities/_design/by/_view/country?reduce=false&limit=1", nil, nil)
}

// beside starts PostgreSQL, copies the documents into it, and runs f with connections to both.
func beside(ctx context.Context, n *node, f func(divan, postgres *sqlServer) error) (err error) {
	port, err := freePort()
	if err != nil {
		return err
	}
	_, stop, err := pgtest.Start("listen_addresses=127.0.0.1", "port="+port, "autovacuum=off")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	divan := &sqlServer{url: sqlURL(n.sql, "cities"), cpu: n.cpu}
	postgres := &sqlServer{url: sqlURL("127.0.0.1:"+port, "postgres")}
	for _, s := range []*sqlServer{divan, postgres} {
		if err := s.connect(ctx); err != nil {
			return err
		}
	}
	defer divan.close(ctx)
	defer postgres.close(ctx)
	if postgres.cpu, err = postgres.processes(ctx); err != nil {
		return err
	}
	for _, statement := range sqlPrepare {
		if err := postgres.run(ctx, statement); err != nil {
			return err
		}
	}
	var text bytes.Buffer
	if _, err := divan.conns[0].CopyTo(ctx, &text, `COPY (SELECT id, doc FROM docs) TO STDOUT`); err != nil {
		return err
	}
	if _, err := postgres.conns[0].CopyFrom(ctx, &text, `COPY docs FROM STDIN`); err != nil {
		return err
	}
	for _, statement := range sqlIndexes {
		if err := postgres.run(ctx, statement); err != nil {
			return err
		}
	}
	return f(divan, postgres)
}

func sqlURL(address, database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", address, database)
}

func (s *sqlServer) connect(ctx context.Context) error {
	for range sqlClients {
		c, err := pgconn.Connect(ctx, s.url)
		if err != nil {
			return err
		}
		s.conns = append(s.conns, c)
	}
	return nil
}

func (s *sqlServer) close(ctx context.Context) {
	for _, c := range s.conns {
		_ = c.Close(ctx) // nothing is left to send
	}
}

func (s *sqlServer) run(ctx context.Context, statement string) error {
	_, err := s.conns[0].Exec(ctx, statement).ReadAll()
	return err
}

// paired measures statements on both servers, in turns.
type paired struct {
	servers [2]*sqlServer
	t       *table
}

// sqlStatement is a statement, with its text for PostgreSQL if that differs.
type sqlStatement struct {
	what, text string
	postgres   string
	rows       int // 0: not checked
	copies     bool
}

// long measures statements that read many rows, one at a time on one connection.
func (p *paired) long(ctx context.Context, docs int) error {
	const countries = `(SELECT DISTINCT doc->>'country' AS code FROM docs WHERE id < 'D')`
	for _, s := range []sqlStatement{
		{what: "scan of two fields", text: `SELECT doc->>'name', doc->>'lat' FROM docs`, rows: docs},
		{what: "COPY of two fields", text: `COPY (SELECT doc->>'name', doc->>'lat' FROM docs) TO STDOUT`, copies: true},
		{what: "scan of whole documents", text: `SELECT id, doc FROM docs`, rows: docs},
		{what: "scan with a condition that few documents meet",
			text: `SELECT id FROM docs WHERE doc->>'admin2' = '0301'`},
		{what: "GROUP BY a field without an index",
			text: `SELECT doc->>'admin1', count(*) FROM docs GROUP BY 1`},
		{what: "ORDER BY a field without an index, LIMIT 10",
			text: `SELECT id FROM docs ORDER BY doc->>'lat' LIMIT 10`},
		{what: "GROUP BY a field with an index", text: `SELECT doc->>'country', count(*) FROM docs GROUP BY 1`},
		{what: "ORDER BY a field with an index, LIMIT 10", text: `SELECT id FROM docs ORDER BY doc->>'name' LIMIT 10`,
			rows: 10},
		{what: "grouped counts of a view",
			text:     `SELECT key, count(*) FROM "by".country GROUP BY key`,
			postgres: `SELECT doc->>'country', count(*) FROM docs GROUP BY 1`},
		{what: "a whole view", text: `SELECT key, value FROM "by".country`,
			postgres: `SELECT doc->>'country', doc->>'name' FROM docs ORDER BY doc->>'country'`, rows: docs},
		{what: "count(*)", text: `SELECT count(*) FROM docs`, rows: 1},
		{what: "join of all documents with a relation of some countries",
			text: `SELECT count(*) FROM docs d JOIN ` + countries + ` c ON d.doc->>'country' = c.code`, rows: 1},
	} {
		if err := p.measure(s.what, func(server int) (int, error) {
			conn, text := p.servers[server].conns[0], s.text
			if server == 1 && s.postgres != "" {
				text = s.postgres
			}
			if s.copies {
				_, err := conn.CopyTo(ctx, io.Discard, text)
				return 1, err
			}
			rows, err := drain(conn.ExecParams(ctx, text, nil, nil, nil, nil))
			if err == nil && s.rows != 0 && rows != s.rows {
				err = fmt.Errorf("%s has %d rows and not %d", text, rows, s.rows)
			}
			return 1, err
		}); err != nil {
			return err
		}
	}
	return nil
}

// drain reads all rows of a result without decoding them.
func drain(r *pgconn.ResultReader) (rows int, err error) {
	for r.NextRow() {
		rows++
	}
	_, err = r.Close()
	return rows, err
}

// short measures statements that read few rows, on many connections.
func (p *paired) short(ctx context.Context, docs []fixtures.City) error {
	id := func(i int) string { return docs[i*7919%len(docs)].ID }
	for _, s := range p.servers {
		for _, c := range s.conns {
			if _, err := c.Prepare(ctx, "point", `SELECT doc FROM docs WHERE id = $1`, nil); err != nil {
				return err
			}
			if _, err := c.Prepare(ctx, "range",
				`SELECT doc->>'name' FROM docs WHERE id >= $1 ORDER BY id LIMIT 1000`, nil); err != nil {
				return err
			}
		}
	}
	return errors.Join(
		p.clients("read of a document by id, prepared", 4000, 1, func(c *pgconn.PgConn, _, i int) (int, error) {
			return drain(c.ExecPrepared(ctx, "point", [][]byte{[]byte(id(i))}, nil, nil))
		}),
		p.clients("read of a document by id, simple protocol", 4000, 1, func(c *pgconn.PgConn, _, i int) (int, error) {
			return drainAll(c.Exec(ctx, `SELECT doc FROM docs WHERE id = '`+id(i)+`'`))
		}),
		p.clients("ranges of 1,000 documents", 200, 0, func(c *pgconn.PgConn, _, i int) (int, error) {
			return drain(c.ExecPrepared(ctx, "range", [][]byte{[]byte(id(i))}, nil, nil))
		}),
		p.oneKey(ctx, docs, "rows of one key of a view", 0,
			`SELECT id FROM "by".name WHERE key = $1`, `SELECT id FROM docs WHERE doc->>'name' = $1`, nil),
		p.oneKey(ctx, docs, "count of one key of a view", 1, `SELECT count(*) FROM "by".country WHERE key = $1`,
			`SELECT count(*) FROM docs WHERE doc->>'country' = $1`, func(c fixtures.City) string { return c.Country }),
		p.clients("documents with one value of an indexed field", sqlClients, 0,
			func(c *pgconn.PgConn, _, i int) (int, error) {
				return drain(c.ExecParams(ctx, `SELECT id FROM docs WHERE doc->>'name' = $1`,
					[][]byte{[]byte(docs[i*7919%len(docs)].Name)}, nil, nil, nil))
			}),
	)
}

// oneKey measures a statement with one value of a member, by default the name, as its parameter: on the node over a
// view, in PostgreSQL over the documents with an index.
func (p *paired) oneKey(ctx context.Context, docs []fixtures.City, what string, want int, divan, postgres string,
	member func(fixtures.City) string) error {
	return p.clients(what, 10*sqlClients, want, func(c *pgconn.PgConn, server, i int) (int, error) {
		city := docs[i*7919%len(docs)]
		text, value := divan, city.Name
		if member != nil {
			value = member(city)
		}
		param := []byte(value)
		if server == 1 {
			text = postgres
		} else {
			param = mustJSON(value)
		}
		return drain(c.ExecParams(ctx, text, [][]byte{param}, nil, nil, nil))
	})
}

func drainAll(r *pgconn.MultiResultReader) (rows int, err error) {
	for r.NextResult() {
		n, err := drain(r.ResultReader())
		rows += n
		if err != nil {
			return rows, errors.Join(err, r.Close())
		}
	}
	return rows, r.Close()
}

// clients measures statements on all connections. want is the number of rows of each, or 0.
func (p *paired) clients(what string, statements, want int,
	send func(c *pgconn.PgConn, server, i int) (rows int, err error),
) error {
	return p.measure(fmt.Sprintf("%s, %d clients", what, sqlClients), func(server int) (int, error) {
		conns := p.servers[server].conns
		return statements, each(len(conns), statements, func(i int) error {
			rows, err := send(conns[i%len(conns)], server, i)
			if err == nil && want != 0 && rows != want {
				err = fmt.Errorf("%s: %d rows and not %d", what, rows, want)
			}
			return err
		})
	})
}

// measure runs a measurement on both servers in turns, and prints the medians of the rates and of the CPU times.
func (p *paired) measure(what string, run func(server int) (done int, err error)) error {
	const rounds, enough = 7, 200 * time.Millisecond
	var found [2][]measured
	for round := range rounds + 1 {
		for i, s := range p.servers {
			began, cpu, done := time.Now(), s.cpu(), 0
			for done == 0 || time.Since(began) < enough {
				more, err := run(i)
				if err != nil {
					return fmt.Errorf("%s: %w", what, err)
				}
				done += more
			}
			took, used := time.Since(began), s.cpu()-cpu
			if round > 0 { // the first one fills caches
				found[i] = append(found[i], measured{took.Seconds() / float64(done), used.Seconds() / float64(done)})
			}
		}
	}
	var took, cpu [2]float64
	for i := range found {
		took[i] = medianOf(found[i], func(m measured) float64 { return m.rate })
		cpu[i] = medianOf(found[i], func(m measured) float64 { return m.cpu })
	}
	p.t.row(what, "%.3f ms, %.2f times PostgreSQL's rate; CPU %.3f ms, %.2f times PostgreSQL's", took[0]*1000,
		took[1]/took[0], cpu[0]*1000, cpu[0]/max(cpu[1], 1e-9))
	return nil
}
