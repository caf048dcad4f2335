package e2e_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divandb/divan/query/pgtest"
)

// pg_dump of a database gives a file that PostgreSQL 15 restores: the documents as rows of jsonb, the views as empty
// views, or as tables with their rows.
func TestSQL_Dump(t *testing.T) {
	theirs := pgtest.URL(t)
	dump := need(t, "pg_dump", "install Debian's postgresql-client")
	restore := need(t, "psql", "install Debian's postgresql-client")
	p := start(t, t.TempDir())
	c := p.client()
	c.ok("PUT", "/shop?partitioned=true&changes_shards=3", "")
	c.ok("PUT", "/shop/_design/by", `{"options":{"partitioned":false},"views":{"kind":{"map":"function (doc) { emit(doc.kind, doc.n) }","reduce":"_sum"},`+
		`"it's \"odd\"":{"map":"function (doc) { emit([doc.n], null) }"}}}`)
	c.ok("PUT", "/shop/_design/within", `{"views":{"n":{"map":"function (doc) { emit(doc.n) }"}}}`)
	c.ok("PUT", "/shop/_local/checkpoint", `{"at":1}`)
	bodies := map[string]string{"a:1": `{"kind":"x","n":1,"t":"tab\tquote'\"back\\ é 😀\nline"}`, "a:2": `{"kind":null,"n":1.50}`, "b:3": `{"n":12345678901234567890}`}
	for id, body := range bodies {
		c.ok("PUT", "/shop/"+id, body)
	}
	host, port, err := net.SplitHostPort(p.ready["sql"])
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := pgx.ParseConfig(theirs)
	if err != nil {
		t.Fatal(err)
	}
	run := func(env []string, program string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", program, args, err, out)
		}
	}
	for _, kind := range []struct {
		name string
		rows int
	}{{"view", 0}, {"table", 3}} {
		file := filepath.Join(t.TempDir(), "dump.sql")
		run([]string{"PGOPTIONS=-c divan.view_kind=" + kind.name}, dump, "--no-owner", "-h", host, "-p", port, "-U", "tester", "-f", file, "shop")
		run(nil, restore, "-X", "-q", "-h", cfg.Host, "-U", cfg.User, "-d", "postgres", "-c", "CREATE DATABASE "+kind.name+"s")
		run(nil, restore, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", cfg.Host, "-U", cfg.User, "-d", kind.name+"s", "-f", file)

		to := cfg.Copy()
		to.Database = kind.name + "s"
		conn, err := pgx.ConnectConfig(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		for id, body := range bodies {
			var same bool
			if err := conn.QueryRow(t.Context(), "SELECT doc - '_id' - '_rev' = $2::jsonb AND doc->>'_rev' = rev FROM docs WHERE id = $1", id, body).Scan(&same); err != nil || !same {
				t.Errorf("%s of the dump is not %s: %v", id, body, err)
			}
		}
		for sql, want := range map[string]int{
			"SELECT count(*) FROM docs": len(bodies), "SELECT count(*) FROM design_docs": 2, "SELECT count(*) FROM changes": len(bodies) + 2,
			`SELECT count(*) FROM "within".n`: kind.rows,
			"SELECT count(*) FROM local_docs": 1, `SELECT count(*) FROM "by".kind`: kind.rows, `SELECT count(*) FROM "by"."it's ""odd"""`: kind.rows,
			"SELECT count(*) FROM pg_namespace WHERE nspname = 'divan'": 0, "SELECT count(*) FROM pg_index WHERE indrelid = 'docs'::regclass AND indisprimary": 1,
		} {
			var n int
			if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil || n != want {
				t.Errorf("%s, views as %ss: %d, %v, want %d", sql, kind.name, n, err, want)
			}
		}
	}
	// Several connections read one snapshot.
	out := filepath.Join(t.TempDir(), "dir")
	run(nil, dump, "-Fd", "-j", "2", "-h", host, "-p", port, "-U", "tester", "-f", out, "shop")
	if files, err := os.ReadDir(out); err != nil || len(files) < 5 || !strings.HasSuffix(files[len(files)-1].Name(), "toc.dat") {
		t.Errorf("a dump into a directory: %v, %v", files, err)
	}
}
