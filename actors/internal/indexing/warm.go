package indexing

import (
	"context"
	"slices"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
)

// warmBehavior keeps the indexes of one database warm (clause V9): those that somebody asked this node for lately.
// When the database has changed, it gathers changes for a moment and then brings the indexes up to date, as a request
// would: a small lag at once, a larger one by a job. Now and then, and when changes have ended, it brings their
// aggregates up to date too, whoever has written the rows.
type warmBehavior struct {
	used   func() []usedIndex
	gather time.Duration
	every  time.Duration // how often to look whether the indexes are still used
	settle time.Duration // how long aggregates are left as they are
	pause  runtime.Backoff

	stale       bool // aggregates may be
	aggregating time.Time
	rested      time.Time // then they may be brought up to date again
	quiet       bool      // nothing has changed for a while: now is the time

	phase warmPhase
	facts WarmFacts
}

// restsFor is how many times as long as it took aggregates are left as they are while changes go on: bringing them up
// to date is a part of the work then, and not most of it, and a query reads some more rows.
const restsFor = 3

type warmPhase string

const (
	warmWaiting   warmPhase = "waiting"
	warmGathering warmPhase = "gathering"
	warmUpdating  warmPhase = "updating"
	warmSumming   warmPhase = "aggregating"
	warmRetrying  warmPhase = "backing off"
)

// WarmFacts are the figures of an actor that keeps indexes warm.
type WarmFacts struct {
	Indexes int    `json:"indexes"`
	Updates int64  `json:"updates"`
	Error   string `json:"error,omitempty"`
}

// Messages of a warm actor.
type (
	// changed says that there may be something to do, or an error of waiting for it.
	changed   struct{ err error }
	gathered  struct{}
	updated   struct{ err error }
	waitAgain struct{ changed bool }
	summed    struct{ err error }
	retry     struct{}
)

// Effects of a warm actor.
type (
	// awaitChange waits until an index is behind, or for a while; after a change not for longer than settle.
	awaitChange struct {
		indexes       []usedIndex
		limit, settle time.Duration
	}
	updateIndexes    struct{ indexes []usedIndex }
	aggregateIndexes struct{ indexes []usedIndex }
)

func (b *warmBehavior) Step(now time.Time, message any) []runtime.Effect {
	switch m := message.(type) {
	case runtime.Started:
		b.stale, b.rested = true, now.Add(b.settle) // they may be from before there were aggregates
		return b.wait(now)
	case retry:
		return b.wait(now)
	case waitAgain:
		b.succeeded()
		b.stale, b.quiet = b.stale || m.changed, !m.changed
		return b.wait(now)
	case changed:
		if m.err != nil {
			return b.failed(m.err)
		}
		b.stale, b.quiet = true, false
		b.phase = warmGathering
		return []runtime.Effect{runtime.After{Delay: b.gather, Message: gathered{}}}
	case gathered:
		b.phase = warmUpdating
		return []runtime.Effect{updateIndexes{b.used()}}
	case updated:
		if m.err != nil {
			return b.failed(m.err)
		}
		b.succeeded()
		b.facts.Updates++
		return b.wait(now)
	case summed:
		if m.err != nil {
			return b.failed(m.err)
		}
		b.succeeded()
		took := now.Sub(b.aggregating)
		b.stale = took > b.settle // rows may have been written behind one that takes long
		b.rested = now.Add(max(b.settle, restsFor*took))
		return b.wait(now)
	}
	return nil
}

func (b *warmBehavior) wait(now time.Time) []runtime.Effect {
	indexes := b.used()
	b.facts.Indexes = len(indexes)
	if len(indexes) == 0 {
		return []runtime.Effect{runtime.StopSelf{}}
	}
	limit := b.every
	if b.stale {
		if limit = min(b.rested.Sub(now), b.settle); limit <= 0 || b.quiet {
			b.phase, b.aggregating, b.quiet = warmSumming, now, false
			return []runtime.Effect{aggregateIndexes{indexes}}
		}
	}
	if b.facts.Error != "" {
		limit = min(limit, b.settle) // to know soon that it is over
	}
	b.phase = warmWaiting
	return []runtime.Effect{awaitChange{indexes, limit, b.settle}}
}

func (b *warmBehavior) failed(err error) []runtime.Effect {
	b.phase, b.facts.Error = warmRetrying, err.Error()
	return []runtime.Effect{runtime.After{Delay: b.pause.Next(), Message: retry{}}}
}

// succeeded forgets failures: something was done, or found to be up to date. To begin to wait is no success yet.
func (b *warmBehavior) succeeded() {
	b.pause.Reset()
	b.facts.Error = ""
}

