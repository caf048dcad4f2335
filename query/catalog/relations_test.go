package catalog_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divandb/divan/query/catalog"
	"github.com/divandb/divan/query/pgtest"
	"github.com/divandb/divan/query/types"
)

// TestRelations_PostgreSQL compares relations.txt with a live PostgreSQL 15: the relations of pg_catalog and
// information_schema, their OIDs, and their columns in order with types and NOT NULL.
func TestRelations_PostgreSQL(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `
		SELECT n.nspname || '.' ||
			c.relname, c.oid::text, c.relkind::text, a.attname::text, a.attnotnull, t.typname::text,
		       coalesce(b.typname, '')::text
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
		JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype
		WHERE n.nspname IN ('pg_catalog', 'information_schema') AND c.relkind IN ('r', 'v') AND a.attnum > 0
		ORDER BY 1, a.attnum`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for rows.Next() {
		var rel, oid, kind, col, typ, base string
		var notNull bool
		if err := rows.Scan(&rel, &oid, &kind, &col, &notNull, &typ, &base); err != nil {
			t.Fatal(err)
		}
		if want[rel] == "" {
			want[rel] = rel + " " + kind
			if strings.HasPrefix(rel, "pg_catalog.") && kind == "r" {
				want[rel] += " " + oid // OIDs of views differ after each initdb
			}
		}
		if _, ours := types.ByName(typ); !ours && typ != "yes_or_no" {
			if typ = base; typ == "" {
				typ = "text"
			} else if _, ours := types.ByName(typ); !ours {
				typ = "text"
			}
		}
		want[rel] += " " + col + ":" + typ
		if notNull {
			want[rel] += "!"
		}
	}
	if err := rows.Err(); err != nil || len(want) < 100 {
		t.Fatalf("%d relations, %v", len(want), err)
	}
	text, err := os.ReadFile("relations.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		words := strings.Fields(line)
		name, oid, kind := words[0], words[1], words[2]
		got := name + " " + kind
		if strings.HasPrefix(name, "pg_catalog.") && kind == "r" {
			got += " " + oid
		}
		got += " " + strings.Join(words[3:], " ")
		if got != want[name] {
			t.Errorf("relations.txt has\n%s\nPostgreSQL has\n%s", got, want[name])
		}
		schema, relation, _ := strings.Cut(name, ".")
		rel := catalog.Relation(schema, relation)
		if rel == nil {
			t.Errorf("%s is not there", name)
			continue
		}
		var cols []string
		for _, c := range rel.Columns() {
			cols = append(cols, fmt.Sprintf("%s:%d", c.Name, c.Type))
		}
		if len(cols) != len(words)-3 {
			t.Errorf("%s has the columns %s", name, cols)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s is PostgreSQL's and not in relations.txt", name)
	}
}
