package cluster_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/cluster"
)

// loud keeps what members say above the level of news.
type loud struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *loud) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

// Members that stop at the same time do not wait for each other to hear their goodbyes, and say nothing of it. A goodbye may take a minute here, so that
// one that waits for nobody is found out on the slowest machine.
func TestStop_together(t *testing.T) {
	for _, n := range []int{2, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var said loud
			var members []*cluster.Cluster
			all := ""
			for i := range n {
				o := options(t, fmt.Sprint("m", i))
				o.Logger = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))
				if i > 0 {
					o.Join = []string{members[0].Addr()}
					all += " "
				}
				all += o.Name + "=alive"
				members = append(members, mustStart(t, o))
				members[i].SetTellWithin(time.Minute)
			}
			for _, c := range members {
				sees(t, c, all)
			}
			begin := time.Now()
			var stops sync.WaitGroup
			for _, c := range members {
				stops.Go(func() {
					if err := c.Stop(); err != nil {
						t.Error(err)
					}
				})
			}
			stops.Wait()
			took := time.Since(begin)
			t.Logf("%d members stopped in %v", n, took)
			if took > 30*time.Second {
				t.Errorf("%d members stopped in %v", n, took)
			}
			if said.Len() > 0 {
				t.Errorf("they say %s", said.String())
			}
		})
	}
}

// A member that leaves tells the others: they see it go without having to find out, which would take longer than the test has.
func TestStop_saysGoodbye(t *testing.T) {
	a, b := options(t, "a"), options(t, "b")
	a.ProbeInterval, b.ProbeInterval = 10*time.Second, 10*time.Second
	stays := started(t, a)
	b.Join = []string{stays.Addr()}
	leaves := mustStart(t, b)
	sees(t, stays, "a=alive b=alive")
	sees(t, leaves, "a=alive b=alive")
	leaves.SetTellWithin(time.Minute)
	if err := leaves.Stop(); err != nil {
		t.Error(err)
	}
	sees(t, stays, "a=alive b=left")
}
