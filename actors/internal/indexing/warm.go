package indexing

import (
	"context"
	"slices"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
)

// warmBehavior keeps the indexes of one database warm (clause V9): those that this node was recently asked for. When
// the database has changed, it gathers changes for a moment and then brings the indexes up to date as a request would:
// a small lag directly, a larger one by a job. From time to time, and when there are no more changes, it also brings
// their aggregates up to date, whichever node has written the rows.
type warmBehavior struct {
	used   func() []usedIndex
	gather time.Duration
	every  time.Duration // how often to check whether the indexes are still used
	settle time.Duration // how long aggregates are left alone
	pause  runtime.Backoff

	stale       bool // aggregates may be out of date
	aggregating time.Time
	rested      time.Time // when aggregates may be updated again
	quiet       bool      // nothing has changed for a while, so this is a good time

	phase warmPhase
	facts WarmFacts
}

// restsFor is how many times the duration of an update of the aggregates they are then left alone while there are
// changes. So updates are only a part of the work, while queries read some more rows.
const restsFor = 3

type warmPhase string

const (
	warmWaiting   warmPhase = "waiting"
	warmGathering warmPhase = "gathering"
	warmUpdating  warmPhase = "updating"
	warmSumming   warmPhase = "aggregating"
	warmRetrying  warmPhase = "backing off"
)

// WarmFacts describe the state of an actor that keeps indexes warm.
type WarmFacts struct {
	Indexes int    `json:"indexes"`
	Updates int64  `json:"updates"`
	Error   string `json:"error,omitempty"`
}

// Messages of a warm actor.
type (
	// changed means that there may be something to do, or has an error of waiting for it.
	changed   struct{ err error }
	gathered  struct{}
	updated   struct{ err error }
	waitAgain struct{ changed bool }
	summed    struct{ err error }
	retry     struct{}
)

// Effects of a warm actor.
type (
	// awaitChange waits until an index is behind or a limit has passed; after a change the limit is at most settle.
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
		b.stale, b.rested = true, now.Add(b.settle) // rows may be older than the last update of the aggregates
		return b.wait(now)
	case retry:
		return b.wait(now)
	case runtime.LookAgain:
		if len(b.used()) == 0 {
			return []runtime.Effect{runtime.StopSelf{}}
		}
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
		b.stale = took > b.settle // during a long update more rows may have been written
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
		limit = min(limit, b.settle) // notice the end of the changes soon
	}
	b.phase = warmWaiting
	return []runtime.Effect{awaitChange{indexes, limit, b.settle}}
}

func (b *warmBehavior) failed(err error) []runtime.Effect {
	b.phase, b.facts.Error = warmRetrying, err.Error()
	return []runtime.Effect{runtime.After{Delay: b.pause.Next(), Message: retry{}}}
}

// succeeded resets the failures: something was done, or was found to be up to date. Beginning to wait is not a success
// yet.
func (b *warmBehavior) succeeded() {
	b.pause.Reset()
	b.facts.Error = ""
}

func (b *warmBehavior) Status() (string, any) { return string(b.phase), b.facts }

// warmer does the I/O of a warm actor.
type warmer struct {
	*Indexing
	db ports.Database
}

// spec returns the warm actor.
func (w warmer) spec() runtime.Spec {
	return runtime.Spec{
		Kind: "warm", Name: w.db.Name(),
		Make: func() runtime.Behavior {
			used := func() []usedIndex { return w.builds.warmIn(w.db, w.tree.Now()) }
			return &warmBehavior{used: used, gather: w.WarmGather, every: w.WarmFor / 4, settle: 8 * w.WarmGather,
				pause: runtime.NewBackoff(100*time.Millisecond, 10*time.Second)}
		},
		Perform: func(sh *runtime.Shell, e runtime.Effect) {
			sh.Do(func(ctx context.Context) (m any) {
				var err error
				switch e := e.(type) {
				case awaitChange:
					m = w.awaitChange(ctx, e)
					if c, ok := m.(changed); ok {
						err = c.err
					}
				case updateIndexes:
					err = w.update(ctx, e.indexes)
					m = updated{err}
				case aggregateIndexes:
					err = w.aggregate(ctx, e.indexes)
					m = summed{err}
				}
				if layer.KindOf(err) == layer.NotFound { // the database is gone
					w.builds.unuse(w.db, nil)
					return waitAgain{}
				}
				return m
			})
		},
	}
}

// awaitChange subscribes first and then checks, so that it misses no change. It waits if everything is up to date.
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
			state, err := w.db.IndexOf(ix.design).BriefState(ctx)
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
		// A reshard also wakes. The next round subscribes to the new shards.
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

// update brings indexes up to date, directly or by jobs. It forgets those that no design document defines any more.
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
		state, err := index.BriefState(ctx)
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
		// If the job is running, the lag at its end needs another, mostly small, update.
		p, err := index.RequestBuild(ctx, state.LastSeq)
		if err != nil {
			return err
		}
		p.Watch.Cancel()
	}
	return nil
}

// behind reports whether there are changes that are neither in the index nor in the running build.
func behind(state layer.IndexState) bool {
	return state.Seq.Compare(state.LastSeq) < 0 && !(state.Building && state.Goal.Compare(state.LastSeq) >= 0)
}
