package e2e_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lib/pq"
)

// libpq does with lib/pq what the scripts in testdata/clients do with their clients.
func libpq(t *testing.T, dsn string) (lines []string) {
	t.Helper()
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	show := func(name string, v any, err error) {
		t.Helper()
		var pe *pq.Error
		if errors.As(err, &pe) {
			v = fmt.Sprintf("%s %s at %s", pe.Code, pe.Message, pe.Position)
		} else if err != nil {
			v = err.Error()
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, name+"\t"+string(text))
	}
	// Rows are fetched completely. Texts are returned as bytes.
	all := func(name, query string, args ...any) {
		t.Helper()
		rows, err := db.QueryContext(ctx, query, args...)
		if err != nil {
			show(name, nil, err)
			return
		}
		defer rows.Close()
		types, err := rows.ColumnTypes()
		if err != nil {
			t.Fatal(err)
		}
		var out []any
		for _, c := range types {
			out = append(out, c.Name()+" "+c.DatabaseTypeName())
		}
		for rows.Next() {
			values := make([]any, len(types))
			into := make([]any, len(types))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			for i, v := range values {
				if b, ok := v.([]byte); ok && types[i].DatabaseTypeName() != "JSONB" {
					values[i] = string(b)
				} else if ok {
					values[i] = json.RawMessage(b)
				}
			}
			out = append(out, values)
		}
		show(name, out, rows.Err())
	}
	all("parameters",
		"SELECT $1::int, $2::int8, $3::float8, $4::numeric, $5::text, $6::bool, $7::text, $8::timestamptz, "+
			"$9::int[], $10::text[], $11::bytea", 1, int64(1)<<40, 1.5, "12.340", "it's \\ é", true, nil, time.Unix(0,
			0).UTC(),
		pq.Array([]int64{1, 2}), pq.Array([]string{"a", "b,c"}), []byte{0, 255})
	all("documents", "SELECT id, doc->>'name' AS name, doc->'n' AS n FROM docs WHERE id = ANY($1) ORDER BY id",
		pq.Array([]string{"no:2294", "fr:1077"}))
	all("json", "SELECT count(*) FROM docs WHERE doc->'n' > $1 AND doc @> $2", "100", `{"country":"NO"}`)
	all("view", `SELECT count(*), min(id) FROM "by".country WHERE key = $1`, `"NO"`)
	all("page", "SELECT id FROM docs ORDER BY id LIMIT $1 OFFSET $2", 3, 5)
	all("syntax", "SELEC")
	all("column", "SELECT nope FROM docs")
	all("value", "SELECT $1::int", "x")
	all("simple", "SELECT id FROM docs ORDER BY id LIMIT 2")

	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var n int
	var level string
	err = tx.QueryRowContext(ctx, "SELECT count(*) FROM docs").Scan(&n)
	show("transaction", n, err)
	show("isolation", &level, tx.QueryRowContext(ctx, "SHOW transaction_isolation").Scan(&level))
	_, err = tx.ExecContext(ctx, "SELECT nope")
	show("failed", nil, err)
	_, err = tx.ExecContext(ctx, "SELECT 1")
	show("aborted", nil, err)
	show("rollback", nil, tx.Rollback())

	st, err := db.PrepareContext(ctx, "SELECT id FROM docs WHERE id >= $1 ORDER BY id LIMIT 1")
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"a", "n", "z"} {
		var id sql.NullString
		err := st.QueryRowContext(ctx, from).Scan(&id)
		show("prepared "+from, id, err)
	}
	show("closed", nil, st.Close())

	// Cancelled once another connection sees it running.
	busy, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	soon, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() {
		_, err := busy.ExecContext(soon, "SELECT pg_sleep(600), 'libpq'")
		done <- err
	}()
	for running := 0; running == 0; {
		err := db.QueryRowContext(ctx, "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE $1",
			"%'libpq'").Scan(&running)
		if err != nil {
			t.Fatal(err)
		}
	}
	stop()
	show("cancelled", sqlCodePQ(<-done), nil)
	return lines
}

func sqlCodePQ(err error) string {
	var pe *pq.Error
	if errors.As(err, &pe) {
		return string(pe.Code)
	}
	return fmt.Sprint(err)
}
