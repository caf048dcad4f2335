package actors

import (
	"fmt"
	"time"
)

// Messages to the databases actor, which passes them on.
type (
	// listenersChanged says that somebody began or ceased to listen.
	listenersChanged struct{ db Database }
	// tasksChanged says that this node took on an index job, or an index to keep warm.
	tasksChanged struct{ db Database }
)

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

func (b *databasesBehavior) step(_ time.Time, message any) []effect {
	switch m := message.(type) {
	case started:
		var e []effect
		for _, db := range b.all() {
			e = append(e, b.ensure(db)...)
		}
		return e
	case listenersChanged:
		return b.changed(m.db)
	case tasksChanged:
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
		return []effect{tell{key, lookAgain{}}}
	}
	if b.inUse(db) {
		return b.ensure(db)
	}
	return nil
}

// ensure starts a database's actor where there is none. Keys are numbered, since a database of the same name can take over while the actor of
// a deleted one is ending.
func (b *databasesBehavior) ensure(db Database) []effect {
	if _, ok := b.keys[db]; ok {
		return nil
	}
	b.serial++
	key := fmt.Sprint(b.serial)
	b.open[key], b.keys[db] = db, key
	return []effect{spawn{key, b.spec(db)}}
}

func (b *databasesBehavior) status() (string, any) {
	return "running", DatabasesFacts{Open: len(b.open)}
}

func (s *System) databasesSpec() spec {
	return spec{kind: "databases", make: func() behavior {
		return &databasesBehavior{all: s.databasesInUse, inUse: s.inUse, spec: s.databaseSpec,
			open: map[string]Database{}, keys: map[Database]string{}}
	}}
}

// databasesInUse is those that somebody listens to, or that have an index being built or kept warm.
func (s *System) databasesInUse() []Database {
	list := s.hub.databases()
	there := make(map[Database]bool, len(list))
	for _, db := range list {
		there[db] = true
	}
	for _, db := range s.builds.databases(s.now()) {
		if !there[db] {
			list = append(list, db)
		}
	}
	return list
}

// inUse reports whether a database is one of them.
func (s *System) inUse(db Database) bool { return s.hub.listened(db) || s.builds.has(db, s.now()) }

// databaseBehavior keeps the actors of one database: one for each shard that somebody listens to, one for each index job this node has, and one that keeps
// indexes warm. It ends when it has had none for a while.
type databaseBehavior struct {
	wanted   func() []spawn // keys do not change
	linger   time.Duration
	running  map[string]bool // by key
	idleTurn int
}

// DatabaseFacts are the figures of a database actor.
type DatabaseFacts struct {
	Actors int `json:"actors"`
}

func (b *databaseBehavior) step(_ time.Time, message any) []effect {
	switch m := message.(type) {
	case started, lookAgain:
		return b.reconcile()
	case childGone:
		delete(b.running, m.key)
		return b.reconcile()
	case idleOver:
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
		e = append(e, tell{key, lookAgain{}})
	}
	for _, child := range b.wanted() {
		if !b.running[child.key] {
			b.running[child.key] = true
			e = append(e, child)
		}
	}
	b.idleTurn++
	if len(b.running) == 0 {
		e = append(e, after{b.linger, idleOver{b.idleTurn}})
	}
	return e
}

func (b *databaseBehavior) status() (string, any) {
	return "open", DatabaseFacts{Actors: len(b.running)}
}

func (s *System) databaseSpec(db Database) spec {
	return spec{kind: "database", name: db.Name(), make: func() behavior {
		return &databaseBehavior{linger: s.o.Linger, running: map[string]bool{}, wanted: func() (list []spawn) {
			for shard := range s.hub.wanted(db) {
				list = append(list, spawn{"shard " + string(shard), s.shardSpec(db, shard)})
			}
			for _, t := range s.builds.listIn(db) {
				list = append(list, spawn{"index " + t.key.signature + " " + string(t.key.shard), s.indexerSpec(t)})
			}
			if len(s.builds.usedIn(db, s.now())) > 0 {
				list = append(list, spawn{"warm", s.warmSpec(db)})
			}
			return list
		}}
	}}
}
