package actors

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/divandb/divan/layer"
)

// warmBehavior keeps the indexes of one database warm (clause V9): those that somebody asked this node for lately. When the database has changed, it
// gathers changes for a moment and then brings the indexes up to date, as a request would: a small lag at once, a larger one by a job.
type warmBehavior struct {
	used   func() []usedIndex
	gather time.Duration
	every  time.Duration // how often to look whether the indexes are still used
	pause  backoff

	phase warmPhase
	facts WarmFacts
}

type warmPhase string

const (
	warmWaiting   warmPhase = "waiting"
	warmGathering warmPhase = "gathering"
	warmUpdating  warmPhase = "updating"
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
	waitAgain struct{}
)

// Effects of a warm actor.
type (
	// awaitChange waits until an index is behind, or for a while.
	awaitChange struct {
		indexes []usedIndex
		limit   time.Duration
	}
	updateIndexes struct{ indexes []usedIndex }
)

func (b *warmBehavior) step(_ time.Time, message any) []effect {
	switch m := message.(type) {
	case started, waitAgain:
		return b.wait()
	case changed:
		if m.err != nil {
			return b.failed(m.err)
		}
		b.phase = warmGathering
		return []effect{after{b.gather, gathered{}}}
	case gathered:
		b.phase = warmUpdating
		return []effect{updateIndexes{b.used()}}
	case updated:
		if m.err != nil {
			return b.failed(m.err)
		}
		b.facts.Updates++
		return b.wait()
	}
	return nil
}

func (b *warmBehavior) wait() []effect {
	indexes := b.used()
	b.facts.Indexes = len(indexes)
	if len(indexes) == 0 {
		return []effect{stopSelf{}}
	}
	b.phase = warmWaiting
	return []effect{awaitChange{indexes, b.every}}
}

func (b *warmBehavior) failed(err error) []effect {
	b.phase, b.facts.Error = warmRetrying, err.Error()
	return []effect{after{b.pause.next(), waitAgain{}}}
}

func (b *warmBehavior) status() (string, any) {
	if b.phase == warmWaiting {
		b.pause.reset()
		b.facts.Error = ""
	}
	return string(b.phase), b.facts
}

func (s *System) warmSpec(db Database) spec {
	return spec{
		kind: "warm", name: db.Name(),
		make: func() behavior {
			return &warmBehavior{used: func() []usedIndex { return s.builds.usedIn(db, s.now()) }, gather: s.o.WarmGather, every: s.o.WarmFor / 4,
				pause: newBackoff(100*time.Millisecond, 10*time.Second)}
		},
		perform: func(sh *shell, e effect) {
			switch e := e.(type) {
			case awaitChange:
				sh.do(func(ctx context.Context) any { return s.awaitChange(ctx, db, e) })
			case updateIndexes:
				sh.do(func(ctx context.Context) any { return updated{s.updateIndexes(ctx, db, e.indexes)} })
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
	for {
		for _, ix := range e.indexes {
			state, err := db.IndexOf(ix.design).State(ctx)
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
			return waitAgain{}
		case <-woken:
		}
		// A reshard wakes too: the new shards are listened to in the next round.
		if now, err := db.Shards(ctx); err != nil || !slices.Equal(now, shards) {
			return waitAgain{}
		}
	}
}

// updateIndexes brings indexes up to date, or has it done.
func (s *System) updateIndexes(ctx context.Context, db Database, indexes []usedIndex) error {
	for _, ix := range indexes {
		index := db.IndexOf(ix.design)
		state, err := index.State(ctx)
		if err != nil {
			return err
		}
		if !behind(state) {
			continue
		}
		caught := false
		if !state.Building {
			if caught, err = index.CatchUp(ctx, catchUpDocuments); err != nil {
				return err
			}
		}
		if caught {
			continue
		}
		// Of a build under way this makes another follow it.
		if err := s.enqueue(ctx, jobOf(db, ix.design)); err != nil {
			return err
		}
	}
	return nil
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
	Design   string   `json:"design"`
	Views    []string `json:"views"`
	Rows     int64    `json:"rows"`
	Bytes    int64    `json:"bytes"`
	Errors   int64    `json:"errors"` // documents skipped
	Building bool     `json:"building"`
	Seq      string   `json:"seq"`
	LastSeq  string   `json:"last_seq"` // of the database
	Current  bool     `json:"current"`
}

// Indexes tells where the indexes stand that this node was asked for lately, by database and design document; those that cannot be read are left out.
func (s *System) Indexes(ctx context.Context) ([]IndexInfo, error) {
	list := []IndexInfo{}
	for _, ix := range s.builds.usedIn(nil, s.now()) {
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
		}
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b IndexInfo) int {
		return cmp.Or(cmp.Compare(a.Database, b.Database), cmp.Compare(a.Design, b.Design))
	})
	return list, nil
}

// ShardInfo is a changes shard that somebody listens to on this node.
type ShardInfo struct {
	Database string `json:"database"`
	Shard    string `json:"shard"`
	State    string `json:"state"`
	ShardFacts
}

// Shards lists the changes shards that are watched on this node, by database.
func (s *System) Shards() []ShardInfo {
	list := []ShardInfo{}
	var walk func(database string, n Node)
	walk = func(database string, n Node) {
		if n.Kind == "database" {
			database = n.Name
		}
		if n.Kind == "shard" {
			facts, _ := n.Facts.(ShardFacts) // none while it starts
			list = append(list, ShardInfo{Database: database, Shard: n.Name, State: n.State, ShardFacts: facts})
		}
		for _, c := range n.Children {
			walk(database, c)
		}
	}
	walk("", s.Tree())
	return list
}
