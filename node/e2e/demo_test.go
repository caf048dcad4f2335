package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// section returns the lines of the demo's guide from the heading on, up to the next empty line, without the heading.
func section(t *testing.T, guide []string, heading string) []string {
	t.Helper()
	for i, line := range guide {
		if !strings.HasPrefix(line, heading) {
			continue
		}
		var of []string
		for _, line := range guide[i+1:] {
			if line == "" {
				return of
			}
			of = append(of, strings.TrimSpace(line))
		}
		return of
	}
	t.Fatalf("the guide has no %q:\n%s", heading, strings.Join(guide, "\n"))
	return nil
}

// divan demo 2 as a newcomer runs it: everything that it prints to be tried works, documents are written all the time,
// also after one node is killed, and Ctrl-C ends everything and removes the data.
func TestDemo(t *testing.T) {
	needEmbedded(t)
	need(t, "curl", "the demo's guide uses it; on Debian it is in the package curl")
	need(t, "bash", "the guide's commands are written for a shell")
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	p := launch(t, t.TempDir(), "demo", "-documents", "3000", "2",
		"-http-port", fmt.Sprint(portsInRow(t, 0, 1)), "-sql-port", fmt.Sprint(portsInRow(t, 0, 1)),
		"-gossip-port", fmt.Sprint(1+portsInRow(t, 0, 1, 2, 11, 12)))
	var nodes [2]*process
	for i := range nodes {
		p.waitReady()
		nodes[i] = &process{t: t, ready: p.ready}
	}
	var guide []string
	for len(guide) == 0 || !strings.Contains(guide[len(guide)-1], "Ctrl-C") {
		line, err := p.stdout.next(startTimeout)
		if err != nil {
			t.Fatalf("no guide: %v; standard error:\n%s", err, p.stderr)
		}
		guide = append(guide, line)
	}

	conn := connect(t, nodes[1], "shop", "me")
	for _, statement := range strings.SplitAfter(strings.Join(section(t, guide, "Ask with SQL"), " "), ";") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		tag, err := conn.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol)
		if err != nil || tag.RowsAffected() == 0 {
			t.Errorf("%s: %v, %v", statement, tag, err)
		}
	}
	requests := strings.Join(section(t, guide, "Ask over HTTP"), "\n")
	for _, command := range strings.Split(strings.ReplaceAll(requests, "\\\n", ""), "\n") {
		out, err := exec.Command("bash", "-c", command+" -sS --fail").CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "{") {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}

	c := nodes[0].client()
	count := func() (n int) {
		if _, err := fmt.Sscan(fmt.Sprint(c.object("GET", "/shop", "")["doc_count"]), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	eventually(t, "orders are written", 20*time.Second, func() bool { return count() > before })
	conflicted := c.object("GET", "/shop/customer-00001?conflicts=true", "")
	if list, _ := conflicted["_conflicts"].([]any); len(list) != 1 {
		t.Errorf("a customer has the conflicts %v", conflicted["_conflicts"])
	}

	kill := section(t, guide, "Kill a node")
	var pid int
	if _, err := fmt.Sscanf(kill[0], "kill -9 %d", &pid); err != nil {
		t.Fatalf("%q: %v", kill[0], err)
	}
	if err := killProcess(pid); err != nil {
		t.Fatal(err)
	}
	before = count()
	eventually(t, "orders are written by the other node", 20*time.Second, func() bool { return count() > before+2 })

	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if status := p.wait(20 * time.Second); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
	if r, err := c.try("GET", "/", ""); err == nil {
		t.Errorf("node1 still answers %d", r.status)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("the temporary directory has %v, %v", left, err)
	}
}

// An interrupted demo is complete when its directory is used again, whatever was there, and later it stays as it is.
// The nodes are those of the demo whatever the environment says, and their admin is that of a file.
func TestDemo_again(t *testing.T) {
	needEmbedded(t)
	dir := filepath.Join(t.TempDir(), "demo")
	admin := filepath.Join(t.TempDir(), "admin")
	if err := os.WriteFile(admin, []byte("anna:secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	need(t, "env", "the nodes get variables")
	http, sql := fmt.Sprint(portsInRow(t, 0)), fmt.Sprint(portsInRow(t, 0))
	gossip := fmt.Sprint(portsInRow(t, 0, 1))
	run := func(until string, args ...string) *process {
		t.Helper()
		p := launchBinary(t, "env", nil, t.TempDir(), append([]string{"DIVAN_ADMIN_FILE=" + admin,
			"DIVAN_HTTP_LISTEN=127.0.0.1:1", divan, "demo", "-dir", dir, "-documents", "300", "-http-port", http,
			"-sql-port", sql, "-gossip-port", gossip}, args...)...)
		p.waitReady()
		for line := "divan ready"; !strings.Contains(line, until); {
			var err error
			if line, err = p.stdout.next(startTimeout); err != nil {
				t.Fatalf("no %q: %v; standard error:\n%s", until, err, p.stderr)
			}
		}
		return p
	}
	end := func(p *process) {
		t.Helper()
		if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if status := p.wait(20 * time.Second); status != 0 {
			t.Errorf("the exit status is %d: %s", status, p.stderr)
		}
	}
	for _, left := range []string{"nothing", "shop", "shop and its mark"} {
		p := run("divan ready", "-empty")
		c := p.as("anna:secret")
		if left != "nothing" {
			c.ok("PUT", "/shop", "")
		}
		if left == "shop and its mark" {
			c.ok("PUT", "/shop/_local/loading", "{}")
			c.ok("PUT", "/shop/half", "{}")
		}
		end(p)
		p = run("Ctrl-C")
		c = p.as("anna:secret")
		for path, want := range map[string]int{"/shop/half": 404, "/shop/_local/loading": 404,
			"/shop/order-0000001": 200, "/sensors/_design/by": 200} {
			if got := c.status("GET", path, ""); got != want {
				t.Errorf("after a demo that left %s, GET %s is %d, want %d", left, path, got, want)
			}
		}
		c.ok("PUT", "/shop/mine", "{}")
		end(p)
		p = run("exist already and are used as they are")
		p.as("anna:secret").ok("GET", "/shop/mine", "")
		end(p)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// A demo whose output nobody reads any more removes its data.
func TestDemo_outputClosed(t *testing.T) {
	needEmbedded(t)
	need(t, "bash", "the output goes to another program")
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	command := exec.Command("bash", "-c", `"$0" demo -documents 300 -http-port "$1" -sql-port "$2" -gossip-port "$3" | `+
		"head -n 1; exit ${PIPESTATUS[0]}", divan, fmt.Sprint(portsInRow(t, 0)), fmt.Sprint(portsInRow(t, 0)),
		fmt.Sprint(portsInRow(t, 0, 1)))
	if out, err := command.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "divan ready") {
		t.Errorf("%v: %s", err, out)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("the temporary directory has %v, %v", left, err)
	}
}

// Wrong arguments are refused.
func TestDemo_arguments(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"x"}, 2, `"x" is no number of nodes`},
		{[]string{"0"}, 2, `"0" is no number of nodes`},
		{[]string{"2", "3"}, 2, `unexpected argument "3"`},
		{[]string{"-documents", "many"}, 2, "documents"},
		{[]string{"100"}, 1, "1 to 99 nodes"},
		{[]string{"-http-port", "0"}, 1, "no port 0"},
	} {
		p := launch(t, t.TempDir(), append([]string{"demo"}, c.args...)...)
		if status := p.wait(startTimeout); status != c.status || !strings.Contains(p.stderr.whole(), c.want) {
			t.Errorf("divan demo %q: %d %s", c.args, status, p.stderr)
		}
	}
}
