package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A node whose clock is an hour wrong builds indexes, and is killed or asked to stop. Other nodes take its jobs at
// once.
func TestJobs_GoOnElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	c := newCluster(t, 3)
	c.binary = faultyBinary(t)
	// Node 1 gets jobs too, and node 2 can always take one.
	c.more = map[int]string{0: "views: {workers: 1}\n", 2: "views: {workers: 16}\n"}
	for i := range 3 {
		c.start(i)
	}
	one := c.nodes[0].client()
	one.ok("PUT", "/db", "")
	var text strings.Builder
	for j := range 3000 {
		fmt.Fprintf(&text, `,{"_id":"doc-%06d","n":%d}`, j, j)
	}
	one.ok("POST", "/db/_bulk_docs", `{"docs":[`+text.String()[1:]+`]}`)
	for n, ahead := range []string{"1h", "-1h"} {
		if err := os.WriteFile(filepath.Join(c.dir, "1", "clock"), []byte(ahead), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
			c.jobsGoOn(n, sig, ahead)
			c.start(1)
		}
	}
}

// jobsGoOn stops node 1 while it builds at least one index.
func (c *clusterOf) jobsGoOn(n int, sig syscall.Signal, ahead string) {
	t := c.t
	c.allAlive()
	one := c.nodes[0].client()
	conn := connect(t, c.nodes[0], "db", "me")
	held := func() (jobs int) {
		err := conn.QueryRow(t.Context(),
			`SELECT count(*) FROM divan.jobs WHERE state = 'running' AND worker = 'node1'`).Scan(&jobs)
		if err != nil {
			t.Fatal(err)
		}
		return jobs
	}
	designs := map[string]string{} // from path to revision
	for working := false; !working; {
		name := fmt.Sprintf("/db/_design/%d-%d-%d", n, sig, len(designs))
		const slow = `{"views":{"v":{"map":"function (doc) { var x = '%s'.length; ` +
			`for (var i = 0; i < 200000; i++) x += i %% 7; emit(x, doc.n) }"}}}`
		designs[name] = one.object("PUT", name, fmt.Sprintf(slow, name))["rev"].(string)
		one.ok("GET", name+"/_view/v?update=lazy", "")
		eventually(t, "a node works on the job", 60*time.Second, func() (begun bool) {
			err := conn.QueryRow(t.Context(),
				`SELECT count(*) >= $1, count(worker = 'node1' OR NULL) > 0 FROM divan.jobs
					WHERE state = 'running' AND progress IS NOT NULL`,
				len(designs)).Scan(&begun, &working)
			if err != nil {
				t.Fatal(err)
			}
			return begun || working
		})
	}
	began := time.Now()
	if err := c.nodes[1].cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	eventually(t, "other nodes take its jobs", time.Minute, func() bool { return held() == 0 })
	t.Logf("%v after %v, with a clock that is wrong by %s", time.Since(began), sig, ahead)
	c.nodes[1].wait(2 * stopTimeout)
	for name, rev := range designs {
		one.ok("DELETE", name+"?rev="+rev, "")
	}
	eventually(t, "the builds end with their design documents", time.Minute, func() (ended bool) {
		err := conn.QueryRow(t.Context(), `SELECT count(*) = 0 FROM divan.jobs WHERE state = 'running'`).Scan(&ended)
		return err == nil && ended
	})
}

// Builds that take long let others have the node's workers in turn, those of other databases first, and then go on
// where they were. They end a batch of very slow documents early for that.
func TestJobs_Turns(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	mostlyWaits(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "node.yaml"), []byte("views: {workers: 2}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir)
	c := p.client()
	var docs strings.Builder
	for j := range 1000 {
		fmt.Fprintf(&docs, `,{"_id":"doc-%06d","n":%d}`, j, j)
	}
	for _, db := range []string{"/slow", "/quick"} {
		c.ok("PUT", db, "")
		c.ok("POST", db+"/_bulk_docs", `{"docs":[`+docs.String()[1:]+`]}`)
	}
	conn := connect(t, p, "slow", "me")
	count := func(of string) (n int) {
		t.Helper()
		err := conn.QueryRow(t.Context(), "SELECT "+of+" FROM divan.jobs WHERE id LIKE 'slow/%'").Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i := range 4 {
		slow := fmt.Sprintf(`function (doc) { for (var i = 0, x = %d; i < 1e6; i++) x += i %% 7; emit(doc.n, x) }`, i)
		c.ok("PUT", fmt.Sprintf("/slow/_design/%d", i), `{"views":{"v":{"map":"`+slow+`"}}}`)
		c.ok("GET", fmt.Sprintf("/slow/_design/%d/_view/v?update=lazy", i), "")
	}
	eventually(t, "two slow builds have begun", time.Minute, func() bool { return count("count(progress)") == 2 })
	c.ok("PUT", "/quick/_design/d", `{"views":{"v":{"map":"function (doc) { if (doc.n % 100 === 0) emit(doc.n) }"}}}`)
	if rows := c.object("GET", "/quick/_design/d/_view/v", "")["rows"].([]any); len(rows) != 10 {
		t.Errorf("%d rows", len(rows))
	}
	if n := count("count(progress)"); n > 3 {
		t.Errorf("%d slow builds had a worker before the quick one", n)
	}
	const done = "coalesce(sum((progress->>'changes_done')::int), 0)::int"
	before := count(done)
	if before == 0 || before >= 4000 {
		t.Errorf("when the quick build is done, the slow ones have %d documents", before)
	}
	eventually(t, "all slow builds go on", 2*time.Minute, func() bool {
		return count("count(progress)") == 4 && count(done) > before
	})
	c.ok("DELETE", "/slow", "")
	p.stop(syscall.SIGTERM)
}
