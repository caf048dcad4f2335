package query_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/pgtest"
)

// TestCorpus_PostgreSQL runs the statements of testdata/corpus here and on a live PostgreSQL 15: names, types and rows
// of the results are the same, or the SQLSTATE, the words and the place of the error. Statements are lines, by feature
// in files; lines that begin with -- are comments. Before a statement may stand
//
//	-- unordered: rows in any order
//	-- differs: why only the SQLSTATE, or nothing, is the same
func TestCorpus_PostgreSQL(t *testing.T) {
	theirs := connect(t, pgtest.URL(t)+" default_query_exec_mode=simple_protocol")
	s := exectest.NewStore()
	s.Create("postgres")
	_, addr := start(t, s, nil)
	ours := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
	files, err := filepath.Glob("testdata/corpus/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sql"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var unordered, differs bool
			for _, line := range strings.Split(string(text), "\n") {
				if comment, ok := strings.CutPrefix(line, "-- "); ok || line == "" {
					unordered = unordered || strings.HasPrefix(comment, "unordered")
					differs = differs || strings.HasPrefix(comment, "differs")
					continue
				}
				got, want := result(t.Context(), ours, line, unordered), result(t.Context(), theirs, line, unordered)
				if (got == want) == differs {
					t.Errorf("%s\ngot\n%s\nwant\n%s", line, got, want)
				}
				unordered, differs = false, false
			}
		})
	}
}

// result is what a statement answers, as a text.
func result(ctx context.Context, conn *pgx.Conn, sql string, unordered bool) string {
	results, err := conn.PgConn().Exec(ctx, sql).ReadAll()
	var out []string
	for _, r := range results {
		if r.Err != nil {
			continue
		}
		var rows []string
		for _, row := range r.Rows {
			var fields []string
			for _, v := range row {
				if v == nil {
					fields = append(fields, "NULL")
				} else {
					fields = append(fields, string(v))
				}
			}
			rows = append(rows, strings.Join(fields, "|"))
		}
		if unordered {
			slices.Sort(rows)
		}
		var head []string
		for _, f := range r.FieldDescriptions {
			head = append(head, fmt.Sprintf("%s %d", f.Name, f.DataTypeOID))
		}
		out = append(append(out, strings.Join(head, "|")), rows...)
		out = append(out, r.CommandTag.String())
	}
	var pe *pgconn.PgError
	switch {
	case errors.As(err, &pe):
		out = append(out, fmt.Sprintf("ERROR %s at %d: %s", pe.Code, pe.Position, pe.Message))
	case err != nil:
		out = append(out, "broken: "+err.Error())
	}
	return strings.Join(out, "\n")
}
