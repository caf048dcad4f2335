package actors

import (
	"testing"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
)

// openDatabase is a database with only an identity.
type openDatabase struct {
	ports.Database
	n int
}

// A change of one database checks only that one, however many databases a node has.
func TestDatabasesBehavior_many(t *testing.T) {
	const databases = 1000
	all, asked := 0, map[ports.Database]int{}
	b := &databasesBehavior{
		all: func() []ports.Database { all++; return nil },
		inUse: func(db ports.Database) bool {
			asked[db]++
			return asked[db] < 2
		},
		spec:    func(ports.Database) runtime.Spec { return runtime.Spec{Kind: "database"} },
		changes: newChanges(),
		open:    map[string]ports.Database{}, keys: map[ports.Database]string{},
	}
	b.Step(time.Time{}, runtime.Started{})
	for i := range databases {
		e := b.Step(time.Time{}, databaseChanged{openDatabase{n: i}})
		if len(e) != 1 {
			t.Fatalf("the actor of database %d did not start: %v", i, e)
		}
		b.Step(time.Time{}, databaseChanged{openDatabase{n: i}})
	}
	if len(b.open) != databases {
		t.Fatalf("%d databases are open", len(b.open))
	}
	for key := range b.open {
		b.Step(time.Time{}, runtime.ChildGone{Key: key})
	}
	if len(b.open) != 0 || len(b.keys) != 0 {
		t.Errorf("%d databases are left", len(b.open))
	}
	if all != 1 {
		t.Errorf("all databases in use were listed %d times", all)
	}
	for db, n := range asked {
		if n != 2 {
			t.Errorf("%d checks whether %v is in use", n, db)
		}
	}
}

// However often a database changes while the actor has not looked, one message waits for it.
func TestChanges(t *testing.T) {
	c := newChanges()
	one, other := openDatabase{n: 1}, openDatabase{n: 2}
	b := &databasesBehavior{
		all: func() []ports.Database { return nil }, inUse: func(ports.Database) bool { return false }, changes: c}
	if !c.add(one) || c.add(one) || !c.add(other) {
		t.Error("there is not one message for each database")
	}
	b.Step(time.Time{}, databaseChanged{one})
	if !c.add(one) || c.add(other) {
		t.Error("a change after the actor has looked is not told, or one before is told again")
	}
	b.Step(time.Time{}, runtime.Started{})
	if !c.add(one) || !c.add(other) {
		t.Error("after a restart, messages of the life before are waited for")
	}
}
