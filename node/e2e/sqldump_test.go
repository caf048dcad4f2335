package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divandb/divan/query/pgtest"
)

// pg_dump of a database writes a file that PostgreSQL 15 can restore: the documents as rows with jsonb, and the views
// as empty views or as tables with their rows.
func TestSQL_Dump(t *testing.T) {
	theirs := pgtest.URL(t)
	dump := need(t, "pg_dump", "install Debian's postgresql-client")
	restore := need(t, "psql", "install Debian's postgresql-client")
	p := start(t, t.TempDir())
	c := p.client()
	host, port, cfg := sqlServers(t, p, theirs)
	run := func(env []string, program string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", program, args, err, out)
		}
	}
	bodies := map[string]string{
		"a:1": `{"kind":"x","n":1,"t":"tab\tquote'\"back\\ é 😀\nline"}`,
		"a:2": `{"kind":null,"n":1.50}`,
		"b:3": `{"n":12345678901234567890}`,
	}
	for _, db := range []struct {
		name, query, options string
	}{
		{"plain", "", ""},
		{"shop", "?partitioned=true&changes_shards=3", `"options":{"partitioned":false},`},
		{"parts", "?partitioned=true&changes_shards=2", ""},
	} {
		c.ok("PUT", "/"+db.name+db.query, "")
		c.ok("PUT", "/"+db.name+"/_design/by", `{`+db.options+`"views":{
			"kind":{"map":"function (doc) { emit(doc.kind, doc.n) }","reduce":"_sum"},
			"it's \"odd\"":{"map":"function (doc) { emit([doc.n], null) }"}},
			"sql":{"good":{"columns":{"n":"numeric"}},"twice":{"columns":{"id":"int"}},"typed":{"columns":{"n":"nosuch"}},
			"unbound":{"where":"nosuch = 1","columns":{"n":"int"}},"nothing":7}}`)
		c.ok("PUT", "/"+db.name+"/_local/checkpoint", `{"at":1}`)
		for id, body := range bodies {
			c.ok("PUT", "/"+db.name+"/"+id, body)
		}
		for _, kind := range []struct {
			name string
			rows int
		}{{"view", 0}, {"table", 3}} {
			to := cfg.Copy()
			to.Database = db.name + "_" + kind.name
			file := filepath.Join(t.TempDir(), "dump.sql")
			run([]string{"PGOPTIONS=-c divan.view_kind=" + kind.name}, dump, "--no-owner", "-h", host,
				"-p", port, "-U", "tester", "-f", file, db.name)
			psql := []string{"-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", cfg.Host, "-U", cfg.User, "-d"}
			run(nil, restore, append(slices.Clone(psql), "postgres", "-c", "CREATE DATABASE "+to.Database)...)
			run(nil, restore, append(slices.Clone(psql), to.Database, "-f", file)...)
			restored(t, to, bodies, kind.rows)
		}
		// Several connections read one snapshot.
		out := filepath.Join(t.TempDir(), "dir")
		run(nil, dump, "-Fd", "-j", "2", "-h", host, "-p", port, "-U", "tester", "-f", out, db.name)
		files, err := os.ReadDir(out)
		if err != nil || len(files) < 5 || files[len(files)-1].Name() != "toc.dat" {
			t.Errorf("a dump of %s into a directory: %v, %v", db.name, files, err)
		}
	}
}

// restored checks a database into which a dump was restored.
func restored(t *testing.T, to *pgx.ConnConfig, bodies map[string]string, viewRows int) {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for id, body := range bodies {
		var same bool
		err := conn.QueryRow(t.Context(),
			"SELECT doc - '_id' - '_rev' = $2::jsonb AND doc->>'_rev' = rev FROM docs WHERE id = $1",
			id, body).Scan(&same)
		if err != nil || !same {
			t.Errorf("%s: %s of the dump is not %s: %v", to.Database, id, body, err)
		}
	}
	for sql, want := range map[string]int{
		"SELECT count(*) FROM docs":                  len(bodies),
		"SELECT count(*) FROM design_docs":           1,
		"SELECT count(*) FROM changes":               len(bodies) + 1,
		"SELECT count(*) FROM local_docs":            1,
		`SELECT count(*) FROM "by".good WHERE n > 1`: 2,
		`SELECT count(*) FROM pg_class WHERE relnamespace = 'by'::regnamespace AND relkind = 'v'
			AND obj_description(oid, 'pg_class') LIKE 'the declaration is wrong: %'`: 4,
		`SELECT count(*) FROM "by".kind`:                                                   viewRows,
		`SELECT count(*) FROM "by"."it's ""odd"""`:                                         viewRows,
		"SELECT count(*) FROM pg_namespace WHERE nspname = 'divan'":                        0,
		"SELECT count(*) FROM pg_index WHERE indrelid = 'docs'::regclass AND indisprimary": 1,
	} {
		var n int
		if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil || n != want {
			t.Errorf("%s: %s: %d, %v, want %d", to.Database, sql, n, err, want)
		}
	}
}
