package actors

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/divandb/divan/actors/internal/feeds"
	"github.com/divandb/divan/actors/internal/indexing"
	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
)

// databaseChanged tells the databases actor that a database got its first listener or lost its last, or that this node
// took on or finished an index job of it, or started or stopped keeping one of its indexes warm.
type databaseChanged struct{ db ports.Database }

// changes has the databases for which a databaseChanged waits. Requests can change what they do with a database faster
// than the actor looks, so there is one message for each database at a time. It is safe for concurrent use.
type changes struct {
	mu      sync.Mutex
	waiting map[ports.Database]bool
}

func newChanges() *changes { return &changes{waiting: map[ports.Database]bool{}} }

// add reports whether a message is to be sent.
func (c *changes) add(db ports.Database) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.waiting[db]
	c.waiting[db] = true
	return first
}

// take removes a database before the actor looks at it.
func (c *changes) take(db ports.Database) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, db)
}

// clear removes all. An actor that begins looks at all databases, and an earlier life may have lost messages.
func (c *changes) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.waiting)
}

// databasesBehavior keeps an actor for each database in use.
type databasesBehavior struct {
	all func() []ports.Database // databases in use
	// reports whether one is; called for each that changes, so it must not iterate over the others
	inUse func(db ports.Database) bool
	spec  func(db ports.Database) runtime.Spec
	// changes has the databases for which messages wait
	changes *changes
	open    map[string]ports.Database // by child key
	keys    map[ports.Database]string
	serial  int
}

// DatabasesFacts describe the state of the databases actor.
type DatabasesFacts struct {
	Open int `json:"open"`
}

func (b *databasesBehavior) Step(_ time.Time, message any) []runtime.Effect {
	switch m := message.(type) {
	case runtime.Started:
		b.changes.clear()
		var e []runtime.Effect
		for _, db := range b.all() {
			e = append(e, b.ensure(db)...)
		}
		return e
	case databaseChanged:
		b.changes.take(m.db)
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

// changed makes a database's actor check what it should run, and starts the actor if there is none.
func (b *databasesBehavior) changed(db ports.Database) []runtime.Effect {
	if key, ok := b.keys[db]; ok {
		return []runtime.Effect{runtime.Tell{Key: key, Message: runtime.LookAgain{}}}
	}
	if b.inUse(db) {
		return b.ensure(db)
	}
	return nil
}

// ensure starts a database's actor if there is none. Keys are numbered, because a database of the same name can be
// created while the actor of a deleted one is ending.
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

// databasesSpec returns the actor of the databases that have listeners, or indexes being built or kept warm.
func databasesSpec(f *feeds.Feeds, x *indexing.Indexing, c *changes, linger time.Duration) runtime.Spec {
	return runtime.Spec{Kind: "databases", Make: func() runtime.Behavior {
		return &databasesBehavior{
			changes: c,
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

// databaseBehavior keeps the actors of one database: one for each shard that has listeners, one for each index job on
// this node, and one that keeps indexes warm. It ends some time after the last of them.
type databaseBehavior struct {
	wanted   func() []runtime.Spawn // keys never change
	linger   time.Duration
	running  map[string]bool // by key
	idleTurn int
}

// lingered means that the time is over for which a database without actors is kept.
type lingered struct{ turn int }

// DatabaseFacts describe the state of a database actor.
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

// reconcile starts missing actors, and makes the others check whether they are still needed.
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
