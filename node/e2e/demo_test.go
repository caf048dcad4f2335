package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
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

// The data of a directory is used again, and wrong arguments are refused.
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
		if status := p.wait(startTimeout); status != c.status || !strings.Contains(p.stderr.String(), c.want) {
			t.Errorf("divan demo %q: %d %s", c.args, status, p.stderr)
		}
	}
}
