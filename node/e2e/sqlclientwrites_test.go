package e2e_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lib/pq"

	"github.com/divandb/divan/query/pgtest"
)

// The clients of TestSQL_Clients write, each to a database of its own, with the same results as on a PostgreSQL with a
// table of documents. Results that have the whole document are without _id and _rev, which PostgreSQL's lacks.
func TestSQL_ClientsWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	theirs := pgtest.URL(t)
	cert, key, _ := certificate(t)
	p := start(t, t.TempDir(), "-admin", "tester:sesame", "-config",
		writeYAML(t, fmt.Sprintf("auth: {iterations: 4096}\nsql: {tls: {cert: %q, key: %q}}\n", cert, key)))
	host, port, cfg := sqlServers(t, p, theirs)
	admin, err := pgx.Connect(t.Context(), theirs)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.Background())
	client := p.as("tester:sesame").patient()
	// create makes the databases, and returns the connection strings of both.
	create := func(name string) [2]string {
		client.ok("PUT", "/"+name, "")
		if _, err := admin.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
			t.Fatal(err)
		}
		his := fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable", cfg.Host, cfg.Port, cfg.User, name)
		conn, err := pgx.Connect(t.Context(), his)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(t.Context(), `CREATE TABLE docs (id text PRIMARY KEY,
			rev text GENERATED ALWAYS AS ('1') STORED, doc jsonb NOT NULL DEFAULT '{}')`); err != nil {
			t.Fatal(err)
		}
		return [2]string{fmt.Sprintf("host=%s port=%s user=tester password=sesame dbname=%s sslmode=verify-full "+
			"sslrootcert=%s", host, port, name, cert), his}
	}
	for name, f := range map[string]func(t *testing.T, dsn string) []string{"pgx": pgxWrites, "pq": pqWrites} {
		dsn := create(name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			(&sqlClient{}).compare(t, f(t, dsn[0]), f(t, dsn[1]))
		})
	}
	for i, c := range sqlClients {
		if c.script == "pgcli_client.py" {
			continue // sends what is typed
		}
		c.script = strings.NewReplacer("_client.", "_writes.", "Client.", "Writes.").Replace(c.script)
		c.differs = nil
		name := fmt.Sprintf("writes%d", i)
		create(name)
		servers := [2][]string{
			{"PGHOST=" + host, "PGPORT=" + port, "PGUSER=tester", "PGPASSWORD=sesame", "PGDATABASE=" + name},
			{"PGHOST=" + cfg.Host, "PGPORT=" + strconv.Itoa(int(cfg.Port)), "PGUSER=" + cfg.User, "PGDATABASE=" + name,
				"PGSSLMODE=disable"},
		}
		t.Run(c.script, func(t *testing.T) {
			t.Parallel()
			c.both(t, servers, loginMode(cert, i), cfg)
		})
	}
}

// clientLines collects the lines of a client in Go.
type clientLines struct {
	t     *testing.T
	lines []string
}

// show adds the line of a check.
func (c *clientLines) show(name string, v any, err error) {
	c.t.Helper()
	var pe *pgconn.PgError
	var le *pq.Error
	switch {
	case errors.As(err, &pe):
		v = []any{pe.Code, pe.Message, pe.SchemaName, pe.ConstraintName, pe.TableName, pe.ColumnName}
	case errors.As(err, &le):
		v = []any{le.Code, le.Message, le.Schema, le.Constraint, le.Table, le.Column}
	case err != nil:
		v = err.Error()
	}
	text, err := json.Marshal(v)
	if err != nil {
		c.t.Fatal(err)
	}
	c.lines = append(c.lines, name+"\t"+string(text))
}

const storedDocs = "SELECT id || ' ' || (doc - '_id' - '_rev')::text FROM docs ORDER BY id"

