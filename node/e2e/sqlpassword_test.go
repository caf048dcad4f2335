package e2e_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// psql's \password changes a user's own password, for SQL and HTTP. An admin can change anyone's, and other users only
// their own.
func TestSQL_ChangePassword(t *testing.T) {
	p, admin := sqlUsers(t)
	host, port, err := net.SplitHostPort(p.ready["sql"])
	if err != nil {
		t.Fatal(err)
	}
	opens := func(user, password string, want bool) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(),
			fmt.Sprintf("postgres://%s:%s@%s/db?sslmode=disable", user, password, p.ready["sql"]))
		if (err == nil) != want {
			t.Errorf("%s over sql with %s: %v", user, password, err)
		}
		if conn != nil {
			conn.Close(t.Context())
		}
		if clear, err := url.PathUnescape(password); err != nil {
			t.Fatal(err)
		} else if r := p.as(user+":"+clear).do("GET", "/db", ""); (r.status == 200) != want {
			t.Errorf("%s over http with %s: %d", user, password, r.status)
		}
	}
	// Without a terminal psql reads the password twice from its standard input.
	cmd := exec.CommandContext(t.Context(), "setsid", "-w", need(t, "psql", "install Debian's postgresql-client"),
		"-X", "-v", "ON_ERROR_STOP=1", "-h", host, "-p", port, "-U", "jan", "-d", "db", "-c", `\password`)
	cmd.Env = append(os.Environ(), "PGPASSWORD=relax")
	cmd.Stdin = strings.NewReader("fresh é\nfresh é\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	opens("jan", "relax", false)
	opens("jan", "fresh%20%C3%A9", true)
	doc := admin.object("GET", "/_users/org.couchdb.user:jan", "")
	if doc["derived_key"] != nil || doc["password_scheme"] != "scram-sha-256" || fmt.Sprint(doc["roles"]) != "[dev]" {
		t.Errorf("the document is %v", doc)
	}

	eve, root := connect(t, p, "db", "eve:relax"), connect(t, p, "db", "root:sesame")
	const verifier = "SCRAM-SHA-256$4096:c2FsdHNhbHRzYWx0c2FsdA==$AAAA:AAAA"
	for _, c := range []struct {
		conn      *pgx.Conn
		sql, code string
	}{
		{eve, "ALTER USER jan PASSWORD 'x'", "42501"},
		{eve, "ALTER USER root PASSWORD 'x'", "42501"},
		{eve, "ALTER USER nobody PASSWORD 'x'", "42501"},
		{eve, "ALTER USER eve PASSWORD ''", "22023"},
		{eve, "ALTER USER eve PASSWORD 'md5aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", "22023"},
		{eve, "ALTER USER eve PASSWORD '" + verifier + "'", "22023"},
		{eve, "ALTER USER eve PASSWORD NULL", "0A000"},
		{eve, "ALTER USER eve SUPERUSER", "0A000"},
		{eve, "ALTER ROLE CURRENT_USER WITH ENCRYPTED PASSWORD 'mine'", ""},
		{root, "ALTER USER nobody PASSWORD 'x'", "42704"},
		{root, "ALTER USER jan PASSWORD 'plain'", ""},
		{root, "ALTER USER root PASSWORD 'sesame2'", ""},
	} {
		if _, err := c.conn.Exec(t.Context(), c.sql); sqlCode(err) != c.code {
			t.Errorf("%s: %v, want %q", c.sql, err, c.code)
		}
	}
	tx, err := eve.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "ALTER USER eve PASSWORD 'x'"); sqlCode(err) != "25001" {
		t.Errorf("in a transaction: %v", err)
	}
	var shown int
	err = root.QueryRow(t.Context(),
		"SELECT count(*) FROM divan.sessions WHERE statement LIKE '%mine%' OR statement LIKE '%plain%'").Scan(&shown)
	if err != nil || shown > 1 { // 1 is this session
		t.Errorf("%d sessions show passwords, %v", shown, err)
	}
	opens("jan", "plain", true)
	opens("jan", "fresh%20%C3%A9", false)
	opens("eve", "mine", true)
	opens("eve", "relax", false)
	opens("root", "sesame2", true)
	opens("root", "sesame", false)
}

// Rules for passwords hold for ALTER USER as over HTTP. A verifier, which cannot be checked, is refused while there are
// any, but not for admins, to whom they do not apply.
func TestSQL_PasswordRules(t *testing.T) {
	const verifier = "SCRAM-SHA-256$4096:c2FsdHNhbHRzYWx0c2FsdA==$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:" +
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	const rule = "/_node/_local/_config/chttpd_auth/password_regexp"
	p, admin := sqlUsers(t)
	admin.ok("PUT", rule, `"[{\".{10,}\", \"At least 10 characters.\"}]"`)
	eve, root := connect(t, p, "db", "eve:relax"), connect(t, p, "db", "root:sesame")
	const short = "Password does not conform to requirements. At least 10 characters."
	for _, c := range []struct {
		conn                     *pgx.Conn
		user, secret, code, text string
	}{
		{eve, "eve", "short", "22023", short},
		{root, "eve", "short", "22023", short},
		{eve, "eve", verifier, "22023", "a SCRAM-SHA-256 verifier is refused while there are rules for passwords"},
		{root, "jan", verifier, "22023", "a SCRAM-SHA-256 verifier is refused while there are rules for passwords"},
		{root, "root", "brief", "", ""},
		{eve, "eve", "long enough", "", ""},
	} {
		_, err := c.conn.Exec(t.Context(), "ALTER USER "+c.user+" PASSWORD '"+c.secret+"'")
		var pe *pgconn.PgError
		if errors.As(err, &pe); sqlCode(err) != c.code || pe != nil && pe.Message != c.text ||
			c.secret == verifier && !strings.Contains(pe.Hint, "over TLS") {
			t.Errorf("%s gets %s: %+v, want %s %q", c.user, c.secret, err, c.code, c.text)
		}
	}
	p.as("root:brief").ok("PUT", rule, `""`)
	if _, err := root.Exec(t.Context(), "ALTER USER jan PASSWORD '"+verifier+"'"); err != nil {
		t.Errorf("without rules: %v", err)
	}
}
