package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The release before this one. Its tag is not in every clone, but its commit is in every one with a history. If it has
// another format of the store than this version, the nodes cannot be replaced one by one, and TestUpgrade_Rolling stops
// them all first (docs/upgrades.md).
const (
	previousTag    = "v0.2.0"
	previousCommit = "3c4db90004911e60c0de4e7fee7d58da0f2d2bd9"
)

// previousBinary builds the release before this one. What has not changed since is not compiled again: the old files
// are laid over those of the tree.
func previousBinary(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) ([]byte, error) {
		return exec.CommandContext(t.Context(), "git", append([]string{"-C", root}, args...)...).Output()
	}
	commit := previousTag
	if _, err := git("cat-file", "-e", commit+"^{commit}"); err != nil {
		commit = previousCommit
		if _, err := git("cat-file", "-e", commit+"^{commit}"); err != nil {
			t.Skipf("this clone has neither %s nor the commit %.8s: %v", previousTag, previousCommit, err)
		}
	}
	old := t.TempDir()
	packed, err := git("archive", "--format=tar", commit)
	if err != nil {
		t.Fatal(err)
	}
	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", old)
	unpack.Stdin = bytes.NewReader(packed)
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	text, err := json.Marshal(map[string]any{"Replace": overlay(t, root, old)})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "divan-before")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", list, "-o", binary, "./node/cmd/divan")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %.8s: %v\n%s", commit, err, out)
	}
	return binary
}

// overlay maps each file of the tree that is different in old to the one there, or to nothing if there is none.
func overlay(t *testing.T, root, old string) map[string]string {
	t.Helper()
	replaced := map[string]string{}
	walk := func(dir string, visit func(rel string) error) {
		if err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			rel, relErr := filepath.Rel(dir, name)
			switch {
			case err != nil || relErr != nil:
				return fmt.Errorf("%w %w", err, relErr)
			case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || rel == "bin" || rel == "data" ||
				d.Name() == "testdata"):
				return filepath.SkipDir
			case d.Type().IsRegular() && !strings.HasSuffix(name, "_test.go"):
				return visit(rel)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	walk(old, func(rel string) error {
		was, err := os.ReadFile(filepath.Join(old, rel))
		if err != nil {
			return err
		}
		if is, err := os.ReadFile(filepath.Join(root, rel)); err != nil || !bytes.Equal(is, was) {
			replaced[filepath.Join(root, rel)] = filepath.Join(old, rel)
		}
		return nil
	})
	walk(root, func(rel string) error {
		if _, err := os.Stat(filepath.Join(old, rel)); os.IsNotExist(err) {
			replaced[filepath.Join(root, rel)] = ""
		}
		return nil
	})
	return replaced
}

// follow reads the feed from node to node until stop is closed and the feed has ended, and counts the documents in it.
func (r *roller) follow(stop <-chan struct{}) (seen map[string]int) {
	seen, since := map[string]int{}, "0"
	for stopped := false; ; time.Sleep(5 * time.Millisecond) {
		select {
		case <-stop:
			stopped = true
		default:
		}
		var page struct {
			Results []struct{ ID string }
			LastSeq string `json:"last_seq"`
		}
		r.do("changes", func(node int, _ bool) error {
			got, err := r.clients[node].try("GET", "/db/_changes?limit=200&since="+since, "")
			if err == nil && got.status != 200 {
				err = fmt.Errorf("node %d: %d %s", node, got.status, got.body)
			}
			if err == nil {
				err = json.Unmarshal(got.body, &page)
			}
			return err
		})
		for _, row := range page.Results {
			seen[row.ID]++
		}
		if page.LastSeq != "" {
			since = page.LastSeq
		}
		if stopped && len(page.Results) == 0 {
			return seen
		}
	}
}

// dataFormat returns the format of the store that a binary writes, or 0 for the first ones, which do not say it.
func dataFormat(t *testing.T, binary string) (format int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, "version").Output()
	for line := range strings.Lines(string(out)) {
		if n, _ := fmt.Sscanf(line, "data format %d;", &format); n == 1 {
			return format
		}
	}
	if err != nil {
		t.Fatalf("version says %q, %v", out, err)
	}
	return 0
}

