package cluster_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// loud records what a member logs above the level of info.
type loud struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *loud) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *loud) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func (l *loud) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// unprobed is a probe interval longer than these tests, so that no member detects by itself that another is gone, or
// complains about a slow machine.
const unprobed = 20 * time.Second

// Members that stop at the same time do not wait for each other to hear that they leave, and log nothing about it. The
// announcement may take a minute here, so that a member that waits is detected even on the slowest machine.
func TestStop_together(t *testing.T) {
	for _, n := range []int{2, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			o, said := options(t, "m0"), &loud{}
			o.Logger = said.logger()
			spec := memberSpec{Gossip: "127.0.0.1:0", ProbeInterval: unprobed, AnnounceWithin: time.Minute}
			c, err := spec.start(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			members, all := []viewer{c}, "m0=alive"
			stops := []func() (string, error){func() (string, error) {
				err := c.Stop()
				return said.String(), err
			}}
			for i := range n - 1 {
				name := fmt.Sprint("m", i+1)
				p := startProcess(t, memberSpec{Name: name, Join: []string{c.Addr()}, ProbeInterval: unprobed,
					AnnounceWithin: time.Minute})
				members, all = append(members, p), all+" "+name+"=alive"
				stops = append(stops, func() (said string, err error) {
					err = p.call("Stop", 0, &said)
					return said, err
				})
			}
			for _, m := range members {
				sees(t, m, all)
			}
			begin := time.Now()
			var stopping sync.WaitGroup
			for _, stop := range stops {
				stopping.Go(func() {
					if said, err := stop(); err != nil || said != "" {
						t.Errorf("a stopping member logged %q, %v", said, err)
					}
				})
			}
			stopping.Wait()
			took := time.Since(begin)
			t.Logf("%d members stopped in %v", n, took)
			if took > 30*time.Second {
				t.Errorf("%d members stopped in %v", n, took)
			}
		})
	}
}

// A leaving member tells the others, which see it go without having to detect it.
func TestStop_saysGoodbye(t *testing.T) {
	o := options(t, "a")
	o.ProbeInterval = unprobed
	stays := started(t, o)
	leaves := startProcess(t,
		memberSpec{Name: "b", Join: []string{stays.Addr()}, ProbeInterval: unprobed, AnnounceWithin: time.Minute})
	sees(t, stays, "a=alive b=alive")
	sees(t, leaves, "a=alive b=alive")
	var said string
	if err := leaves.call("Stop", 0, &said); err != nil || said != "" {
		t.Errorf("a leaving member logged %q, %v", said, err)
	}
	sees(t, stays, "a=alive b=left")
}

// A member that is drained gives its actors to the others at once, but remains a member that sends and receives.
func TestCluster_Drain(t *testing.T) {
	o := options(t, "a")
	here := &inbox{}
	o.ProbeInterval, o.Receive, o.Answer = unprobed, here.add, answerTests
	a := started(t, o)
	b := startProcess(t, memberSpec{Name: "b", Join: []string{a.Addr()}, ProbeInterval: unprobed})
	sees(t, a, "a=alive b=alive")
	sees(t, b, "a=alive b=alive")
	placed := func(want string) {
		t.Helper()
		eventually(t, 20*time.Second, func() string {
			var there []string
			if err := b.call("Owners", manyIDs(), &there); err != nil {
				return err.Error()
			}
			for _, names := range [][]string{owners(a, manyIDs()), there} {
				slices.Sort(names)
				if got := strings.Join(slices.Compact(names), " "); got != want {
					return "placed on " + got + ", not " + want
				}
			}
			return ""
		})
	}
	placed("a b")
	begun := time.Now()
	if err := b.call("Drain", 0, new(int)); err != nil {
		t.Fatal(err)
	}
	placed("a")
	t.Logf("handed over in %v", time.Since(begun))
	sees(t, a, "a=alive b=alive")
	if !find(t, a, "b").Draining || find(t, a, "a").Draining {
		t.Error("a does not see that b is drained")
	}
	eventually(t, 20*time.Second, func() string { // several times: a closed connection loses the first message
		a.Send("b", []byte("hello"))
		if err := b.call("Send", [2]string{"a", "hello"}, new(int)); err != nil {
			return err.Error()
		}
		var there []string
		if err := b.call("Inbox", 0, &there); err != nil {
			return err.Error()
		}
		if !slices.Contains(there, "a: hello") || !slices.Contains(here.list(), "b: hello") {
			return fmt.Sprintf("b received %q, and a received %q", there, here.list())
		}
		return ""
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if answer, err := a.Request(ctx, "b", []byte("x")); err != nil || string(answer) != "a asks x" {
		t.Errorf("a asks b: %q, %v", answer, err)
	}
	var answer string
	if err := b.call("Request", [2]string{"a", "x"}, &answer); err != nil || answer != "b asks x" {
		t.Errorf("b asks a: %q, %v", answer, err)
	}
	var said string
	if err := b.call("Stop", 0, &said); err != nil || said != "" {
		t.Errorf("a drained member logged %q, %v", said, err)
	}
	sees(t, a, "a=alive b=left")
}
