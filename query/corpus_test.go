package query_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/pgtest"
)

// TestCorpus_PostgreSQL runs the statements of testdata/corpus here and on a live PostgreSQL 15. The names, types and
// rows of the results must be the same, or the SQLSTATE, message and position of the error. Each file covers a feature.
// Each statement is a line; lines that begin with -- are comments. A statement may be preceded by
//
//	-- unordered: rows in any order
//	-- differs: why only the SQLSTATE, or nothing, is the same
//	-- parameters: a JSON array of texts, which are sent by the extended protocol
//
// A file with a line "-- alone" ends the transaction and discards the settings after each statement. One that begins
// with "-- long" computes so much on one goroutine that it is left out under the race detector.
//
// Both servers have the documents of corpusDocs.
func TestCorpus_PostgreSQL(t *testing.T) {
	theirs := connect(t, pgtest.URL(t)+" default_query_exec_mode=simple_protocol")
	s := exectest.NewStore()
	corpusDocs(t, s.Create("postgres"), theirs)
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
			if bytes.HasPrefix(text, []byte("-- long\n")) {
				oneGoroutine(t)
			}
			var unordered, differs, alone bool
			var params []*string
			for _, line := range strings.Split(string(text), "\n") {
				if comment, ok := strings.CutPrefix(line, "-- "); ok || line == "" {
					unordered = unordered || strings.HasPrefix(comment, "unordered")
					alone = alone || comment == "alone"
					differs = differs || strings.HasPrefix(comment, "differs")
					if list, ok := strings.CutPrefix(comment, "parameters: "); ok {
						if err := json.Unmarshal([]byte(list), &params); err != nil {
							t.Fatalf("%s: %v", line, err)
						}
					}
					continue
				}
				got := result(t.Context(), ours, line, params, unordered)
				want := result(t.Context(), theirs, line, params, unordered)
				if at, _, placeless := strings.Cut(want, " at 0: "); placeless && strings.HasPrefix(got, at+" at ") {
					// Divan knows the position of some errors that have none in PostgreSQL.
					got = place.ReplaceAllString(got, "${1}0: ")
				}
				if (got == want) == differs {
					t.Errorf("%s\ngot\n%s\nwant\n%s", line, got, want)
				}
				unordered, differs, params = false, false, nil
				for _, conn := range []*pgx.Conn{ours, theirs} {
					if alone && conn.PgConn().TxStatus() != 'I' {
						_ = result(t.Context(), conn, "ROLLBACK", nil, false)
					}
					if alone && stateful.MatchString(line) {
						_ = result(t.Context(), conn, "DISCARD ALL", nil, false)
					}
				}
			}
		})
	}
}

var documents = regexp.MustCompile(`(?i)\b(docs|by\.)`)

// stateful matches statements that may leave something in the session.
var stateful = regexp.MustCompile(`(?i)\b(SET|PREPARE|LISTEN|set_config|DECLARE)\b|advisory`)

var place = regexp.MustCompile(`(?m)^(ERROR ..... at )\d+: `)

// result returns the answer to a statement as a text.
func result(ctx context.Context, conn *pgx.Conn, sql string, params []*string, unordered bool) string {
	ofDocuments := documents.MatchString(sql)
	var results []*pgconn.Result
	var err error
	if params == nil {
		results, err = conn.PgConn().Exec(ctx, sql).ReadAll()
	} else {
		raw := make([][]byte, len(params))
		for i, p := range params {
			if p != nil {
				raw[i] = []byte(*p)
			}
		}
		r := conn.PgConn().ExecParams(ctx, sql, raw, nil, nil, nil).Read()
		results, err = []*pgconn.Result{r}, r.Err
	}
	var out []string
	for _, r := range results {
		if r.Err != nil {
			continue
		}
		var rows []string
		for _, row := range r.Rows {
			var fields []string
			for i, v := range row {
				switch {
				case v == nil:
					fields = append(fields, "NULL")
				case ofDocuments && r.FieldDescriptions[i].DataTypeOID == pgtype.JSONBOID:
					// A document's own text keeps its white space.
					var b bytes.Buffer
					if err := json.Compact(&b, v); err != nil {
						b.WriteString("no JSON: " + string(v))
					}
					fields = append(fields, b.String())
				default:
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
			// The OIDs of relations differ, but not the numbers of their columns.
			of := ""
			if f.TableOID != 0 {
				of = fmt.Sprintf(" column %d", f.TableAttributeNumber)
			}
			mod := ""
			if f.TypeModifier != -1 {
				mod = fmt.Sprintf(" mod %d", f.TypeModifier)
			}
			head = append(head, fmt.Sprintf("%s %d%s%s", f.Name, f.DataTypeOID, mod, of))
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
