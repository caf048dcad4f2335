package e2e_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// freePortsAt is a port p such that p and its neighbours at the offsets are free.
func freePortsAt(t *testing.T, offsets ...int) int {
	t.Helper()
next:
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		p := l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
		for _, offset := range offsets {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p+offset))
			if err != nil {
				continue next
			}
			_ = l.Close()
		}
		return p
	}
	t.Fatal("no free ports beside each other")
	return 0
}

// TestClusterScript runs scripts/cluster 3 as the README tells: three ready lines, one store behind three nodes, and Ctrl-C ends all of them.
func TestClusterScript(t *testing.T) {
	if testing.Short() {
		t.Skip("TestCluster is about the same nodes")
	}
	binary, err := filepath.Abs(divan)
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("../../scripts/cluster")
	if err != nil {
		t.Fatal(err)
	}
	need(t, "bash", "scripts/cluster is written for it")
	need(t, "setsid", "it is in util-linux")
	cmd := exec.Command(script, "3", filepath.Join(t.TempDir(), "cluster"))
	cmd.Env = append(withoutDivan(os.Environ()), "DIVAN_BINARY="+binary, fmt.Sprintf("HTTP_PORT=%d", freePortsAt(t, 1, 2)), fmt.Sprintf("SQL_PORT=%d", freePortsAt(t, 1, 2)),
		fmt.Sprintf("GOSSIP_PORT=%d", freePortsAt(t, -1, 1, 10, 11, 20, 21)))
	if testCluster != "" {
		cmd.Env = append(cmd.Env, "DIVAN_CLUSTER_FILE="+testCluster)
	}
	stdout, stderr := newLines(), newLines()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGINT) }) // it has ended, or ends its nodes
	var nodes []*process
	for i := range 3 {
		line, err := stdout.next(2 * startTimeout)
		if err != nil {
			t.Fatalf("ready line %d: %v; standard error:\n%s", i+1, err, stderr)
		}
		fields, ok := strings.CutPrefix(line, "divan ready ")
		if !ok || !strings.Contains(fields, fmt.Sprintf("name=node%d ", i+1)) {
			t.Fatalf("line %d is %q", i+1, line)
		}
		if want := map[bool]string{true: "embedded", false: "remote"}[i == 0]; testCluster == "" && !strings.Contains(fields, "engine="+want) || testCluster != "" && !strings.Contains(fields, "engine=fdb") {
			t.Errorf("line %d is %q", i+1, line)
		}
		p := &process{t: t, ready: map[string]string{}}
		for field := range strings.FieldsSeq(fields) {
			k, v, _ := strings.Cut(field, "=")
			p.ready[k] = v
		}
		nodes = append(nodes, p)
	}
	db := fmt.Sprintf("script%d", time.Now().UnixNano()) // the directory in FoundationDB may not be new
	nodes[0].client().ok("PUT", "/"+db, "")
	rev := nodes[1].client().object("PUT", "/"+db+"/doc", `{"n":1}`)["rev"]
	if got := nodes[2].client().object("GET", "/"+db+"/doc", ""); got["_rev"] != rev {
		t.Errorf("node3 has %v, not %s", got, rev)
	}
	var id string
	if err := connect(t, nodes[2], db, "me").QueryRow(t.Context(), `SELECT id FROM docs`).Scan(&id); err != nil || id != "doc" {
		t.Errorf("SQL on node3 finds %q, %v", id, err)
	}
	for i, n := range nodes {
		eventually(t, fmt.Sprintf("node%d sees three members", i+1), 20*time.Second, func() bool {
			var list struct{ Members []struct{ Status string } }
			n.client().into("/_members", &list)
			return len(list.Members) == 3
		})
	}
	nodes[0].client().ok("DELETE", "/"+db, "")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("after Ctrl-C the script ends with %v: %s", err, stderr)
		}
	case <-time.After(3*stopTimeout + 5*time.Second):
		t.Fatal("the script still runs after Ctrl-C")
	}
	for _, n := range nodes {
		if c, err := net.Dial("tcp", n.ready["http"]); err == nil {
			_ = c.Close()
			t.Errorf("%s still listens after Ctrl-C", n.ready["name"])
		}
	}
}
