package indexing

import (
	"testing"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/layer"
)

// indexed is a database with only an identity.
type indexed struct {
	ports.Database
	n int
}

// Checking the indexes of one database does not touch those of other databases: expired entries stay until their own
// database is checked.
func TestBuilds_oneDatabase(t *testing.T) {
	const databases = 100
	b, now := newBuilds(nil), time.Now()
	for i := range databases {
		db := indexed{n: i}
		key := indexKey{db: db, signature: "s"}
		b.use(key, usedIndex{db: db, until: now})
		b.add(&task{key: key, job: layer.Job{Type: indexJobs}})
	}
	later := now.Add(time.Second)
	for i := range databases / 2 {
		db := indexed{n: i}
		if list := b.warmIn(db, later); len(list) != 0 {
			t.Fatalf("an unused index is kept: %v", list)
		}
		if list := b.listIn(db); len(list) != 1 || list[0].key.db != db {
			t.Fatalf("tasks of %v: %v", db, list)
		}
		if !b.has(db, later) {
			t.Fatal("a database with a task is not in use")
		}
		b.remove(b.listIn(db)[0])
		if b.has(db, later) {
			t.Fatal("a database without work is in use")
		}
	}
	if n := len(b.mu.of); n != databases/2 {
		t.Errorf("%d databases have work", n)
	}
	for _, w := range b.mu.of {
		if len(w.used) != 1 {
			t.Fatal("checking one database has touched another one")
		}
	}
	if n := b.count(indexJobs); n != databases/2 {
		t.Errorf("%d tasks are counted", n)
	}
	if n := len(b.used(now)); n != databases/2 {
		t.Errorf("%d indexes are used", n)
	}
	if n := len(b.databases(later)); n != databases/2 {
		t.Errorf("%d databases are in use", n)
	}
}
