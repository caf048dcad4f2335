package actors

import (
	"fmt"
	"slices"
	"time"

	"github.com/divandb/divan/layer"
)

// Messages to the databases actor, which passes them on.
type (
	// listenersChanged says that somebody began or ceased to listen.
	listenersChanged struct{ db Database }
)

// databasesBehavior keeps an actor for each database that is in use.
type databasesBehavior struct {
	wanted func() []Database
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
		for _, db := range b.wanted() {
			e = append(e, b.ensure(db)...)
		}
		return e
	case listenersChanged:
		if key, ok := b.keys[m.db]; ok {
			return []effect{tell{key, lookAgain{}}}
		}
		if slices.Contains(b.wanted(), m.db) {
			return b.ensure(m.db)
		}
	case childGone:
		db := b.open[m.key]
		delete(b.open, m.key)
		delete(b.keys, db)
		if slices.Contains(b.wanted(), db) {
			return b.ensure(db)
		}
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
		return &databasesBehavior{wanted: s.hub.databases, spec: s.databaseSpec, open: map[string]Database{}, keys: map[Database]string{}}
	}}
}

// databaseBehavior keeps the actors of one database: one for each shard that somebody listens to. It ends when it has had none for a while.
type databaseBehavior struct {
	wanted   func() map[layer.ShardID]bool
	spec     func(shard layer.ShardID) spec
	linger   time.Duration
	shards   map[layer.ShardID]bool // running
	idleTurn int
}

// DatabaseFacts are the figures of a database actor.
type DatabaseFacts struct {
	Shards int `json:"shards"`
}

func (b *databaseBehavior) step(_ time.Time, message any) []effect {
	switch m := message.(type) {
	case started, lookAgain:
		return b.reconcile()
	case childGone:
		delete(b.shards, layer.ShardID(m.key))
		return b.reconcile()
	case idleOver:
		if m.turn == b.idleTurn && len(b.shards) == 0 {
			return []effect{stopSelf{}}
		}
	}
	return nil
}

// reconcile starts what is wanted and has the others look whether they are.
func (b *databaseBehavior) reconcile() []effect {
	var e []effect
	for shard := range b.shards {
		e = append(e, tell{string(shard), lookAgain{}})
	}
	for shard := range b.wanted() {
		if !b.shards[shard] {
			b.shards[shard] = true
			e = append(e, spawn{string(shard), b.spec(shard)})
		}
	}
	b.idleTurn++
	if len(b.shards) == 0 {
		e = append(e, after{b.linger, idleOver{b.idleTurn}})
	}
	return e
}

func (b *databaseBehavior) status() (string, any) {
	return "open", DatabaseFacts{Shards: len(b.shards)}
}

func (s *System) databaseSpec(db Database) spec {
	return spec{kind: "database", name: db.Name(), make: func() behavior {
		return &databaseBehavior{linger: s.o.Linger, shards: map[layer.ShardID]bool{},
			wanted: func() map[layer.ShardID]bool { return s.hub.wanted(db) },
			spec:   func(shard layer.ShardID) spec { return s.shardSpec(db, shard) }}
	}}
}
