package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// These tests are about a store that does not answer. Clients get an error in time on every path, 503 or 57P03. /_up,
// the metrics and the dashboard report it. When the store is back, the node works again without a restart.

const (
	storePatience = time.Second // storage.timeout of the nodes below
	// deadline is the maximum time for any response: a request may wait for the transaction that was cut off and for
	// the next one, on a busy machine.
	deadline = 8 * time.Second
)

// TestDeadStore_remote pauses the node that has the store, as if its machine was overloaded, then kills it.
func TestDeadStore_remote(t *testing.T) {
	needEmbedded(t)
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	mostlyWaits(t)
	dir, store := t.TempDir(), freeAddr(t)
	holder := func() *process {
		t.Helper()
		return nodeWith(t, filepath.Join(dir, "holder"),
			fmt.Sprintf("{engine: embedded, listen: '%s', secret: 'a shared secret'}", store))
	}
	held := holder()
	p := nodeWith(t, filepath.Join(dir, "other"),
		fmt.Sprintf("{engine: remote, address: '%s', secret: 'a shared secret', timeout: %v}", store, storePatience))
	s := newDeadStore(t, p)
	suspend(t, held.cmd.Process)
	s.gone("stopped")
	resume(t, held.cmd.Process)
	s.back("resumed")
	held.kill()
	s.gone("killed")
	holder()
	s.back("started again")
}

// TestDeadStore_fdb needs a FoundationDB server of its own to stop: DIVAN_TEST_FDB_SERVER=/path/of/fdbserver, with
// fdbcli in the same directory or in the PATH.
func TestDeadStore_fdb(t *testing.T) {
	server := os.Getenv("DIVAN_TEST_FDB_SERVER")
	if testCluster == "" || server == "" {
		t.Skip("set DIVAN_TEST_FDB_SERVER to the path of an fdbserver, and run scripts/test fdb")
	}
	f := startFDB(t, server)
	p := nodeWith(t, t.TempDir(), fmt.Sprintf("{engine: fdb, cluster_file: '%s', timeout: %v}", f.file, storePatience))
	s := newDeadStore(t, p)
	suspend(t, f.cmd.Process)
	s.gone("stopped")
	resume(t, f.cmd.Process)
	s.back("resumed")
	f.kill()
	s.gone("killed")
	f.start()
	s.back("started again")
}

// suspend stops a process, as if its machine had no CPU time for it, and returns when all its threads have stopped.
func suspend(t *testing.T, p *os.Process) {
	t.Helper()
	if err := p.Signal(stopSignal); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process has stopped", 20*time.Second, func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.Pid)) // the pattern is valid
		for _, name := range threads {
			stat, err := os.ReadFile(name)
			_, state, _ := strings.Cut(string(stat), ") ")
			if err == nil && !strings.HasPrefix(state, "T") {
				return false
			}
		}
		return true
	})
}

func resume(t *testing.T, p *os.Process) {
	t.Helper()
	if err := p.Signal(continueSignal); err != nil {
		t.Fatal(err)
	}
}

// nodeWith starts a node in dir with the given storage section.
func nodeWith(t *testing.T, dir, storage string) *process {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "node.yaml"), []byte("storage: "+storage+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, dir)
}

// fdbServer is a FoundationDB with one process.
type fdbServer struct {
	t                 *testing.T
	server, dir, addr string
	file              string // fdb.cluster
	cmd               *exec.Cmd
	ended             chan struct{} // closed when cmd has ended
}

