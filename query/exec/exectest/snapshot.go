package exectest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/divandb/divan/query/exec"
)

// open counts the open snapshots of all databases. zero is closed when there are none.
var open struct {
	sync.Mutex
	n    int
	zero chan struct{}
}

func opened(n int) {
	open.Lock()
	defer open.Unlock()
	if open.n == 0 {
		open.zero = make(chan struct{})
	}
	if open.n += n; open.n == 0 {
		close(open.zero)
	}
}

// AllClosed waits until no snapshot is open.
func AllClosed(ctx context.Context) error {
	open.Lock()
	zero := open.zero
	if open.n == 0 {
		zero = nil
	}
	open.Unlock()
	if zero == nil {
		return nil
	}
	select {
	case <-zero:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// frozen implements exec.Snapshot.
type frozen struct {
	*DB
	closed atomic.Bool
}

// Snapshot implements exec.Snapshotter by copying the database. Views are computed when they are read, so they are as
// of the same moment.
func (db *DB) Snapshot(context.Context, []exec.ViewUse, bool) (exec.Snapshot, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	c := copyOf(db, db)
	opened(1)
	return &frozen{DB: c}, nil
}

// copyOf copies a database, whose mutex is held. Reads of the copy are logged with those of of.
func copyOf(db, of *DB) *DB {
	c := &DB{name: db.name, copied: of, docs: map[string]*doc{}, designs: maps.Clone(db.designs),
		partitioned: maps.Clone(db.partitioned), Declared: maps.Clone(db.Declared),
		locals: slices.Clone(db.locals), seq: db.seq, wake: make(chan struct{}),
		Unusable: db.Unusable, Behind: db.Behind, Skipped: db.Skipped, ViewRows: db.ViewRows}
	for id, d := range db.docs {
		one := *d
		one.losers = slices.Clone(d.losers)
		c.docs[id] = &one
	}
	return c
}

func (f *frozen) AllDocs(ctx context.Context, r exec.DocsRead) (exec.Rows, error) {
	if f.closed.Load() {
		return nil, &exec.ReadError{Kind: exec.Timeout, Message: "the snapshot is closed"}
	}
	return f.DB.AllDocs(ctx, r)
}

// Close implements exec.Snapshot.
func (f *frozen) Close() {
	if !f.closed.Swap(true) {
		opened(-1)
	}
}
