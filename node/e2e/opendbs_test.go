package e2e_test

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// reasonsUntil polls /_up until ok accepts its reasons about open databases.
func (c *client) reasonsUntil(what string, ok func([]string) bool) {
	c.t.Helper()
	eventually(c.t, what, time.Minute, func() bool {
		var up struct{ Reasons []string }
		if err := json.Unmarshal(c.do("GET", "/_up", "").body, &up); err != nil {
			c.t.Fatal(err)
		}
		return ok(slices.DeleteFunc(up.Reasons, func(r string) bool {
			return !strings.HasPrefix(r, "open_databases: ")
		}))
	})
}

// Databases created before there was an admin are reported until their _security is set. Later ones are closed.
func TestHTTP_OpenDatabases(t *testing.T) {
	mostlyWaits(t)
	dir := t.TempDir()
	p := start(t, dir)
	c := p.client()
	for _, db := range []string{"/early", "/earlier", "/decided"} {
		c.ok("PUT", db, "")
	}
	c.ok("PUT", "/decided/_security", `{"members":{"names":["jan"]}}`)
	none := func(reasons []string) bool { return len(reasons) == 0 }
	count := func(text string) func([]string) bool {
		return func(reasons []string) bool {
			return len(reasons) == 1 && strings.HasPrefix(reasons[0], "open_databases: "+text)
		}
	}
	c.reasonsUntil("without an admin", none)
	c.ok("PUT", "/_node/_local/_config/admins/root", `"sesame"`)
	c.reasonsUntil("after the first admin", count("2 databases were "))
	p.stop(syscall.SIGTERM)

	p = start(t, dir)
	admin, nobody := p.as("root:sesame"), p.client()
	nobody.reasonsUntil("after a start", count("2 databases were "))
	if log := p.stderr.whole(); !strings.Contains(log, "earlier, early") {
		t.Errorf("the log does not name them: %s", log)
	}
	if text := string(nobody.do("GET", "/_up", "").body); strings.Contains(text, "early") {
		t.Errorf("everyone can read their names: %s", text)
	}
	if text := string(admin.do("GET", "/_dashboard/api/overview", "").body); !strings.Contains(text, "earlier, early") {
		t.Errorf("the dashboard does not name them: %.2000s", text)
	}
	admin.ok("PUT", "/late", "")
	if r := nobody.do("GET", "/late", ""); r.status != 401 {
		t.Errorf("a new database answers %d", r.status)
	}
	admin.ok("PUT", "/early/_security", `{}`)
	nobody.reasonsUntil("after one is left open on purpose", count("1 database was "))
	admin.ok("PUT", "/earlier/_security", `{"members":{"roles":["_admin"]}}`)
	nobody.reasonsUntil("after the other is closed", none)
}
