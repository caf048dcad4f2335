package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divandb/divan/query/pgtest"
	"github.com/divandb/divan/scripts/fixtures"
)

// sqlClient is a script in testdata/clients that uses a client library as applications do. Each of its checks prints a
// line with a name and a result. On a PostgreSQL 15 that has the documents and the rows of the views in tables, the
// results are the same except for those in differs.
type sqlClient struct {
	script string
	// args come before the script.
	args []string
	// onlyTCP is set for a client that cannot use a socket in a directory, where PostgreSQL listens.
	onlyTCP bool
	// probe is a command that fails if the client is not installed, from packages of Debian.
	probe    []string
	packages string
	// differs has the checks with different results, with the reason.
	differs map[string]string
}

var (
	debianPython = "/usr/bin/python3"
	debianRuby   = "/usr/bin/ruby"
	pgjdbc       = "/usr/share/java/postgresql.jar"
)

func pythonClient(name, module string) sqlClient {
	return sqlClient{script: name + "_client.py", probe: []string{debianPython, "-c", "import " + module},
		packages: "python3-" + module}
}

func nodeClient(name string) sqlClient {
	return sqlClient{script: name + "_client.js", probe: []string{"node", "--version"}, packages: "nodejs"}
}

var sqlClients = []sqlClient{
	pythonClient("psycopg2", "psycopg2"),
	pythonClient("psycopg3", "psycopg"),
	pythonClient("asyncpg", "asyncpg"),
	pythonClient("sqlalchemy", "sqlalchemy"),
	pythonClient("django", "django"),
	{script: "odbc_client.py",
		probe: []string{debianPython, "-c",
			"import pyodbc; assert [d for d in pyodbc.drivers() if 'PostgreSQL' in d]"},
		packages: "python3-pyodbc odbc-postgresql"},
	{script: "pgcli_client.py", probe: []string{debianPython, "-c", "import pgcli"}, packages: "pgcli"},
	{script: "pg_client.rb", probe: []string{debianRuby, "-e", "require 'pg'; require 'sequel'"},
		packages: "ruby-pg ruby-sequel"},
	{script: "activerecord_client.rb", probe: []string{debianRuby, "-e", "require 'active_record'; require 'pg'"},
		packages: "ruby-activerecord ruby-pg"},
	{script: "dbi_client.pl", probe: []string{"perl", "-MDBD::Pg", "-e", "1"}, packages: "libdbd-pg-perl"},
	{script: "pdo_client.php", probe: []string{"php", "-r", "exit(extension_loaded('pdo_pgsql') ? 0 : 1);"},
		packages: "php-cli php-pgsql"},
	nodeClient("pg"), nodeClient("postgresjs"), nodeClient("knex"), nodeClient("sequelize"), nodeClient("typeorm"),
	nodeClient("drizzle"),
	nodeClient("prisma"),
	{script: "JdbcClient.java", onlyTCP: true,
		args:     []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", pgjdbc},
		probe:    []string{"java", "-m", "jdk.jdeps/com.sun.tools.javap.Main", "-cp", pgjdbc, "org.postgresql.Driver"},
		packages: "default-jdk-headless libpostgresql-jdbc-java"},
}

func TestSQL_Clients(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	theirs := pgtest.URL(t)
	cert, key, _ := certificate(t)
	p := start(t, t.TempDir(), "-admin", "tester:sesame", "-config",
		writeYAML(t, fmt.Sprintf("auth: {iterations: 4096}\nsql: {tls: {cert: %q, key: %q}}\n", cert, key)))
	sqlClientCities(t, p, theirs)
	host, port, cfg := sqlServers(t, p, theirs)
	servers := [2][]string{
		{"PGHOST=" + host, "PGPORT=" + port, "PGUSER=tester", "PGPASSWORD=sesame", "PGDATABASE=cities"},
		{"PGHOST=" + cfg.Host, "PGPORT=" + strconv.Itoa(int(cfg.Port)), "PGUSER=" + cfg.User, "PGDATABASE=cities",
			"PGSSLMODE=disable"},
	}
	t.Run("lib/pq", func(t *testing.T) {
		t.Parallel()
		mine := fmt.Sprintf("host=%s port=%s user=tester password=sesame dbname=cities sslmode=verify-full "+
			"sslrootcert=%s",
			host, port, cert)
		his := fmt.Sprintf("host=%s port=%d user=%s dbname=cities sslmode=disable", cfg.Host, cfg.Port, cfg.User)
		(&sqlClient{}).compare(t, libpq(t, mine), libpq(t, his))
	})
	for i, c := range sqlClients {
		t.Run(c.script, func(t *testing.T) {
			t.Parallel()
			c.both(t, servers, loginMode(cert, i), cfg)
		})
	}
}

