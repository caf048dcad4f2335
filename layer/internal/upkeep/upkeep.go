// Package upkeep runs the background work of a store, such as sweeps. Each kind of work has its own goroutine, period
// and metrics, so that one that is stuck does not delay the others. The work itself is implemented by the packages that
// it belongs to.
package upkeep

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// Kind is one kind of background work.
type Kind struct {
	// Name is the name in metrics: lower case, with underscores.
	Name string
	// First is the delay from the start to the first run, and Every the pause between two runs. If Every is 0, it runs
	// once, or whenever Wake receives.
	First, Every time.Duration
	// Wake, unless nil, starts a run whenever it receives. It is never closed.
	Wake <-chan struct{}
	// Again, unless nil, is called after a run with its error, and returns the pause before the next run, instead of
	// Every.
	Again func(err error) time.Duration
	// Run does the work. It returns when ctx is done.
	Run func(ctx context.Context) error
	// Failed names the work in the log if Run returns an error. Nothing is logged if it is empty, or if Silent is set
	// and returns true for the error.
	Failed string
	Silent func(err error) bool
}

// Metrics are the metrics of one kind.
type Metrics struct {
	Kind     string
	Every    time.Duration // 0 if it does not run periodically
	Runs     int64
	Failures int64
	Took     time.Duration // total duration of finished runs
	// Running is the duration of the current run, or 0.
	Running time.Duration
	// Since is the time since the end of the last successful run; Done reports whether there was one.
	Since time.Duration
	Done  bool
	Error string // error of the last run, or empty
}

// Upkeep is the background work of one store. The zero value is empty. It is safe for concurrent use.
type Upkeep struct {
	Log   *slog.Logger
	mu    sync.Mutex
	kinds []*kept
}

// kept is a kind with its metrics.
type kept struct {
	Kind
	mu        sync.Mutex
	metrics   Metrics
	began     time.Time // start of the current run, or zero
	succeeded time.Time
}

// Keep runs a kind until ctx is done.
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
		// The node logs once that the store does not answer.
		if err != nil && kind.Failed != "" && !kv.IsCode(err, kv.CodeUnreachable) &&
			(kind.Silent == nil || !kind.Silent(err)) {
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

// run does one run.
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

// Metrics returns the current metrics of all kinds, in the order in which they were started.
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
