package e2e_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// promised is far longer than a change takes to reach a feed while its shard's actor or its node's store is faulty,
// which is a second or so, and still finite.
const promised = 8 * time.Second

// faultyBinary builds the binary with actors that fail on request (actors/internal/runtime/fault_on.go).
func faultyBinary(t *testing.T) string {
	t.Helper()
	file, err := buildFaulty()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

var buildFaulty = sync.OnceValues(func() (string, error) {
	file := filepath.Join(built, "divan-faults")
	build := exec.Command("go", "build", "-tags", "faults", "-o", file, "../cmd/divan")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if testCluster != "" {
		build = exec.Command("go", "build", "-tags", "faults,fdb", "-o", file, "../cmd/divan")
	}
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return file, nil
})

// ownedBy creates databases until one of them has its shard on node i.
func (c *clusterOf) ownedBy(i int) (name string) {
	c.t.Helper()
	for n := 0; ; n++ {
		db := fmt.Sprint("db", n)
		c.nodes[0].client().ok("PUT", "/"+db, "")
		eventually(c.t, "two nodes agree on the placement", 10*time.Second, func() bool {
			return c.shardOwner(0, db) == c.shardOwner(1, db)
		})
		if c.shardOwner(0, db) == fmt.Sprint("node", i) {
			return db
		}
	}
}

// feeds are continuous feeds of a database, by node. Documents are written to node 0.
type feeds struct {
	c       *clusterOf
	db      string
	lines   map[int]*lines
	n       int
	longest time.Duration
}

func (c *clusterOf) feeds(db string, nodes ...int) *feeds {
	c.t.Helper()
	f := &feeds{c: c, db: db, lines: map[int]*lines{}}
	for _, i := range nodes {
		f.lines[i] = c.feedLines(i, "/"+db+"/_changes?feed=continuous&heartbeat=60000")
	}
	return f
}

// hear writes documents, one after the other, and waits for each on every feed.
func (f *feeds) hear(documents int, what string) {
	t := f.c.t
	t.Helper()
	f.longest = 0
	for range documents {
		time.Sleep(50 * time.Millisecond) // the fault occurs at several moments
		f.n++
		id := fmt.Sprintf("doc%d", f.n)
		f.c.nodes[0].client().ok("PUT", "/"+f.db+"/"+id, "{}")
		began := time.Now()
		for i, l := range f.lines {
			for {
				line, err := l.next(promised)
				if err != nil {
					t.Fatalf("%s: %s does not reach the feed on node%d: %v", what, id, i, err)
				}
				if strings.Contains(line, `"`+id+`"`) {
					break
				}
			}
		}
		f.longest = max(f.longest, time.Since(began))
	}
	t.Logf("%s: the longest of %d changes took %v", what, documents, f.longest)
}

// following waits until the feeds' nodes follow another one.
func (f *feeds) following(nodes ...int) {
	f.c.t.Helper()
	f.followingWithin(10*time.Second, nodes...)
}

func (f *feeds) followingWithin(atMost time.Duration, nodes ...int) {
	f.c.t.Helper()
	for _, i := range nodes {
		eventually(f.c.t, fmt.Sprintf("node%d follows", i), atMost, func() bool {
			return strings.Contains(string(f.c.nodes[i].client().do("GET", "/_actors", "").body), `"state":"following"`)
		})
	}
}

// The actor that all feeds of a shard depend on panics again and again, or hangs, and so do its ancestors. Feeds on all
// nodes continue, including its own, and its node reports the fault in /_up.
func TestFeeds_TheActorFails(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two minutes")
	}
	mostlyWaits(t)
	c := newCluster(t, 3)
	c.binary = faultyBinary(t)
	for i := range 3 {
		c.start(i)
	}
	c.allAlive()
	f := c.feeds(c.ownedBy(2), 0, 1, 2)
	f.following(0, 1)
	f.hear(3, "with all well")
	faults := filepath.Join(c.dir, "2", "faults")
	for _, what := range []string{"panic shard", "hang shard", "panic exchange", "hang exchange", "panic database",
		"panic databases", "hang node"} {
		if err := os.WriteFile(faults, []byte(what), 0o600); err != nil {
			t.Fatal(err)
		}
		f.hear(20, "with "+what)
		if what == "panic shard" {
			eventually(t, "the node is degraded", 10*time.Second, func() bool {
				r := c.nodes[2].client().do("GET", "/_up", "")
				return r.status == 200 && strings.Contains(string(r.body), `"degraded"`) &&
					strings.Contains(string(r.body), "actor_failing: ")
			})
		}
		if err := os.Remove(faults); err != nil {
			t.Fatal(err)
		}
		f.hear(3, "after "+what)
	}
	// The node has handed its shard over, until a minute after the shard's last failure.
	f.followingWithin(90*time.Second, 0, 1)
	f.hear(3, "with all well again")
}

// The node that feeds on others depend on loses its connection to the store: it is silent, or it is cut and cannot be
// restored.
func TestFeeds_TheOwnersStoreIsOutOfReach(t *testing.T) {
	needEmbedded(t)
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	mostlyWaits(t)
	c := newCluster(t, 3)
	way := newBrokenWay(t, c.store)
	c.storage = map[int]string{2: fmt.Sprintf("{engine: remote, address: '%s', secret: 'a shared secret', timeout: 1m}",
		way.addr())}
	for i := range 3 {
		c.start(i)
	}
	c.allAlive()
	f := c.feeds(c.ownedBy(2), 0, 1)
	f.following(0, 1)
	f.hear(3, "with all well")
	way.set(wayStalled)
	f.hear(20, "with a silent connection")
	way.set(wayOpen)
	f.following(0, 1)
	f.hear(3, "with the connection back")
	way.set(wayCut)
	f.hear(20, "with no connection")
	way.set(wayOpen)
	f.following(0, 1)
	f.hear(3, "with a new connection")
}

// brokenWay is a TCP proxy that can be stalled or cut.
type brokenWay struct {
	l  net.Listener
	to string
	mu sync.Mutex
	at *sync.Cond

	state wayState
	open  map[net.Conn]bool
	done  sync.WaitGroup
}

type wayState int

const (
	wayOpen wayState = iota
	wayStalled
	wayCut
	wayClosed
)

func newBrokenWay(t *testing.T, to string) *brokenWay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &brokenWay{l: l, to: to, open: map[net.Conn]bool{}}
	w.at = sync.NewCond(&w.mu)
	w.done.Go(w.accept)
	t.Cleanup(func() {
		w.set(wayClosed)
		l.Close()
		w.done.Wait()
	})
	return w
}

func (w *brokenWay) addr() string { return w.l.Addr().String() }

func (w *brokenWay) set(s wayState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = s
	if s == wayCut || s == wayClosed {
		for c := range w.open {
			c.Close()
		}
	}
	w.at.Broadcast()
}

func (w *brokenWay) accept() {
	for {
		in, err := w.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", w.to)
		if err != nil || !w.add(in, out) {
			in.Close()
			if out != nil {
				out.Close()
			}
			continue
		}
		w.done.Go(func() { w.copy(in, out) })
		w.done.Go(func() { w.copy(out, in) })
	}
}

func (w *brokenWay) add(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state != wayOpen {
		return false
	}
	for _, c := range conns {
		w.open[c] = true
	}
	return true
}

// copy passes on data while the proxy is open.
func (w *brokenWay) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		w.mu.Lock()
		for w.state == wayStalled {
			w.at.Wait()
		}
		w.mu.Unlock()
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			w.mu.Lock()
			delete(w.open, to)
			delete(w.open, from)
			w.mu.Unlock()
			return
		}
	}
}
