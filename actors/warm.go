package actors

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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
	pause  backoff

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

func (b *warmBehavior) step(now time.Time, message any) []effect {
	switch m := message.(type) {
	case started:
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
		return []effect{after{b.gather, gathered{}}}
	case gathered:
		b.phase = warmUpdating
		return []effect{updateIndexes{b.used()}}
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

func (b *warmBehavior) wait(now time.Time) []effect {
	indexes := b.used()
	b.facts.Indexes = len(indexes)
	if len(indexes) == 0 {
		return []effect{stopSelf{}}
	}
	limit := b.every
	if b.stale {
		if limit = min(b.rested.Sub(now), b.settle); limit <= 0 || b.quiet {
			b.phase, b.aggregating, b.quiet = warmSumming, now, false
			return []effect{aggregateIndexes{indexes}}
		}
	}
	if b.facts.Error != "" {
		limit = min(limit, b.settle) // to know soon that it is over
	}
	b.phase = warmWaiting
	return []effect{awaitChange{indexes, limit, b.settle}}
}

func (b *warmBehavior) failed(err error) []effect {
	b.phase, b.facts.Error = warmRetrying, err.Error()
	return []effect{after{b.pause.next(), retry{}}}
}

// succeeded forgets failures: something was done, or found to be up to date. To begin to wait is no success yet.
func (b *warmBehavior) succeeded() {
	b.pause.reset()
	b.facts.Error = ""
}

func (b *warmBehavior) status() (string, any) { return string(b.phase), b.facts }

func (s *System) warmSpec(db Database) spec {
	return spec{
		kind: "warm", name: db.Name(),
		make: func() behavior {
			used := func() []usedIndex { return s.builds.usedIn(db, s.now()) }
			return &warmBehavior{used: used, gather: s.o.WarmGather, every: s.o.WarmFor / 4, settle: 8 * s.o.WarmGather,
				pause: newBackoff(100*time.Millisecond, 10*time.Second)}
		},
		perform: func(sh *shell, e effect) {
			switch e := e.(type) {
			case awaitChange:
				sh.do(func(ctx context.Context) any {
					m := s.awaitChange(ctx, db, e)
					if c, ok := m.(changed); ok && layer.KindOf(c.err) == layer.NotFound {
						s.builds.unuse(db, nil)
						return waitAgain{}
					}
					return m
				})
			case updateIndexes:
				sh.do(func(ctx context.Context) any { return updated{s.updateIndexes(ctx, db, e.indexes)} })
			case aggregateIndexes:
				sh.do(func(ctx context.Context) any { return summed{s.aggregateIndexes(ctx, db, e.indexes)} })
			}
		},
	}
}

// awaitChange listens first and looks then, so that no change is missed, and waits where all is up to date.
func (s *System) awaitChange(ctx context.Context, db Database, e awaitChange) any {
	shards, err := db.Shards(ctx)
	if err != nil {
		return changed{err}
	}
	woken, cancel := s.Listen(db, shards...)
	defer cancel()
	limit := time.NewTimer(e.limit)
	defer limit.Stop()
	seen := false
	for {
		for _, ix := range e.indexes {
			state, err := db.IndexOf(ix.design).Standing(ctx)
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
		if now, err := db.Shards(ctx); err != nil || !slices.Equal(now, shards) {
			return waitAgain{true}
		}
	}
}

func (s *System) aggregateIndexes(ctx context.Context, db Database, indexes []usedIndex) error {
	for _, ix := range indexes {
		if err := db.IndexOf(ix.design).Aggregate(ctx); err != nil {
			return err
		}
	}
	return nil
}

// updateIndexes brings indexes up to date, or has it done. Those that no design document has any more are forgotten.
func (s *System) updateIndexes(ctx context.Context, db Database, indexes []usedIndex) error {
	designs, err := db.Designs(ctx)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, d := range designs {
		there[d.Signature] = true
	}
	s.builds.unuse(db, there)
	for _, ix := range indexes {
		if !there[ix.design.Signature] {
			continue
		}
		index := db.IndexOf(ix.design)
		state, err := index.Standing(ctx)
		if err != nil {
			return err
		}
		if !behind(state) {
			continue
		}
		caught := false
		if !state.Building {
			key := indexKey{db: db, signature: ix.design.Signature}
			if caught, err = s.builds.catchUp(ctx, key, state.Seq, index); err != nil {
				return err
			}
		}
		if caught {
			continue
		}
		if running, err := s.jobRuns(ctx, jobOf(db, ix.design)); running || err != nil {
			if err != nil {
				return err
			}
			continue // what is lacking when it ends is another update, and mostly little
		}
		if err := s.enqueue(ctx, jobOf(db, ix.design)); err != nil {
			return err
		}
	}
	return nil
}

// jobRuns reports whether a worker has the job.
func (s *System) jobRuns(ctx context.Context, j indexJob) (bool, error) {
	job, watch, err := s.store.Job(ctx, indexJobs, j.id())
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

// usedIndex is an index that somebody asked this node for.
type usedIndex struct {
	db     Database
	design *layer.Design
	until  time.Time // then it is forgotten
}

// IndexInfo is an index that this node was asked for lately.
type IndexInfo struct {
	Database string   `json:"database"`
	Design   string   `json:"design"` // its document's id
	Views    []string `json:"views"`
	Rows     int64    `json:"rows"`
	Bytes    int64    `json:"bytes"`
	Errors   int64    `json:"errors"`            // documents skipped
	Skipped  string   `json:"skipped,omitempty"` // one of them, and why
	Building bool     `json:"building"`
	Seq      string   `json:"seq"`
	LastSeq  string   `json:"last_seq"` // of the database
	Current  bool     `json:"current"`
}

// Indexes tells where the indexes stand that this node builds, or was asked for lately, by database and design
// document: of no more than most, those that are built and those that it was asked for last. Each costs some reads;
// the others cost none. Those that cannot be read are left out.
func (s *System) Indexes(ctx context.Context, most int) ([]IndexInfo, error) {
	list := []IndexInfo{}
	used := s.used()
	designs := map[Database][]*layer.Design{} // of what is built alone
	for _, ix := range used[:min(len(used), most)] {
		if ix.design == nil {
			of, read := designs[ix.db]
			if !read {
				var err error
				if of, err = ix.db.Designs(ctx); err != nil && ctx.Err() != nil {
					return nil, err
				}
				designs[ix.db] = of
			}
			at := slices.IndexFunc(of, func(d *layer.Design) bool { return d.Signature == ix.signature })
			if at < 0 {
				continue
			}
			ix.design = of[at]
		}
		state, err := ix.db.IndexOf(ix.design).State(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			continue
		}
		info := IndexInfo{Database: ix.db.Name(), Design: ix.design.ID, Views: []string{}, Building: state.Building,
			Seq: state.Seq.String(), LastSeq: state.LastSeq.String(), Current: state.Current()}
		for _, v := range state.Views {
			info.Views = append(info.Views, v.Name)
			info.Rows += v.Rows
			info.Bytes += v.Bytes
			info.Errors += v.Errors
			if e := v.Skipped; e != nil && info.Skipped == "" {
				info.Skipped = fmt.Sprintf("%s skips document %q: %s", v.Name, e.DocID, e.Error)
			}
		}
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b IndexInfo) int {
		return cmp.Or(cmp.Compare(a.Database, b.Database), cmp.Compare(a.Design, b.Design))
	})
	return list, nil
}

// shownIndex is an index that Indexes may show.
type shownIndex struct {
	usedIndex // without its design where it is only built
	signature string
}

// used is the indexes that somebody asked for lately, and those that are built without that: after a restart, or for
// another node. Those come first that were asked for last. It reads nothing: there may be many more than are shown.
func (s *System) used() (list []shownIndex) {
	known := map[indexKey]bool{}
	for _, ix := range s.builds.used(s.now()) {
		known[indexKey{db: ix.db, signature: ix.design.Signature}] = true
		list = append(list, shownIndex{ix, ix.design.Signature})
	}
	until := s.now().Add(s.o.WarmFor)
	for _, t := range s.builds.list() {
		key := indexKey{db: t.key.db, signature: t.key.signature} // of all shards of a shared build
		if !known[key] {
			known[key] = true
			list = append(list, shownIndex{usedIndex{db: key.db, until: until}, key.signature})
		}
	}
	slices.SortFunc(list, func(a, b shownIndex) int {
		return cmp.Or(b.until.Compare(a.until), cmp.Compare(a.db.Name(), b.db.Name()),
			cmp.Compare(a.signature, b.signature))
	})
	return list
}

// CountIndexes is how many indexes this node was asked for lately.
func (s *System) CountIndexes() int { return len(s.builds.used(s.now())) }

// ShardInfo is a changes shard that somebody listens to on this node.
type ShardInfo struct {
	Database string `json:"database"`
	Shard    string `json:"shard"`
	State    string `json:"state"`
	ShardFacts
}

// Shards lists changes shards that are watched on this node, by database: no more than most, those first whose actors
// have an error.
func (s *System) Shards(most int) []ShardInfo {
	all := s.shardRecords()
	byName := func(a, b *record) int { return strings.Compare(a.id, b.id) }
	slices.SortFunc(all, func(a, b *record) int {
		if x, y := a.troubled(), b.troubled(); x != y {
			if x {
				return -1
			}
			return 1
		}
		return byName(a, b)
	})
	shown := all[:min(len(all), most)]
	slices.SortFunc(shown, byName)
	list := []ShardInfo{}
	for _, r := range shown {
		n := r.snapshot(s.now(), 0)
		facts, _ := n.Facts.(ShardFacts) // none while it starts
		list = append(list, ShardInfo{Database: r.parent.name, Shard: n.Name, State: n.State, ShardFacts: facts})
	}
	return list
}

// CountShards is how many changes shards are watched on this node.
func (s *System) CountShards() int { return len(s.shardRecords()) }

func (s *System) shardRecords() (all []*record) {
	s.tree.walk(func(r *record) {
		if r.kind == shardKind {
			all = append(all, r)
		}
	})
	return all
}

// troubled reports whether a shard's actor has an error.
func (r *record) troubled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	facts, ok := r.mu.facts.(ShardFacts)
	return ok && facts.Error != ""
}