// upgradeTogether replaces the binary of all nodes at once, as a change of the format demands. Everything that was
// written before is there afterwards.
func upgradeTogether(t *testing.T, c *clusterOf) {
	t.Helper()
	const docs = 60
	for i := range docs {
		c.nodes[i%3].client().ok("PUT", fmt.Sprintf("/db/old%d", i), `{"x":2}`)
	}
	for i := 2; i >= 0; i-- {
		c.nodes[i].drainAndStop()
	}
	c.binary = divan
	for i := range 3 {
		c.start(i)
	}
	c.allAlive()
	for i, n := range c.nodes {
		var view struct{ Rows []struct{ Value int } }
		n.client().into("/db/_design/by/_view/x?key=2", &view)
		if len(view.Rows) != 1 || view.Rows[0].Value != docs {
			t.Errorf("after all nodes have been replaced, a view of node %d is %+v", i, view)
		}
	}
}

// Three nodes of the release before are replaced by this version one after the other, under writes, and one of them
// goes back: no request fails on all nodes, every acknowledged write is there, the feed has each once, and views and
// SQL answer the same on old and new nodes. If the release before has another format, all nodes are replaced together
// first, and those that are replaced under writes are of this version.
func TestUpgrade_Rolling(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the release before")
	}
	needEmbedded(t)
	need(t, "git", "the release before is in the repository's history")
	need(t, "tar", "the release before is unpacked with it")
	before := previousBinary(t)
	c := newCluster(t, 3)
	c.binary, c.http = before, ", drain: 300ms"
	for i := range 3 {
		c.start(i)
	}
	c.allAlive()
	one := c.nodes[0].client()
	one.ok("PUT", "/db?changes_shards=2", "")
	one.ok("PUT", "/db/_design/by", `{"views":{"x":{"map":"function (doc) { emit(doc.x, 1) }","reduce":"_count"}}}`)
	one.ok("PUT", "/db/first", `{}`)
	if dataFormat(t, before) != dataFormat(t, divan) {
		upgradeTogether(t, c)
		before = divan
	}
	r := newRoller(c)
	stop, stopFeed, seen := make(chan struct{}), make(chan struct{}), make(chan map[string]int, 1)
	go func() { seen <- r.follow(stopFeed) }()
	var working sync.WaitGroup
	var written atomic.Int64
	for w := range 2 {
		working.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
					r.write(fmt.Sprintf("%d-%d", w, n))
					written.Add(1)
				}
			}
		})
	}
	replace := func(i int, binary string) {
		c.nodes[i].drainAndStop()
		c.binary = binary
		c.start(i)
		c.allAlive()
		for _, n := range c.nodes { // old and new nodes read what either has written
			var view struct{ Rows []struct{ Value int } }
			n.client().into("/db/_design/by/_view/x?key=1", &view)
			if len(view.Rows) != 1 || view.Rows[0].Value == 0 {
				t.Errorf("with node %d replaced, a view is %+v", i, view)
			}
		}
		r.query()
	}
	replace(2, divan)
	replace(1, divan)
	replace(1, before) // the way back, in the same format
	replace(1, divan)
	replace(0, divan)
	close(stop)
	working.Wait()
	close(stopFeed) // after the last write has been acknowledged
	for _, failure := range r.failures {
		t.Error(failure)
	}
	t.Logf("%d requests, %d of them repeated, %d documents", r.requests.Load(), r.repeated.Load(), written.Load())
	if r.repeated.Load() == 0 || written.Load() < 100 {
		t.Errorf("%d requests were repeated, and %d documents written: nothing was under way", r.repeated.Load(),
			written.Load())
	}
	all := <-seen
	if int64(len(all)) < written.Load()+2 { // and two others
		t.Errorf("the feed has %d documents of %d", len(all), written.Load()+2)
	}
	for id, n := range all {
		if n != 1 {
			t.Errorf("the feed has %s %d times", id, n)
		}
	}
	if out, _ := command(t, c.dir, 0, "verify", "-url", c.nodes[0].http()); !strings.Contains(out, "nothing is damaged") {
		t.Errorf("verify says %q", out)
	}
}
