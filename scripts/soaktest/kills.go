package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

const writers = 8

// runKills kills a node several times, always with the same directory, and checks all its data after each start.
func runKills(ctx context.Context, e *environment, t *tally) error {
	dir, err := e.newDir("kills")
	if err != nil {
		return err
	}
	s, err := newSpec(ctx, "soak", dir)
	if err != nil {
		return err
	}
	l := newLedger()
	for i := range 8 {
		began := time.Now()
		n, err := s.start(ctx, e.binary)
		if err != nil {
			return fmt.Errorf("start after kill %d: %w", i, err)
		}
		if i == 0 {
			err = l.prepare(ctx, n, "?changes_shards=2")
		} else {
			t.took(time.Since(began))
			err = l.verify(ctx, n, t)
		}
		if err != nil {
			n.kill()
			return fmt.Errorf("after kill %d: %w", i, err)
		}
		l.writeUntil(ctx, e, time.Duration(e.rng.IntN(900)+20)*time.Millisecond, n, n.kill)
		t.events++
		if line := panicked(n.log); line != "" {
			return fmt.Errorf("the node panicked: %s", line)
		}
	}
	return e.lastLook(ctx, s, l, t)
}

// writeUntil writes for a while, and causes trouble in the middle of it.
func (l *ledger) writeUntil(ctx context.Context, e *environment, d time.Duration, n *node, trouble func()) {
	writing, stop := context.WithCancel(ctx)
	defer stop()
	var over atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.write(writing, writers, e.rng.Uint64(), func(int) *node {
			if over.Load() {
				return nil
			}
			return n
		})
	}()
	wait(ctx, d)
	trouble()
	over.Store(true)
	stop()
	<-done
}

// lastLook starts the node once more, verifies its data and stops it regularly.
func (e *environment) lastLook(ctx context.Context, s *spec, l *ledger, t *tally) error {
	n, err := s.start(ctx, e.binary)
	if err != nil {
		return err
	}
	if err := l.verify(ctx, n, t); err != nil {
		n.kill()
		return err
	}
	return n.stop()
}