func (b *warmBehavior) Status() (string, any) { return string(b.phase), b.facts }

// warmer does the I/O of the actor that keeps the indexes of a database warm.
type warmer struct {
	*Indexing
	db ports.Database
}

// spec is that actor.
func (w warmer) spec() runtime.Spec {
	return runtime.Spec{
		Kind: "warm", Name: w.db.Name(),
		Make: func() runtime.Behavior {
			used := func() []usedIndex { return w.builds.usedIn(w.db, w.tree.Now()) }
			return &warmBehavior{used: used, gather: w.WarmGather, every: w.WarmFor / 4, settle: 8 * w.WarmGather,
				pause: runtime.NewBackoff(100*time.Millisecond, 10*time.Second)}
		},
		Perform: func(sh *runtime.Shell, e runtime.Effect) {
			switch e := e.(type) {
			case awaitChange:
				sh.Do(func(ctx context.Context) any {
					m := w.awaitChange(ctx, e)
					if c, ok := m.(changed); ok && layer.KindOf(c.err) == layer.NotFound {
						w.builds.unuse(w.db, nil)
						return waitAgain{}
					}
					return m
				})
			case updateIndexes:
				sh.Do(func(ctx context.Context) any { return updated{w.update(ctx, e.indexes)} })
			case aggregateIndexes:
				sh.Do(func(ctx context.Context) any { return summed{w.aggregate(ctx, e.indexes)} })
			}
		},
	}
}

// awaitChange listens first and looks then, so that no change is missed, and waits where all is up to date.
func (w warmer) awaitChange(ctx context.Context, e awaitChange) any {
	shards, err := w.db.Shards(ctx)
	if err != nil {
		return changed{err}
	}
	woken, cancel := w.Listen(w.db, shards...)
	defer cancel()
	limit := time.NewTimer(e.limit)
	defer limit.Stop()
	seen := false
	for {
		for _, ix := range e.indexes {
			state, err := w.db.IndexOf(ix.design).Standing(ctx)
			if err != nil {
				return changed{err}
			}
			if behind(state) {
				return changed{}
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-limit.C:
			return waitAgain{seen}
		case <-woken:
		}
		if !seen && e.settle < e.limit {
			limit.Reset(e.settle)
		}
		seen = true
		// A reshard wakes too: the new shards are listened to in the next round.
		if now, err := w.db.Shards(ctx); err != nil || !slices.Equal(now, shards) {
			return waitAgain{true}
		}
	}
}

// aggregate brings the aggregates of indexes up to date.
func (w warmer) aggregate(ctx context.Context, indexes []usedIndex) error {
	for _, ix := range indexes {
		if err := w.db.IndexOf(ix.design).Aggregate(ctx); err != nil {
			return err
		}
	}
	return nil
}

// update brings indexes up to date, or has it done. Those that no design document has any more are forgotten.
func (w warmer) update(ctx context.Context, indexes []usedIndex) error {
	designs, err := w.db.Designs(ctx)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, d := range designs {
		there[d.Signature] = true
	}
	w.builds.unuse(w.db, there)
	for _, ix := range indexes {
		if !there[ix.design.Signature] {
			continue
		}
		index := w.db.IndexOf(ix.design)
		state, err := index.Standing(ctx)
		if err != nil {
			return err
		}
		if !behind(state) {
			continue
		}
		caught := false
		if !state.Building {
			key := indexKey{db: w.db, signature: ix.design.Signature}
			if caught, err = w.builds.catchUp(ctx, key, state.Seq, index); err != nil {
				return err
			}
		}
		if caught {
			continue
		}
		if running, err := w.jobRuns(ctx, jobOf(w.db, ix.design)); running || err != nil {
			if err != nil {
				return err
			}
			continue // what is lacking when it ends is another update, and mostly little
		}
		if err := w.enqueue(ctx, jobOf(w.db, ix.design)); err != nil {
			return err
		}
	}
	return nil
}

// jobRuns reports whether a worker has the job.
func (w warmer) jobRuns(ctx context.Context, j indexJob) (bool, error) {
	job, watch, err := w.store.Job(ctx, indexJobs, j.id())
	if err != nil {
		return false, err
	}
	watch.Cancel()
	return job != nil && job.State == layer.JobRunning, nil
}

// behind reports whether there are changes that are neither in the index nor in the build under way.
func behind(state layer.IndexState) bool {
	return state.Seq.Compare(state.LastSeq) < 0 && !(state.Building && state.Goal.Compare(state.LastSeq) >= 0)
}