// loginMode returns the environment for one of the ways to log in with a password: in plain text, over TLS, or over TLS
// with the certificate checked and the login bound to it.
func loginMode(cert string, i int) []string {
	return [][]string{
		{"PGSSLMODE=verify-full", "PGSSLROOTCERT=" + cert, "NODE_EXTRA_CA_CERTS=" + cert,
			"PGCHANNELBINDING=require"},
		{"PGSSLMODE=require", "NODE_EXTRA_CA_CERTS=" + cert},
		{"PGSSLMODE=disable"},
	}[i%3]
}

// both runs the script against a node, with mode, and against PostgreSQL, and compares the results.
func (c *sqlClient) both(t *testing.T, servers [2][]string, mode []string, cfg *pgx.ConnConfig) {
	t.Helper()
	c.installed(t)
	var found [2][]string
	var wg sync.WaitGroup
	for i, env := range servers {
		if i == 0 {
			env = slices.Concat(env, mode)
		} else if c.onlyTCP {
			host, port := overTCP(t, cfg.Host, cfg.Port)
			env = slices.Concat(env, []string{"PGHOST=" + host, "PGPORT=" + port})
		}
		wg.Go(func() { found[i] = c.run(t, env) })
	}
	wg.Wait()
	c.compare(t, found[0], found[1])
}

// sqlServers returns where the SQL gateway of a node listens, and a PostgreSQL.
func sqlServers(t *testing.T, p *process, theirs string) (host, port string, cfg *pgx.ConnConfig) {
	t.Helper()
	host, port, err := net.SplitHostPort(p.ready["sql"])
	if err != nil {
		t.Fatal(err)
	}
	if cfg, err = pgx.ParseConfig(theirs); err != nil {
		t.Fatal(err)
	}
	return host, port, cfg
}

// installed skips the test if the client is not installed.
func (c *sqlClient) installed(t *testing.T) {
	t.Helper()
	if err := exec.CommandContext(t.Context(), c.probe[0], c.probe[1:]...).Run(); err != nil {
		skip(t, "%s: %v; install Debian's %s", c.probe[0], err, c.packages)
	}
}

