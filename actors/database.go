package actors

import (
	"fmt"
	"slices"
	"time"
)

// databaseChanged tells the databases actor that somebody began or ceased to listen to a database, or that this node
// took on an index job of it, or an index to keep warm, or has done with one.
type databaseChanged struct{ db Database }

// databasesBehavior keeps an actor for each database that is in use.
type databasesBehavior struct {
	all    func() []Database      // those in use
	inUse  func(db Database) bool // whether one is; asked for each that changes, so it must not look at the others
	spec   func(db Database) spec
	open   map[string]Database // by child key
	keys   map[Database]string
	serial int
}

// DatabasesFacts are the figures of the databases actor.
type DatabasesFacts struct {
	Open int `json:"open"`
}

func (b *databasesBehavior) Step(_ time.Time, message any) []effect {
	switch m := message.(type) {
	case started:
		var e []effect
		for _, db := range b.all() {
			e = append(e, b.ensure(db)...)
		}
		return e
	case databaseChanged:
		return b.changed(m.db)
	case childGone:
		db := b.open[m.key]
		delete(b.open, m.key)
		delete(b.keys, db)
		if b.inUse(db) {
			return b.ensure(db)
		}
	}
	return nil
}

// changed has a database's actor look what it should have, and starts it where there is none.
func (b *databasesBehavior) changed(db Database) []effect {
	if key, ok := b.keys[db]; ok {
		return []effect{tell{key: key, message: lookAgain{}}}
	}
	if b.inUse(db) {
		return b.ensure(db)
	}
	return nil
}

// ensure starts a database's actor where there is none. Keys are numbered, since a database of the same name can take
// over while the actor of a deleted one is ending.
func (b *databasesBehavior) ensure(db Database) []effect {
	if _, ok := b.keys[db]; ok {
		return nil
	}
	b.serial++
	key := fmt.Sprint(b.serial)
	b.open[key], b.keys[db] = db, key
	return []effect{spawn{key: key, spec: b.spec(db)}}
}

func (b *databasesBehavior) Status() (string, any) {
	return "running", DatabasesFacts{Open: len(b.open)}
}

// databasesSpec is the actor of the databases that somebody listens to, or that have an index being built or kept warm.
func databasesSpec(f *feeds, x *indexing, linger time.Duration) spec {
	return spec{kind: "databases", make: func() behavior {
		return &databasesBehavior{
			all: func() []Database {
				list := append(f.databases(), x.databases()...)
				there := make(map[Database]bool, len(list))
				return slices.DeleteFunc(list, func(db Database) bool {
					known := there[db]
					there[db] = true
					return known
				})
			},
			inUse: func(db Database) bool { return f.listened(db) || x.concerns(db) },
			spec:  func(db Database) spec { return databaseSpec(db, f, x, linger) },
			open:  map[string]Database{}, keys: map[Database]string{},
		}
	}}
}

// databaseBehavior keeps the actors of one database: one for each shard that somebody listens to, one for each index
// job this node has, and one that keeps indexes warm. It ends when it has had none for a while.
type databaseBehavior struct {
	wanted   func() []spawn // keys do not change
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

func (b *databaseBehavior) Step(_ time.Time, message any) []effect {
	switch m := message.(type) {
	case started, lookAgain:
		return b.reconcile()
	case childGone:
		delete(b.running, m.key)
		return b.reconcile()
	case lingered:
		if m.turn == b.idleTurn && len(b.running) == 0 {
			return []effect{stopSelf{}}
		}
	}
	return nil
}

// reconcile starts what is wanted and has the others look whether they are.
func (b *databaseBehavior) reconcile() []effect {
	var e []effect
	for key := range b.running {
		e = append(e, tell{key: key, message: lookAgain{}})
	}
	for _, child := range b.wanted() {
		if !b.running[child.key] {
			b.running[child.key] = true
			e = append(e, child)
		}
	}
	b.idleTurn++
	if len(b.running) == 0 {
		e = append(e, after{delay: b.linger, message: lingered{b.idleTurn}})
	}
	return e
}

func (b *databaseBehavior) Status() (string, any) {
	return "open", DatabaseFacts{Actors: len(b.running)}
}

func databaseSpec(db Database, f *feeds, x *indexing, linger time.Duration) spec {
	return spec{kind: "database", name: db.Name(), make: func() behavior {
		return &databaseBehavior{linger: linger, running: map[string]bool{},
			wanted: func() []spawn { return append(f.children(db), x.children(db)...) }}
	}}
}
