// Package exectest implements the reads of package exec in memory, for tests. Those of a node are in node/sqlreads.
package exectest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/rowshape"
	"github.com/divandb/divan/query/exec"
)

// Store is an exec.Catalog that anyone may read. It is safe for concurrent use.
type Store struct {
	mu     sync.Mutex
	dbs    map[string]*DB
	Tables []exec.SystemTable
	Rows   map[string][][]any
}

// NewStore returns an empty store.
func NewStore() *Store { return &Store{dbs: map[string]*DB{}, Rows: map[string][][]any{}} }

// Create makes a database.
func (s *Store) Create(name string) *DB {
	s.mu.Lock()
	defer s.mu.Unlock()
	db := &DB{name: name, docs: map[string]*doc{}, designs: map[string][]view{}, wake: make(chan struct{})}
	s.dbs[name] = db
	return db
}

// Databases implements exec.Catalog.
func (s *Store) Databases(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.dbs))
	for n := range s.dbs {
		names = append(names, n)
	}
	sort.Strings(names)
	return names, nil
}

// Database implements exec.Catalog.
func (s *Store) Database(_ context.Context, name string) (exec.Database, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if db := s.dbs[name]; db != nil {
		return db, nil
	}
	return nil, &exec.ReadError{Kind: exec.NotFound, Message: "no such database"}
}

// SystemTables implements exec.Catalog.
func (s *Store) SystemTables() []exec.SystemTable { return s.Tables }

// Admin implements exec.Catalog. Every user is an admin.
func (s *Store) Admin() bool { return true }