// run runs the script against one server and returns its lines.
func (c *sqlClient) run(t *testing.T, env []string) []string {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.probe[0], append(slices.Clone(c.args), c.script)...)
	cmd.Dir = filepath.Join("testdata", "clients")
	cmd.Env = append(append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1"), env...)
	if c.probe[0] == "node" {
		modules, err := fixtures.Modules()
		if err != nil {
			t.Errorf("npm packages: %v", err)
			return nil
		}
		cmd.Env = append(cmd.Env, "NODE_PATH="+modules)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v: %v\n%s%s", env, err, out, &stderr)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// brokenCheck matches the errors of checks that are wrong themselves, which would be the same on both servers.
var brokenCheck = regexp.MustCompile(
	`\b(TypeError|ReferenceError|NameError|AttributeError|KeyError|NoMethodError)\b|error java\.`)

func (c *sqlClient) compare(t *testing.T, got, want []string) {
	if len(got) != len(want) {
		t.Errorf("%d checks, %d on PostgreSQL", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		name, _, _ := strings.Cut(want[i], "\t")
		if brokenCheck.MatchString(want[i]) {
			t.Errorf("the check fails on PostgreSQL:\n%s", want[i])
		}
		switch differs := c.differs[name] != ""; {
		case got[i] != want[i] && !differs:
			t.Errorf("got\n%s\nwant\n%s", got[i], want[i])
		case got[i] == want[i] && differs:
			t.Errorf("%s: no longer different", name)
		}
	}
}

// sqlClientCities writes some thousand cities and four views into a database of the node, with partitions and shards,
// and the same rows into tables of a PostgreSQL database.
func sqlClientCities(t *testing.T, p *process, theirs string) {
	t.Helper()
	all := cities(t)
	var docs []map[string]any
	for i := 0; i < len(all); i += 50 {
		c, n := all[i], i/50
		lat, _ := strconv.ParseFloat(c.Lat, 64)
		lng, _ := strconv.ParseFloat(c.Lng, 64)
		docs = append(docs, map[string]any{"_id": fmt.Sprintf("%s:%d", strings.ToLower(c.Country), n), "name": c.Name,
			"country": c.Country,
			"admin1":  c.Admin1, "lat": lat, "lng": lng, "n": n, "big": n%7 == 0, "tags": []any{c.Country, n % 5},
			"nested": map[string]any{"a": map[string]any{"b": n % 10}, "s": fmt.Sprintf("x%d", n%3)}})
	}
	docs = append(docs, map[string]any{"_id": "odd:1", "n": nil, "s": "a \"quoted\" \\ back\nline\ttab", "u": "é😀"},
		map[string]any{"_id": "odd:2", "n": 1e100, "arr": []any{}, "obj": map[string]any{}},
		map[string]any{"_id": `odd:'q"`, "at": "2024-01-01T00:00:00Z"})
	client := p.as("tester:sesame").patient()
	client.ok("PUT", "/cities?partitioned=true&changes_shards=3", "")
	if err := load(t, client, "cities", docs, func(row bulkRow) {
		if row.Error != "" {
			t.Errorf("%s: %s", row.ID, row.Reason)
		}
	}); err != nil {
		t.Fatal(err)
	}
	views := map[string]any{
		"country": map[string]any{"map": "function (doc) { if (doc.country) emit(doc.country, doc.n) }",
			"reduce": "_sum"},
		"name": map[string]any{"map": "function (doc) { if (doc.name) emit(doc.name, null) }"},
		"place": map[string]any{"map": "function (doc) { if (doc.country) emit([doc.country, doc.admin1, doc.name], " +
			"{lat: doc.lat, lng: doc.lng}) }", "reduce": "_count"},
		"n": map[string]any{"map": "function (doc) { emit(doc.n, doc._id) }", "reduce": "_stats"},
	}
	client.ok("PUT", "/cities/_design/by", encode(t, map[string]any{"views": views,
		"options": map[string]any{"partitioned": false}}))

	admin, err := pgx.Connect(t.Context(), theirs)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.Background())
	if _, err := admin.Exec(t.Context(), "CREATE DATABASE cities"); err != nil {
		t.Fatal(err)
	}
	cfg, err := pgx.ParseConfig(theirs)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Database = "cities"
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	table := func(name pgx.Identifier, columns []string, path string, row func(r viewRow) []any) {
		t.Helper()
		var answer viewAnswer
		client.into(path, &answer)
		var rows [][]any
		for _, r := range answer.Rows {
			if !strings.HasPrefix(r.ID, "_design/") {
				rows = append(rows, row(r))
			}
		}
		if n, err := conn.CopyFrom(t.Context(), name, columns, pgx.CopyFromRows(rows)); err != nil || n < 3000 {
			t.Fatalf("%s: %d rows, %v", name, n, err)
		}
	}
	if _, err := conn.Exec(t.Context(),
		`CREATE TABLE docs (id text PRIMARY KEY, rev text, doc jsonb NOT NULL); CREATE SCHEMA "by"`); err != nil {
		t.Fatal(err)
	}
	bodies := map[string]json.RawMessage{}
	var answer struct {
		Rows []struct {
			ID    string
			Value struct{ Rev string }
			Doc   json.RawMessage
		}
	}
	client.into("/cities/_all_docs?include_docs=true", &answer)
	var rows [][]any
	for _, r := range answer.Rows {
		bodies[r.ID] = r.Doc
		if !strings.HasPrefix(r.ID, "_design/") {
			rows = append(rows, []any{r.ID, r.Value.Rev, r.Doc})
		}
	}
	if _, err := conn.CopyFrom(t.Context(), pgx.Identifier{"docs"}, []string{"id", "rev", "doc"},
		pgx.CopyFromRows(rows)); err != nil {
		t.Fatal(err)
	}
	for name := range views {
		if _, err := conn.Exec(t.Context(),
			`CREATE TABLE "by".`+name+` (id text, key jsonb, value jsonb, doc jsonb)`); err != nil {
			t.Fatal(err)
		}
		table(pgx.Identifier{"by", name}, []string{"id", "key", "value", "doc"},
			"/cities/_design/by/_view/"+name+"?reduce=false",
			func(r viewRow) []any { return []any{r.ID, r.Key, r.Value, bodies[r.ID]} })
	}
}
