package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

const secret = "soak soak soak soak"

// three is a cluster on the store of its first node.
type three struct {
	specs [3]*spec
	nodes [3]atomic.Pointer[node] // nil while it is down
}

// newThree prepares three nodes on this machine.
func newThree(ctx context.Context, dir string) (*three, error) {
	c := &three{}
	store, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	for i := range c.specs {
		s, err := newSpec(ctx, fmt.Sprintf("soak%d", i+1), filepath.Join(dir, fmt.Sprint(i+1)))
		if err != nil {
			return nil, err
		}
		c.specs[i] = s
		storage := fmt.Sprintf("storage: {engine: remote, address: \"127.0.0.1:%d\", secret: %q}\n", store, secret)
		join := fmt.Sprintf("%q", c.specs[0].addr(2))
		if i == 0 {
			storage = fmt.Sprintf("storage: {engine: embedded, listen: \"127.0.0.1:%d\", secret: %q}\n", store, secret)
			join = ""
		}
		s.settings = storage +
			fmt.Sprintf("cluster: {gossip: %q, remoting: %q, join: [%s], secret: %q}\n", s.addr(2), s.addr(3), join,
				secret)
	}
	return c, nil
}

func (c *three) start(ctx context.Context, e *environment, i int) error {
	n, err := c.specs[i].start(ctx, e.binary)
	if err != nil {
		return fmt.Errorf("node %d: %w", i+1, err)
	}
	c.nodes[i].Store(n)
	return nil
}

func (c *three) startAll(ctx context.Context, e *environment) error {
	for i := range c.specs {
		if err := c.start(ctx, e, i); err != nil {
			c.killAll()
			return err
		}
	}
	return nil
}

func (c *three) killAll() {
	for i := range c.nodes {
		if n := c.nodes[i].Swap(nil); n != nil {
			_ = n.resume()
			n.kill()
		}
	}
}

// stopAll stops the nodes; the one with the store last.
func (c *three) stopAll() error {
	for i := len(c.nodes) - 1; i >= 0; i-- {
		if n := c.nodes[i].Swap(nil); n != nil {
			if err := n.stop(); err != nil {
				c.killAll()
				return err
			}
		}
	}
	return nil
}

// follower reads the feed of one node until its context ends, and continues from its last sequence after any failure.
type follower struct {
	mu      sync.Mutex
	since   string
	revs    map[string]string // the last revision seen of each document
	rewinds int
}

func (f *follower) run(ctx context.Context, node func() *node) {
	for ctx.Err() == nil {
		if n := node(); n != nil {
			f.follow(ctx, n)
		}
		wait(ctx, 50*time.Millisecond)
	}
}

// follow reads until the connection ends.
func (f *follower) follow(ctx context.Context, n *node) {
	f.mu.Lock()
	since := f.since
	f.mu.Unlock()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		n.base+"/"+database+"/_changes?feed=continuous&heartbeat=1000&since="+since, nil)
	if err != nil {
		return
	}
	res, err := n.http.Do(r)
	if err != nil {
		return
	}
	defer res.Body.Close()
	// A paused node sends nothing and does not close the connection.
	silence := time.AfterFunc(5*time.Second, func() { _ = res.Body.Close() })
	defer silence.Stop()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		silence.Reset(5 * time.Second)
		f.take(bytes.TrimSpace(lines.Bytes()))
	}
}

func (f *follower) take(line []byte) {
	var row struct {
		Seq     string `json:"seq"`
		ID      string `json:"id"`
		Changes []struct {
			Rev string `json:"rev"`
		} `json:"changes"`
	}
	if json.Unmarshal(line, &row) != nil || row.ID == "" || len(row.Changes) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if row.Seq <= f.since {
		f.rewinds++
	}
	f.since = row.Seq
	f.revs[row.ID] = row.Changes[0].Rev
}

// missing returns the number of documents whose newest state the follower has not seen.
func (f *follower) missing(l *ledger) (missing int, example string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, e := range l.docs {
		if e.rev != "" && !e.acked.gone() && f.revs[id] != e.rev {
			missing++
			example = fmt.Sprintf("%s: rev %s, seen %q", id, e.rev, f.revs[id])
		}
	}
	return missing, example
}