// SystemRows implements exec.Catalog.
func (s *Store) SystemRows(_ context.Context, table, _ string) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for _, r := range s.Rows[table] {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Map is a map function: it emits keys and values, both JSON.
type Map func(id string, doc json.RawMessage, emit func(key, value string))

type view struct {
	exec.View
	fn Map
}

type doc struct {
	rev     int
	seq     int
	deleted bool
	body    json.RawMessage // with _id and _rev
	losers  []exec.Row
}

// DB is a database in memory.
type DB struct {
	name        string
	mu          sync.Mutex
	docs        map[string]*doc
	designs     map[string][]view
	partitioned map[string]bool // the partitioned design documents
	locals      []exec.Row
	seq         int
	wake        chan struct{} // closed at the next write

	// Declared has the members "sql" of design documents that have one.
	Declared map[string]string
	// Committed, unless nil, is called when a transaction has been committed, and returns the error of the commit.
	Committed func(ctx context.Context) error
	// Log has a line for each read.
	Log []string
	// Unusable makes all indexes unusable, and Behind those of a view. Skipped is the number of documents that every
	// view has skipped, and ViewRows the number of rows that it says to have, if that is not 1.
	Unusable          bool
	Behind            string
	Skipped, ViewRows int64
	// States counts the calls of IndexState, also of snapshots.
	States atomic.Int64
	// copied is the database of which this is a snapshot.
	copied *DB
}

// Shard returns the shard of an id: one of two, by the length of the id.
func Shard(id string) string { return fmt.Sprintf("s%d", len(id)%2) }

// Seq returns the text of a sequence.
func Seq(n int) string { return fmt.Sprintf("00%020x0000", n) }

// Put writes a document and returns its sequence.
func (db *DB) Put(id, body string) string { return db.put(id, body, false) }

// Delete writes a tombstone.
func (db *DB) Delete(id string) string { return db.put(id, "{}", true) }

func (db *DB) put(id, body string, deleted bool) string {
	db.mu.Lock()
	defer db.mu.Unlock()
	d := db.docs[id]
	if d == nil {
		d = &doc{}
		db.docs[id] = d
	}
	db.seq++
	d.rev++
	d.seq, d.deleted = db.seq, deleted
	head := fmt.Sprintf(`{"_id":%s,"_rev":"%d-abc"`, quote(id), d.rev)
	if deleted {
		head += `,"_deleted":true`
	}
	if rest := strings.TrimSpace(body[1:]); rest != "}" {
		head += "," + rest
	} else {
		head += "}"
	}
	d.body = json.RawMessage(head)
	if !json.Valid(d.body) {
		panic("exectest: document is not JSON: " + head)
	}
	close(db.wake)
	db.wake = make(chan struct{})
	return Seq(db.seq)
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// Conflict adds a losing leaf.
func (db *DB) Conflict(id, rev, body string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.docs[id].losers = append(db.docs[id].losers, exec.Row{ID: id, Rev: rev, Doc: json.RawMessage(body)})
}

// Local adds a local document. id has no prefix.
func (db *DB) Local(id, body string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.locals = append(db.locals, exec.Row{ID: "_local/" + id, Rev: "0-1", Doc: json.RawMessage(body)})
	slices.SortFunc(db.locals, func(a, b exec.Row) int { return strings.Compare(a.ID, b.ID) })
}

// AddView adds a view.
func (db *DB) AddView(design, name, reduce string, fn Map) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.designs[design] = append(db.designs[design], view{exec.View{Name: name, Reduce: reduce}, fn})
	slices.SortFunc(db.designs[design], func(a, b view) int { return strings.Compare(a.Name, b.Name) })
}

// AddShaped adds a view whose rows a shape describes.
func (db *DB) AddShaped(design, name, reduce string, shape *rowshape.Shape, fn Map) {
	db.AddView(design, name, reduce, fn)
	db.mu.Lock()
	defer db.mu.Unlock()
	views := db.designs[design]
	views[slices.IndexFunc(views, func(v view) bool { return v.Name == name })].Shape = shape
}

// IndexState implements exec.Indexer. Indexes are always up to date; Unusable says otherwise.
func (db *DB) IndexState(_ context.Context, design, name string, want exec.IndexCounts) (exec.IndexState, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.States.Add(1); db.copied != nil {
		db.copied.States.Add(1)
	}
	state := exec.IndexState{Skipped: db.Skipped}
	keyStrings(db, design, name, &state)
	state.Usable = !db.Unusable && name != db.Behind &&
		slices.ContainsFunc(db.designs[design], func(v view) bool { return v.Name == name })
	if want.Rows {
		state.Rows, state.Docs = max(1, db.ViewRows), int64(len(db.docs))
	}
	return state, nil
}

// keyStrings describes the strings in the keys of a view.
func keyStrings(db *DB, design, name string, state *exec.IndexState) {
	state.Unambiguous, state.NoControls = true, true
	for _, v := range db.designs[design] {
		for _, d := range live(db) {
			if v.Name == name {
				v.fn(d.ID, d.Doc, func(key, _ string) {
					state.Unambiguous = state.Unambiguous && collate.Unambiguous([]byte(key))
					state.NoControls = state.NoControls && !collate.HasControls([]byte(key))
					for i, letters := range collate.LettersOf([]byte(key)) {
						state.Letters[i] = max(state.Letters[i], letters)
					}
				})
			}
		}
	}
}

// PartitionViews makes a design document partitioned.
func (db *DB) PartitionViews(design string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.partitioned == nil {
		db.partitioned = map[string]bool{}
	}
	db.partitioned[design] = true
}

// DropViews removes a design document with its views.
func (db *DB) DropViews(design string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	delete(db.designs, design)
}

// logf logs a read, that of a snapshot with those of its database.
func (db *DB) logf(format string, args ...any) {
	if db.copied != nil {
		db.copied.mu.Lock()
		defer db.copied.mu.Unlock()
		db = db.copied
	}
	db.Log = append(db.Log, fmt.Sprintf(format, args...))
}

// unlog removes the last line of the log.
func unlog(db *DB) {
	if db.copied != nil {
		db.copied.mu.Lock()
		defer db.copied.mu.Unlock()
		db = db.copied
	}
	db.Log = db.Log[:len(db.Log)-1]
}

// TakeLog returns the reads since the last call.
func (db *DB) TakeLog() []string {
	db.mu.Lock()
	defer db.mu.Unlock()
	l := db.Log
	db.Log = nil
	return l
}

// Designs implements exec.Database.
func (db *DB) Designs(ctx context.Context) ([]exec.Design, error) {
	db.mu.Lock()
	names := make([]string, 0, len(db.designs))
	for n := range db.designs {
		names = append(names, n)
	}
	db.mu.Unlock()
	for n := range db.Declared {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	out := make([]exec.Design, len(names))
	for i, n := range names {
		out[i], _ = db.Design(ctx, n)
	}
	return out, nil
}

// Design implements exec.Database.
func (db *DB) Design(_ context.Context, name string) (exec.Design, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	views, ok := db.designs[name]
	if !ok && db.Declared[name] == "" {
		return exec.Design{}, &exec.ReadError{Kind: exec.NotFound, Message: "missing"}
	}
	d := exec.Design{Name: name, Partitioned: db.partitioned[name], SQL: db.Declared[name]}
	for _, v := range views {
		d.Views = append(d.Views, v.View)
	}
	return d, nil
}

// Document implements exec.Database.
func (db *DB) Document(_ context.Context, id string, withDoc bool, row *exec.Row) (bool, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.logf("document %s doc=%v", id, withDoc)
	d := db.docs[id]
	if d == nil || d.deleted {
		return false, nil
	}
	*row = d.row(id, withDoc)
	return true, nil
}

func (d *doc) row(id string, withDoc bool) exec.Row {
	r := exec.Row{ID: id, Rev: fmt.Sprintf("%d-abc", d.rev), Deleted: d.deleted}
	if withDoc {
		r.Doc = d.body
	}
	return r
}

// Count implements exec.Counter.
func (db *DB) Count(_ context.Context, noDesigns bool) (int64, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.logf("count documents")
	n := int64(0)
	for id, d := range db.docs {
		if !d.deleted && !(noDesigns && strings.HasPrefix(id, "_design/")) {
			n++
		}
	}
	return n, nil
}
