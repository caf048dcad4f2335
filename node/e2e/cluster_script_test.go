package e2e_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// pidOf returns the process that the script runs with that node.yaml.
func pidOf(t *testing.T, settings string) int {
	t.Helper()
	out, err := exec.Command("ps", "-eo", "pid=,args=").Output()
	if err != nil {
		t.Skipf("there is no ps: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 4 && fields[2] == "-config" && fields[3] == settings {
			pid, err := strconv.Atoi(fields[0])
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("no process runs with %s", settings)
	return 0
}

// scripts/cluster 3 as a user runs it: the nodes find each other by gossip, any of them serves any request over HTTP
// and SQL, one is killed and started again while documents are written and a feed is read, and Ctrl-C stops all. On the
// embedded engine node1 has the store. On FoundationDB no node does.
func TestCluster_script(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	need(t, "bash", "scripts/cluster is written for it")
	need(t, "setsid", "it is in util-linux")
	dir := t.TempDir()
	script := exec.Command("../../scripts/cluster", "3", dir)
	script.Env = append(withoutDivan(os.Environ()), "DIVAN_BINARY="+divan,
		fmt.Sprintf("HTTP_PORT=%d", portsInRow(t, 0, 1, 2)), fmt.Sprintf("SQL_PORT=%d", portsInRow(t, 0, 1, 2)),
		fmt.Sprintf("GOSSIP_PORT=%d", 1+portsInRow(t, 0, 1, 2, 11, 12, 21, 22)))
	engines := []string{"embedded", "remote", "remote"}
	if testCluster != "" {
		script.Env = append(script.Env, "DIVAN_CLUSTER_FILE="+testCluster)
		engines = []string{"fdb", "fdb", "fdb"}
	}
	stdout := newLines()
	script.Stdout, script.Stderr = stdout, os.Stderr
	if err := script.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- script.Wait(); stdout.end() }()
	t.Cleanup(func() { _ = script.Process.Signal(syscall.SIGTERM) })

	var nodes [3]*process // started by the script: only their ready lines are known
	for i := range nodes {
		nodes[i] = &process{t: t, stdout: stdout}
		nodes[i].waitReady()
		if want := fmt.Sprintf("node%d", i+1); nodes[i].ready["name"] != want ||
			nodes[i].ready["engine"] != engines[i] {
			t.Fatalf("%v is not %s on %s", nodes[i].ready, want, engines[i])
		}
	}
	const all = "node1 alive, node2 alive, node3 alive"
	c := &clusterOf{t: t, nodes: nodes[:]}
	for i := range nodes {
		eventually(t, "every node sees every other", 20*time.Second, func() bool { return c.statuses(i) == all })
	}
	clients := []*client{nodes[0].client(), nodes[1].client(), nodes[2].client()}
	db := fmt.Sprintf("script%d", time.Now().UnixNano()) // the directory in FoundationDB may not be new
	clients[2].ok("PUT", "/"+db+"?changes_shards=2", "")
	feed := clients[0].stream("/" + db + "/_changes?feed=continuous&heartbeat=1000")
	defer feed.Close()
	var seen sync.Map
	var rows atomic.Int64
	id := regexp.MustCompile(`"id":"([^"]*)"`)
	go func() {
		for lines := bufio.NewScanner(feed); lines.Scan(); {
			if m := id.FindStringSubmatch(lines.Text()); m != nil {
				seen.Store(m[1], true)
				rows.Add(1)
			}
		}
	}()

	// Writers use the first and the third node, and the second one is killed.
	var acked sync.Map
	var count atomic.Int64
	var writers sync.WaitGroup
	stop := make(chan struct{})
	for _, w := range []int{0, 2} {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				doc := fmt.Sprintf("w%d-%06d", w, i)
				r, err := clients[w].try("PUT", "/"+db+"/"+doc, `{}`)
				if err != nil || r.status != 201 {
					t.Errorf("a writer on node%d gets %d %s, %v", w+1, r.status, r.body, err)
					return
				}
				acked.Store(doc, true)
				count.Add(1)
			}
		})
	}
	more := func(what string) {
		reached := count.Load()
		eventually(t, what, 20*time.Second, func() bool { return count.Load() > reached+50 })
	}
	more("writes continue")
	settings := filepath.Join(dir, "2", "node.yaml")
	if err := killProcess(pidOf(t, settings)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the others see that node2 has gone", 20*time.Second, func() bool {
		return strings.Contains(c.statuses(0), "node2 left")
	})
	more("writes continue without node2")
	again := launch(t, filepath.Dir(settings), "-config", settings) // its node.yaml says which store it uses
	again.waitReady()
	c.nodes[1] = again
	for i := range nodes {
		eventually(t, "node2 is back", 20*time.Second, func() bool { return c.statuses(i) == all })
	}
	more("writes continue with node2")
	close(stop)
	writers.Wait()
	clients[1] = again.client()
	clients[1].ok("PUT", "/"+db+"/last", `{"n":7}`)
	eventually(t, "the feed has every document", 20*time.Second, func() bool {
		missing := 0
		acked.Range(func(doc, _ any) bool {
			if _, ok := seen.Load(doc); !ok {
				missing++
			}
			return true
		})
		_, last := seen.Load("last")
		return missing == 0 && last
	})
	if rows.Load() != count.Load()+1 {
		t.Errorf("the feed has %d rows for %d documents", rows.Load(), count.Load()+1)
	}
	for i, node := range c.nodes {
		if got := clients[i].object("GET", "/"+db, "")["doc_count"]; fmt.Sprint(got) != fmt.Sprint(count.Load()+1) {
			t.Errorf("node%d counts %v documents, want %d", i+1, got, count.Load()+1)
		}
		var n int64
		if err := connect(t, node, db, "me").QueryRow(t.Context(), `SELECT count(*) FROM docs`).Scan(&n); err != nil ||
			n != count.Load()+1 {
			t.Errorf("SQL on node%d counts %d, %v", i+1, n, err)
		}
	}
	clients[0].ok("DELETE", "/"+db, "")
	again.stop(syscall.SIGTERM)
	if err := script.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the script ends with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the script did not end")
	}
	for _, i := range []int{0, 2} { // node2 does not belong to the script any more
		if r, err := clients[i].try("GET", "/", ""); err == nil {
			t.Errorf("node%d still answers %d", i+1, r.status)
		}
	}
	const killed = "node2 has ended (signal: killed); the others go on without it"
	if rest := strings.TrimSpace(stdout.rest()); rest != killed {
		t.Errorf("after the ready lines: %q, want %q", rest, killed)
	}
}
