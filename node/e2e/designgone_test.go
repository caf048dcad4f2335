package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A JavaScript function builds the index of a large database, and the index is kept warm, when its design document is
// deleted or replaced, or its database is deleted. The work ends, no more rows are written, and the log has no warning.
func TestIndex_EndsWithItsDesignDocument(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	p := start(t, t.TempDir())
	c := p.client()
	const docs, batch = 30_000, 5000
	const slow = `{"views":{"v":{"map":"function (doc) { var x = %d; for (var i = 0; i < 20000; i++) x += i %% 7; emit(x, doc.n) }"}}`
	for name, remove := range map[string]func(rev string){
		"deleted": func(rev string) { c.ok("DELETE", "/deleted/_design/d?rev="+rev, "") },
		"changed": func(rev string) {
			c.ok("PUT", "/changed/_design/d", fmt.Sprintf(`{"_rev":"%s","views":{}}`, rev))
		},
		"database": func(string) { c.ok("DELETE", "/database", "") },
	} {
		c.ok("PUT", "/"+name, "")
		for i := 0; i < docs; i += batch {
			var text strings.Builder
			for j := i; j < i+batch; j++ {
				fmt.Fprintf(&text, `,{"_id":"doc-%06d","n":%d}`, j, j)
			}
			c.ok("POST", "/"+name+"/_bulk_docs", `{"docs":[`+text.String()[1:]+`]}`)
		}
		rev := c.object("PUT", "/"+name+"/_design/d", fmt.Sprintf(slow, 0)+"}")["rev"].(string)
		c.ok("GET", "/"+name+"/_design/d/_view/v?update=lazy", "")
		rows := func() (n float64) {
			var tasks []struct {
				Database string
				Rows     float64
			}
			c.into("/_active_tasks", &tasks)
			for _, task := range tasks {
				if task.Database == name {
					n += task.Rows
				}
			}
			return n
		}
		eventually(t, "the index is being built", 20*time.Second, func() bool { return rows() > 0 })
		remove(rev)
		eventually(t, name+": the build ends", 10*time.Second, func() bool {
			r := c.do("GET", "/_active_tasks", "")
			return !strings.Contains(string(r.body), `"`+name+`"`)
		})
		eventually(t, name+": the index is not kept warm", 20*time.Second, func() bool {
			return !strings.Contains(string(c.do("GET", "/_actors", "").body), `"warm:`+name) &&
				!strings.Contains(string(c.do("GET", "/_actors", "").body), `/database:`+name+`/`)
		})
		for line := range strings.Lines(p.stderr.whole()) {
			// The disk of the machine may be nearly full, which is none of the index's business.
			if (strings.Contains(line, `"WARN"`) || strings.Contains(line, `"ERROR"`)) &&
				!strings.Contains(line, `"event":"disk_low"`) {
				t.Errorf("%s: the log says\n%s", name, line)
			}
		}
	}
}