// round writes through all nodes and follows the feed on each, while trouble comes and goes. Then it checks everything
// on every node.
func (c *three) round(ctx context.Context, e *environment, t *tally, trouble func(ctx context.Context) error) error {
	if err := c.startAll(ctx, e); err != nil {
		return err
	}
	defer c.killAll()
	l := newLedger()
	if err := l.prepare(ctx, c.nodes[0].Load(), "?changes_shards=4"); err != nil {
		return err
	}
	var followers [3]*follower
	following, end := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer end()
	for i := range followers {
		followers[i] = &follower{since: "0", revs: map[string]string{}}
		all.Go(func() { followers[i].run(following, c.nodes[i].Load) })
	}
	writing, stop := context.WithCancel(ctx)
	written := make(chan struct{})
	seed := e.rng.Uint64()
	go func() {
		defer close(written)
		l.write(writing, writers, seed, func(w int) *node { return c.nodes[w%3].Load() })
	}()
	err := trouble(ctx)
	stop()
	<-written // a write that is still running is not in doubt yet
	if err != nil {
		return err
	}
	for i := range c.nodes {
		if err := c.settled(ctx, l, i, t); err != nil {
			return fmt.Errorf("node %d: %w", i+1, err)
		}
	}
	for i, f := range followers {
		f.caughtUp(ctx, l, i, t)
	}
	for i := range c.nodes {
		if err := l.verify(ctx, c.nodes[i].Load(), t); err != nil {
			return fmt.Errorf("node %d: %w", i+1, err)
		}
		if line := panicked(c.nodes[i].Load().log); line != "" {
			return fmt.Errorf("node %d panicked: %s", i+1, line)
		}
	}
	end()
	return c.stopAll()
}

// settled waits until a node answers again, and looks up through it which writes in doubt succeeded.
func (c *three) settled(ctx context.Context, l *ledger, i int, t *tally) error {
	n, began := c.nodes[i].Load(), time.Now()
	if err := l.recovers(ctx, n, fmt.Sprintf("_design/after%d", i)); err != nil {
		return err
	}
	t.took(time.Since(began))
	l.mu.Lock()
	doubtful := map[string]*entry{}
	for id, e := range l.docs {
		if len(e.tried) > 0 {
			doubtful[id] = e
		}
	}
	l.mu.Unlock()
	for id, e := range doubtful {
		if !l.settle(ctx, n, id, e) {
			return fmt.Errorf("document %s cannot be read", id)
		}
	}
	return nil
}

// caughtUp waits until a follower has seen every document's current state.
func (f *follower) caughtUp(ctx context.Context, l *ledger, i int, t *tally) {
	began := time.Now()
	missing, example := f.missing(l)
	for missing > 0 && time.Since(began) < 10*time.Second && wait(ctx, 20*time.Millisecond) {
		missing, example = f.missing(l)
	}
	t.took(time.Since(began))
	if missing > 0 {
		t.lost += missing
		t.remark("the feed of node %d lacks %d changes after %v, such as %s", i+1, missing,
			time.Since(began).Round(time.Second), example)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rewinds > 0 {
		t.doubled += f.rewinds
		t.remark("the feed of node %d went backwards %d times", i+1, f.rewinds)
	}
}

func runPauses(ctx context.Context, e *environment, t *tally) error {
	dir, err := e.newDir("pauses")
	if err != nil {
		return err
	}
	c, err := newThree(ctx, dir)
	if err != nil {
		return err
	}
	return c.round(ctx, e, t, func(ctx context.Context) error {
		for range 2 {
			wait(ctx, time.Duration(e.rng.IntN(500)+200)*time.Millisecond)
			n := c.nodes[e.rng.IntN(3)].Load()
			if err := n.pause(); err != nil {
				return err
			}
			t.events++
			wait(ctx, time.Duration(e.rng.IntN(5000)+200)*time.Millisecond)
			if err := n.resume(); err != nil {
				return err
			}
		}
		return nil
	})
}

func runClusterKills(ctx context.Context, e *environment, t *tally) error {
	dir, err := e.newDir("kills of three")
	if err != nil {
		return err
	}
	c, err := newThree(ctx, dir)
	if err != nil {
		return err
	}
	return c.round(ctx, e, t, func(ctx context.Context) error {
		for range 3 {
			wait(ctx, time.Duration(e.rng.IntN(800)+200)*time.Millisecond)
			i := e.rng.IntN(3)
			n := c.nodes[i].Swap(nil)
			if e.rng.IntN(3) == 0 {
				if err := n.stop(); err != nil {
					return err
				}
			} else {
				n.kill()
			}
			t.events++
			wait(ctx, time.Duration(e.rng.IntN(1500))*time.Millisecond)
			if err := c.start(ctx, e, i); err != nil {
				return fmt.Errorf("start again: %w", err)
			}
		}
		return nil
	})
}