func pgxWrites(t *testing.T, dsn string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := &clientLines{t: t}
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		conn, err := pgx.Connect(ctx, dsn+" default_query_exec_mode="+mode)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		rows := func(q pgx.Tx, sql string, args ...any) ([]string, error) {
			found, err := q.Query(ctx, sql, args...)
			if err != nil {
				return nil, err
			}
			return pgx.CollectRows(found, pgx.RowTo[string])
		}
		show := func(name string, v any, err error) { c.show(mode+" "+name, v, err) }
		stored := func() (out []string) {
			err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) (err error) { out, err = rows(tx, storedDocs); return err })
			show("stored", out, err)
			return out
		}
		doc := map[string]any{"n": 1, "s": "it's é"}
		tag, err := conn.Exec(ctx, "INSERT INTO docs (id, doc) VALUES ($1, $2)", "a", doc)
		show("insert", tag.String(), err)
		tag, err = conn.Exec(ctx, "INSERT INTO docs (id, doc) VALUES ($1, $2)", "a", doc)
		show("again", tag.String(), err)
		_, err = conn.Exec(ctx, "INSERT INTO docs (id, doc) VALUES ($1, NULL)", "null")
		show("null", nil, err)
		n, err := conn.CopyFrom(ctx, pgx.Identifier{"docs"}, []string{"id", "doc"}, pgx.CopyFromSlice(300,
			func(i int) ([]any, error) { return []any{fmt.Sprintf("c%03d", i), map[string]int{"i": i}}, nil }))
		show("copy", n, err)
		n, err = conn.CopyFrom(ctx, pgx.Identifier{"docs"}, []string{"id", "doc"}, pgx.CopyFromRows([][]any{{"x", doc},
			{"c001", doc}}))
		show("copy again", n, err)
		tag, err = conn.Exec(ctx, "DELETE FROM docs WHERE id LIKE 'c%' AND (doc->>'i')::int >= $1", 3)
		show("delete", tag.String(), err)
		stored()
		batch := &pgx.Batch{}
		batch.Queue("INSERT INTO docs (id, doc) VALUES ($1, $2) RETURNING id", "b1", doc)
		batch.Queue("UPDATE docs SET doc = doc || $2 WHERE id = $1", "b1", map[string]int{"b": 2})
		batch.Queue("DELETE FROM docs WHERE id = ANY ($1)", []string{"c000", "c001"})
		results := conn.SendBatch(ctx, batch)
		var id string
		show("batch", &id, results.QueryRow().Scan(&id))
		for range 2 {
			tag, err := results.Exec()
			show("batch", tag.String(), err)
		}
		show("batch", nil, results.Close())
		batch = &pgx.Batch{}
		batch.Queue("INSERT INTO docs (id, doc) VALUES ($1, $2)", "b2", doc)
		batch.Queue("INSERT INTO docs (id, doc) VALUES ($1, $2)", "b1", doc)
		show("failing batch", nil, conn.SendBatch(ctx, batch).Close())
		stored()
		show("transaction", nil, pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO docs (id, doc) VALUES ($1, $2)", "t1", doc); err != nil {
				return err
			}
			show("savepoint", nil, pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "INSERT INTO docs (id, doc) VALUES ($1, $2), ($3, $2)", "t2", doc, "t1")
				return err
			}))
			ids, err := rows(tx, "UPDATE docs SET doc = jsonb_set(doc, '{n}', $1) WHERE id LIKE 't%' RETURNING id",
				json.RawMessage("5"))
			show("returning", ids, err)
			return nil
		}))
		failed := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "DELETE FROM docs"); err != nil {
				return err
			}
			return errors.New("mine")
		})
		show("rolled back", nil, failed)
		for _, o := range []pgx.TxOptions{{AccessMode: pgx.ReadOnly}, {IsoLevel: pgx.Serializable}} {
			show(string(o.AccessMode+" ")+string(o.IsoLevel), nil, pgx.BeginTxFunc(ctx, conn, o, func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "DELETE FROM docs WHERE id = $1", "t1")
				return err
			}))
		}
		stored()
		described, err := conn.Prepare(ctx, "p"+mode, "UPDATE docs SET doc = $2 WHERE id = $1 RETURNING id, length(id)")
		if err != nil {
			t.Fatal(err)
		}
		var columns []any
		for _, f := range described.Fields {
			columns = append(columns, f.Name, f.DataTypeOID, f.TableAttributeNumber, f.TypeModifier)
		}
		show("described", []any{described.ParamOIDs, columns}, err)
		tag, err = conn.Exec(ctx, "DELETE FROM docs")
		show("all", tag.String(), err)
	}
	return c.lines
}

func pqWrites(t *testing.T, dsn string) []string {
	t.Helper()
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := &clientLines{t: t}
	type querier interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}
	all := func(q querier, name, query string, args ...any) {
		t.Helper()
		rows, err := q.QueryContext(ctx, query, args...)
		if err != nil {
			c.show(name, nil, err)
			return
		}
		defer rows.Close()
		var out []string
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				t.Fatal(err)
			}
			out = append(out, s)
		}
		c.show(name, out, rows.Err())
	}
	exec := func(q querier, name, query string, args ...any) {
		t.Helper()
		result, err := q.ExecContext(ctx, query, args...)
		if err != nil {
			c.show(name, nil, err)
			return
		}
		n, err := result.RowsAffected()
		c.show(name, n, err)
	}
	exec(db, "insert", "INSERT INTO docs (id, doc) VALUES ($1, $2)", "a", `{"n": 1}`)
	exec(db, "again", "INSERT INTO docs (id, doc) VALUES ($1, $2)", "a", `{"n": 1}`)
	exec(db, "null", "INSERT INTO docs (id, doc) VALUES ($1, $2)", nil, `{"n": 1}`)
	exec(db, "several", "INSERT INTO docs (id) VALUES ('b'); UPDATE docs SET doc = '{}'; DELETE FROM docs WHERE id = 'b'")
	all(db, "returning", "INSERT INTO docs (id, doc) SELECT u, '{}' FROM unnest($1::text[]) u RETURNING id",
		pq.Array([]string{"u1", "u2"}))
	all(db, "upsert", `INSERT INTO docs (id, doc) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET id = excluded.id,
		doc = docs.doc || excluded.doc RETURNING doc->>'up'`, "a", `{"up": 1}`)
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		t.Fatal(err)
	}
	in, err := tx.PrepareContext(ctx, pq.CopyIn("docs", "id", "doc"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if _, err := in.ExecContext(ctx, fmt.Sprintf("c%02d", i), `{"c": "\t"}`); err != nil {
			t.Fatal(err)
		}
	}
	_, err = in.ExecContext(ctx)
	c.show("copy", nil, errors.Join(err, in.Close()))
	exec(tx, "delete", "DELETE FROM docs WHERE id > $1 AND id < 'd'", "c02")
	all(tx, "stored in the transaction", storedDocs)
	c.show("commit", nil, tx.Commit())
	all(db, "stored", storedDocs)
	if tx, err = db.BeginTx(ctx, nil); err != nil {
		t.Fatal(err)
	}
	exec(tx, "all", "DELETE FROM docs")
	c.show("rollback", nil, tx.Rollback())
	all(db, "still stored", storedDocs)
	return slices.Clip(c.lines)
}
