package actors

import (
	"fmt"
	"slices"
	"time"

	"github.com/divandb/divan/actors/internal/feeds"
	"github.com/divandb/divan/actors/internal/indexing"
	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
)

// databaseChanged tells the databases actor that somebody began or ceased to listen to a database, or that this node
// took on an index job of it, or an index to keep warm, or has done with one.
type databaseChanged struct{ db ports.Database }

// databasesBehavior keeps an actor for each database that is in use.
type databasesBehavior struct {
	all func() []ports.Database // those in use
	// whether one is; asked for each that changes, so it must not look at the others
	inUse  func(db ports.Database) bool
	spec   func(db ports.Database) runtime.Spec
	open   map[string]ports.Database // by child key
	keys   map[ports.Database]string
	serial int
}

// DatabasesFacts are the figures of the databases actor.
type DatabasesFacts struct {
	Open int `json:"open"`
}

func (b *databasesBehavior) Step(_ time.Time, message any) []runtime.Effect {
	switch m := message.(type) {
	case runtime.Started:
		var e []runtime.Effect
		for _, db := range b.all() {
			e = append(e, b.ensure(db)...)
		}
		return e
	case databaseChanged:
		return b.changed(m.db)
	case runtime.ChildGone:
		db := b.open[m.Key]
		delete(b.open, m.Key)
		delete(b.keys, db)
		if b.inUse(db) {
			return b.ensure(db)
		}
	}
	return nil
}

// changed has a database's actor look what it should have, and starts it where there is none.
func (b *databasesBehavior) changed(db ports.Database) []runtime.Effect {
	if key, ok := b.keys[db]; ok {
		return []runtime.Effect{runtime.Tell{Key: key, Message: runtime.LookAgain{}}}
	}
	if b.inUse(db) {
		return b.ensure(db)
	}
	return nil
}

// ensure starts a database's actor where there is none. Keys are numbered, since a database of the same name can take
// over while the actor of a deleted one is ending.
func (b *databasesBehavior) ensure(db ports.Database) []runtime.Effect {
	if _, ok := b.keys[db]; ok {
		return nil
	}
	b.serial++
	key := fmt.Sprint(b.serial)
	b.open[key], b.keys[db] = db, key
	return []runtime.Effect{runtime.Spawn{Key: key, Spec: b.spec(db)}}
}

func (b *databasesBehavior) Status() (string, any) {
	return "running", DatabasesFacts{Open: len(b.open)}
}

// databasesSpec is the actor of the databases that somebody listens to, or that have an index being built or kept warm.
func databasesSpec(f *feeds.Feeds, x *indexing.Indexing, linger time.Duration) runtime.Spec {
	return runtime.Spec{Kind: "databases", Make: func() runtime.Behavior {
		return &databasesBehavior{
			all: func() []ports.Database {
				list := append(f.Databases(), x.Databases()...)
				there := make(map[ports.Database]bool, len(list))
				return slices.DeleteFunc(list, func(db ports.Database) bool {
					known := there[db]
					there[db] = true
					return known
				})
			},
			inUse: func(db ports.Database) bool { return f.Listened(db) || x.Concerns(db) },
			spec:  func(db ports.Database) runtime.Spec { return databaseSpec(db, f, x, linger) },
			open:  map[string]ports.Database{}, keys: map[ports.Database]string{},
		}
	}}
}

// databaseBehavior keeps the actors of one database: one for each shard that somebody listens to, one for each index
// job this node has, and one that keeps indexes warm. It ends when it has had none for a while.
type databaseBehavior struct {
	wanted   func() []runtime.Spawn // keys do not change
	linger   time.Duration
	running  map[string]bool // by key
	idleTurn int
}

// lingered says that the time has passed for which a database without actors is kept.
type lingered struct{ turn int }

// DatabaseFacts are the figures of a database actor.
type DatabaseFacts struct {
	Actors int `json:"actors"`
}

func (b *databaseBehavior) Step(_ time.Time, message any) []runtime.Effect {
	switch m := message.(type) {
	case runtime.Started, runtime.LookAgain:
		return b.reconcile()
	case runtime.ChildGone:
		delete(b.running, m.Key)
		return b.reconcile()
	case lingered:
		if m.turn == b.idleTurn && len(b.running) == 0 {
			return []runtime.Effect{runtime.StopSelf{}}
		}
	}
	return nil
}

// reconcile starts what is wanted and has the others look whether they are.
func (b *databaseBehavior) reconcile() []runtime.Effect {
	var e []runtime.Effect
	for key := range b.running {
		e = append(e, runtime.Tell{Key: key, Message: runtime.LookAgain{}})
	}
	for _, child := range b.wanted() {
		if !b.running[child.Key] {
			b.running[child.Key] = true
			e = append(e, child)
		}
	}
	b.idleTurn++
	if len(b.running) == 0 {
		e = append(e, runtime.After{Delay: b.linger, Message: lingered{b.idleTurn}})
	}
	return e
}

func (b *databaseBehavior) Status() (string, any) {
	return "open", DatabaseFacts{Actors: len(b.running)}
}

func databaseSpec(db ports.Database, f *feeds.Feeds, x *indexing.Indexing, linger time.Duration) runtime.Spec {
	return runtime.Spec{Kind: "database", Name: db.Name(), Make: func() runtime.Behavior {
		return &databaseBehavior{linger: linger, running: map[string]bool{},
			wanted: func() []runtime.Spawn { return append(f.Children(db), x.Children(db)...) }}
	}}
}
