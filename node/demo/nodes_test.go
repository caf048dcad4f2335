package demo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The test's own program is a node for tests. takenVariable names an HTTP port that it finds in use, and faultVariable
// what else it fails with.
const (
	nodeVariable  = "DEMO_TEST_NODE"
	takenVariable = "DEMO_TEST_TAKEN"
	faultVariable = "DEMO_TEST_FAULT"
)

func TestMain(m *testing.M) {
	if os.Getenv(nodeVariable) == "" {
		os.Exit(m.Run())
	}
	settings, err := os.ReadFile(os.Args[2])
	port := regexp.MustCompile(`http: {listen: "127.0.0.1:(\d+)"`).FindSubmatch(settings)
	switch {
	case err != nil || port == nil:
		fmt.Fprintln(os.Stderr, "divan: no settings:", err)
	case string(port[1]) == os.Getenv(takenVariable):
		fmt.Fprintf(os.Stderr, "a line of the log\ndivan: http: 127.0.0.1:%s is in use by another process\n", port[1])
	case os.Getenv(faultVariable) != "":
		fmt.Fprintf(os.Stderr, "a line of the log\ndivan: %s\n", os.Getenv(faultVariable))
	default:
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		fmt.Printf("divan ready http=127.0.0.1:%s sql=127.0.0.1:1\n", port[1])
		<-stop
		os.Exit(0)
	}
	os.Exit(1)
}

func testOptions(t *testing.T, nodes int) *Options {
	t.Helper()
	t.Setenv(nodeVariable, "1")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ports, err := Ports{HTTP: 21100, SQL: 21300, Gossip: 21500}.free(t.Context(), nodes)
	if err != nil {
		t.Skip(err)
	}
	return &Options{Nodes: nodes, Ports: ports, Shift: true, Program: program, Empty: true}
}

// Of two demos that start at once, the one that finds a port taken after all goes on to others.
func TestStartAnywhere_portTaken(t *testing.T) {
	o := testOptions(t, 2)
	t.Setenv(takenVariable, fmt.Sprint(o.Ports.HTTP+1)) // the second node's
	first := o.Ports
	members, err := startAnywhere(t.Context(), o, t.TempDir())
	defer stopAll(members)
	if err != nil || len(members) != 2 || o.Ports.HTTP < first.HTTP+portStep {
		t.Fatalf("%d nodes on %+v, %v; want other ports than %+v", len(members), o.Ports, err, first)
	}
	o = testOptions(t, 1)
	o.Shift = false
	t.Setenv(takenVariable, fmt.Sprint(o.Ports.HTTP))
	_, err = startAnywhere(t.Context(), o, t.TempDir())
	want := fmt.Sprintf("node1 did not start (exit status 1): http: 127.0.0.1:%d is in use by another process",
		o.Ports.HTTP)
	if err == nil || err.Error() != want {
		t.Errorf("with given ports: %v, want %q", err, want)
	}
}

func TestStartAnywhere_fault(t *testing.T) {
	o := testOptions(t, 1)
	t.Setenv(faultVariable, "embedded: the store in x is in use by another process")
	_, err := startAnywhere(t.Context(), o, t.TempDir())
	want := "node1 did not start (exit status 1): embedded: the store in x is in use by another process"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
}

// safeBuffer is a buffer that is written and read by several goroutines.
type safeBuffer struct {
	sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.Lock()
	defer b.Unlock()
	return b.text.String()
}

// A demo says which of its nodes has ended, and ends with the last one.
func TestAttend_killed(t *testing.T) {
	o := testOptions(t, 3)
	out := &safeBuffer{}
	o.Out = out
	members, err := startAnywhere(t.Context(), o, t.TempDir())
	defer stopAll(members)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- attend(ctx, o, members) }()
	for i, want := range map[int]string{
		2: "node3 has ended (signal: killed); the others go on without it\n",
		0: "node1 has ended (signal: killed); it had the store, so that the others answer 503\n",
	} {
		_ = members[i].process.Process.Kill()
		for !strings.Contains(out.String(), want) && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q, want %q", out, want)
		}
	}
	_ = members[1].process.Process.Kill()
	if err := <-done; err == nil || err.Error() != "node2 has ended (signal: killed), and no other node runs" {
		t.Error(err)
	}
}

func TestPrepare(t *testing.T) {
	for _, c := range []struct {
		files []string
		want  string
	}{
		{nil, ""},
		{[]string{"secret", "1/node.yaml", "2/log", ".DS_Store"}, ""},
		{[]string{"thesis.doc"}, "has other things in it, such as thesis.doc"},
		{[]string{"secret", "1/node.yaml", "store/CURRENT"}, "has other things in it, such as store"},
	} {
		directory := filepath.Join(t.TempDir(), "d")
		for _, file := range c.files {
			file = filepath.Join(directory, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, _, err := prepare(directory)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.files, err, c.want)
		}
	}
}
