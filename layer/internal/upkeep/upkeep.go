// Package upkeep runs what a store looks after by itself: sweeps, and looks for what has to be done. Each kind has a
// goroutine of its own, its period and its metrics, so that one that does not get on keeps no other from its work. What
// the kinds do is known by the packages that they belong to.
package upkeep

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Kind is one kind of upkeep.
type Kind struct {
	// Name is of the metrics: lower case, with underscores.
	Name string
	// First is how long after the start the first run begins, and Every how long after the end of a run the next one
	// does. 0: it runs once, or when Wake receives.
	First, Every time.Duration
	// Wake, where not nil, begins a run whenever it receives. It is never closed.
	Wake <-chan struct{}
	// Again, where not nil, says after a run with this error how long to wait instead of Every.
	Again func(err error) time.Duration
	// Run does what there is to do. It ends when ctx does.
	Run func(ctx context.Context) error
	// Failed is what the log says where Run returns an error; empty: nothing. It is silent about errors for which
	// Silent, where not nil, is true.
	Failed string
	Silent func(err error) bool
}

// Metrics are the numbers of one kind.
type Metrics struct {
	Kind     string
	Every    time.Duration // 0: it does not run by itself
	Runs     int64
	Failures int64
	Took     time.Duration // in all runs that have ended
	// Running is for how long the run under way has been so; 0: there is none.
	Running time.Duration
	// Since is how long ago the last run without an error ended; Done says whether there was one.
	Since time.Duration
	Done  bool
	Error string // of the last run, empty where it had none
}

// Upkeep is the kinds of one store. The zero value has none. Safe for concurrent use.
type Upkeep struct {
	Log   *slog.Logger
	mu    sync.Mutex
	kinds []*kept
}

// kept is a kind and its numbers.
type kept struct {
	Kind
	mu        sync.Mutex
	metrics   Metrics
	began     time.Time // the run under way; zero: none
	succeeded time.Time
}

// Keep runs a kind until ctx ends.
func (u *Upkeep) Keep(ctx context.Context, kind Kind) {
	k := &kept{Kind: kind, metrics: Metrics{Kind: kind.Name, Every: kind.Every}}
	u.mu.Lock()
	u.kinds = append(u.kinds, k)
	u.mu.Unlock()
	timer := time.NewTimer(kind.First)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-kind.Wake:
		}
		err := k.run(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && kind.Failed != "" && (kind.Silent == nil || !kind.Silent(err)) {
			u.Log.Warn("upkeep failed", "what", kind.Failed, "error", err)
		}
		pause := kind.Every
		if kind.Again != nil {
			pause = kind.Again(err)
		}
		timer.Stop()
		if pause > 0 {
			timer.Reset(pause)
		}
	}
}

// run is one run.
func (k *kept) run(ctx context.Context) error {
	k.mu.Lock()
	k.began = time.Now()
	k.mu.Unlock()
	err := k.Run(ctx)
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.metrics.Took += now.Sub(k.began)
	k.began = time.Time{}
	k.metrics.Runs++
	k.metrics.Error = ""
	if err != nil {
		k.metrics.Failures++
		k.metrics.Error = err.Error()
	} else {
		k.succeeded = now
	}
	return err
}

// Metrics are the numbers of this moment, by kind, in the order in which they were begun.
func (u *Upkeep) Metrics() []Metrics {
	u.mu.Lock()
	kinds := u.kinds[:len(u.kinds):len(u.kinds)]
	u.mu.Unlock()
	list := make([]Metrics, 0, len(kinds))
	for _, k := range kinds {
		list = append(list, k.now())
	}
	return list
}

func (k *kept) now() Metrics {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := k.metrics
	if !k.began.IsZero() {
		m.Running = time.Since(k.began)
	}
	if m.Done = !k.succeeded.IsZero(); m.Done {
		m.Since = time.Since(k.succeeded)
	}
	return m
}