func startFDB(t *testing.T, server string) *fdbServer {
	t.Helper()
	f := &fdbServer{t: t, server: server, dir: t.TempDir(), addr: freeAddr(t)}
	f.file = filepath.Join(f.dir, "fdb.cluster")
	if err := os.WriteFile(f.file, []byte("dead:store@"+f.addr+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.start()
	t.Cleanup(f.kill)
	cli := filepath.Join(filepath.Dir(server), "fdbcli")
	if _, err := os.Stat(cli); err != nil {
		cli = "fdbcli"
	}
	if out, err := exec.Command(cli, "-C", f.file, "--timeout", "30", "--exec",
		"configure new single ssd").CombinedOutput(); err != nil {
		t.Fatalf("fdbcli: %v: %s", err, out)
	}
	return f
}

func (f *fdbServer) start() {
	f.t.Helper()
	f.cmd = exec.Command(f.server, "-p", f.addr, "-l", f.addr, "-C", f.file, "-d", filepath.Join(f.dir, "data"), "-L",
		f.dir)
	if err := f.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait() // it is killed
		close(ended)
	}(f.cmd, f.ended)
}

func (f *fdbServer) kill() {
	_ = f.cmd.Process.Signal(syscall.SIGKILL)
	<-f.ended
}

// deadStore sends all kinds of requests to a node while its store does not answer.
type deadStore struct {
	t    *testing.T
	p    *process
	c    *client
	conn *pgx.Conn
	revs []string // of the acknowledged documents
}

func newDeadStore(t *testing.T, p *process) *deadStore {
	t.Helper()
	s := &deadStore{t: t, p: p, c: p.client()}
	s.c.ok("PUT", "/db", "")
	s.c.ok("PUT", "/db/_design/d", `{"views":{"v":{"map":"function (doc) { emit(doc.n) }"}}}`)
	s.back("begun")
	return s
}

// gone sends all requests at once.
func (s *deadStore) gone(how string) {
	s.t.Helper()
	conn := s.conn
	var wg sync.WaitGroup
	timely := func(what string, f func() error) {
		wg.Go(func() {
			began := time.Now()
			if err := f(); err != nil {
				s.t.Errorf("store %s: %s: %v", how, what, err)
			}
			if took := time.Since(began); took > deadline {
				s.t.Errorf("store %s: %s took %v", how, what, took)
			}
		})
	}
	for path, body := range map[string]string{
		"GET /_up": "", "GET /readyz": "", "GET /db": "", "GET /db/doc0": "", "PUT /db/new": `{}`,
		"POST /db/_bulk_docs": `{"docs":[{}]}`, "GET /db/_all_docs": "",
		"GET /db/_changes": "", "GET /db/_changes?feed=longpoll": "", "GET /db/_design/d/_view/v": "",
		"GET /_all_dbs": "", "PUT /other": "", "GET /db/_security": "",
		"POST /db/_revs_diff": `{"x":["1-a"]}`, "GET /db/_local/x": "", "POST /db/_design/d/_view/v": `{"keys":[1]}`,
		"PUT /db/doc0/att": "data",
	} {
		method, path, _ := strings.Cut(path, " ")
		timely(method+" "+path, func() error {
			r, err := s.c.try(method, path, body)
			if err == nil && r.status != 503 {
				err = fmt.Errorf("%d %s", r.status, r.body)
			}
			return err
		})
	}
	unavailable := func(err error) error {
		var e *pgconn.PgError
		if errors.As(err, &e) && e.Code == "57P03" {
			return nil
		}
		return fmt.Errorf("got %w, want 57P03", err)
	}
	wg.Go(func() { // one after the other, as in a session
		for _, statement := range []string{`SELECT id FROM docs`, `SELECT count(*) FROM changes`, `SELECT key FROM d.v`,
			`SELECT key FROM v`, `SELECT count(*) FROM pg_class`} {
			began := time.Now()
			_, err := conn.Exec(s.t.Context(), statement)
			if err := unavailable(err); err != nil {
				s.t.Errorf("store %s: %s: %v", how, statement, err)
			}
			if took := time.Since(began); took > deadline {
				s.t.Errorf("store %s: %s took %v", how, statement, took)
			}
		}
	})
	timely("a new session", func() error {
		conn, err := pgx.Connect(s.t.Context(), fmt.Sprintf("postgres://me@%s/db?sslmode=disable", s.p.ready["sql"]))
		// the node knows the database; only the first statement notices whether it still exists
		if err == nil {
			_, err = conn.Exec(s.t.Context(), `SELECT id FROM docs`)
			_ = conn.Close(s.t.Context())
		}
		return unavailable(err)
	})
	timely("/livez", func() error { return s.says("/livez", `"ok"`) })
	timely("/metrics", func() error { return s.says("/metrics", "\ndivan_store_up 0") })
	timely("what the console shows", func() error {
		return s.says("/_dashboard/api/overview", `its store does not answer`)
	})
	timely("the node's state in the console", func() error {
		return s.says("/_dashboard/api/nodes", `"state":"unavailable"`)
	})
	timely("the console", func() error { return s.says("/_dashboard/", "<title>Divan") })
	wg.Wait()
	if _, err := exec.LookPath("chromium"); err == nil {
		text := page(s.t, "http://"+withoutStreams(s.t, s.p)+"/_dashboard/")
		if !strings.Contains(text, "store does not answer") {
			s.t.Errorf("store %s: the page shows %s", how, text)
		}
	}
	if !s.p.running() {
		s.t.Fatalf("store %s: the node has ended", how)
	}
}

func (s *deadStore) says(path, want string) error {
	r, err := s.c.try("GET", path, "")
	if err == nil && (r.status != 200 || !strings.Contains(string(r.body), want)) {
		err = fmt.Errorf("%d without %q: %.300s", r.status, want, r.body)
	}
	return err
}

// back waits until the node serves requests again, checks every acknowledged document, and writes another one.
func (s *deadStore) back(how string) {
	s.t.Helper()
	eventually(s.t, "the node serves requests again, its store "+how, 30*time.Second, func() bool {
		return s.c.status("GET", "/_up", "") == 200
	})
	for i, rev := range s.revs {
		if got := s.c.object("GET", fmt.Sprintf("/db/doc%d", i), "")["_rev"]; got != rev {
			s.t.Errorf("store %s: document %d is %v, not %s", how, i, got, rev)
		}
	}
	n := len(s.revs)
	s.revs = append(s.revs, s.c.object("PUT", fmt.Sprintf("/db/doc%d", n), fmt.Sprintf(`{"n":%d}`, n))["rev"].(string))
	s.c.ok("GET", "/db/_design/d/_view/v", "")
	if s.conn == nil || s.conn.IsClosed() {
		s.conn = connect(s.t, s.p, "db", "me")
	}
	var count int
	if err := s.conn.QueryRow(context.WithoutCancel(s.t.Context()),
		`SELECT count(*) FROM docs WHERE id LIKE 'doc%'`).Scan(&count); err != nil || count != n+1 {
		s.t.Errorf("store %s: SQL counts %d documents, %v, want %d", how, count, err, n+1)
	}
	if err := s.says("/metrics", "\ndivan_store_up 1"); err != nil {
		s.t.Error(err)
	}
}
