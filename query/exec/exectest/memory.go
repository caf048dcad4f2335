// Package exectest implements the reads of package exec in memory, for tests. Those of a node are in node/sqlreads.
package exectest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/divandb/divan/layer/collate"
	reducers "github.com/divandb/divan/layer/reduce"
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
	// Log has a line for each read.
	Log []string
	// Unusable makes all indexes unusable, and Skipped is the number of documents that every view has skipped.
	Unusable bool
	Skipped  int64
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
func (db *DB) IndexState(_ context.Context, design string) (exec.IndexState, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	state := exec.IndexState{Usable: !db.Unusable, Docs: int64(len(db.docs)), Views: map[string]exec.IndexCounts{}}
	for _, v := range db.designs[design] {
		state.Views[v.Name] = exec.IndexCounts{Rows: 1, Skipped: db.Skipped}
	}
	return state, nil
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

// list implements Rows over a slice.
type list struct {
	rows    []exec.Row
	skipped int64
}

// Skipped implements exec.Skipper.
func (l *list) Skipped() int64 { return l.skipped }

func (l *list) Next(ctx context.Context, row *exec.Row) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(l.rows) == 0 {
		return io.EOF
	}
	*row = l.rows[0]
	l.rows = l.rows[1:]
	return nil
}

func (l *list) Close() error { return nil }

// pick applies a DocsRead to rows in ascending order.
func pick(all []exec.Row, r exec.DocsRead) exec.Rows {
	var out []exec.Row
	for _, row := range all {
		in := (r.Low == "" || row.ID >= r.Low) && (r.High == "" || row.ID < r.High)
		if r.IDs != nil {
			in = slices.Contains(r.IDs, row.ID)
		}
		in = in && !(r.NoDesigns && strings.HasPrefix(row.ID, "_design/"))
		if in {
			if !r.WithDoc {
				row.Doc = nil
			}
			out = append(out, row)
		}
	}
	if r.Descending {
		slices.Reverse(out)
	}
	return cut(out, r.Limit, r.Skip)
}

func cut(rows []exec.Row, limit, skip int64) *list {
	skip = min(skip, int64(len(rows)))
	rows = rows[skip:]
	if limit > 0 && limit < int64(len(rows)) {
		rows = rows[:limit]
	}
	return &list{rows: rows, skipped: skip}
}

// AllDocs implements exec.Database.
func (db *DB) AllDocs(_ context.Context, r exec.DocsRead) (exec.Rows, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.logf("all_docs [%q,%q) ids=%q desc=%v limit=%d skip=%d doc=%v", r.Low, r.High, r.IDs, r.Descending, r.Limit,
		r.Skip, r.WithDoc)
	return pick(db.live(), r), nil
}

// live returns the rows of all live documents by id.
func (db *DB) live() []exec.Row {
	var all []exec.Row
	for id, d := range db.docs {
		if !d.deleted {
			all = append(all, d.row(id, true))
		}
	}
	slices.SortFunc(all, func(a, b exec.Row) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// LocalDocs implements exec.Database.
func (db *DB) LocalDocs(_ context.Context, r exec.DocsRead) (exec.Rows, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	return pick(db.locals, r), nil
}

// Conflicts implements exec.Database.
func (db *DB) Conflicts(_ context.Context, r exec.DocsRead) (exec.Rows, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	var all []exec.Row
	for _, d := range db.docs {
		all = append(all, d.losers...)
	}
	slices.SortFunc(all, func(a, b exec.Row) int { return strings.Compare(a.ID+a.Rev, b.ID+b.Rev) })
	return pick(all, r), nil
}

// Changes implements exec.Database.
func (db *DB) Changes(_ context.Context, r exec.ChangesRead) (exec.Rows, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.logf("changes since=%q shard=%q desc=%v limit=%d doc=%v follow=%v", r.Since, r.Shard, r.Descending, r.Limit,
		r.WithDoc, r.Follow)
	return &feed{db: db, read: r, since: r.Since, rows: db.changes(r.Since, r)}, nil
}

func (db *DB) changes(since string, r exec.ChangesRead) []exec.Row {
	var all []exec.Row
	for id, d := range db.docs {
		if s := Seq(d.seq); s > since && (r.Shard == "" || r.Shard == Shard(id)) {
			row := d.row(id, r.WithDoc)
			row.Seq, row.Shard = s, Shard(id)
			all = append(all, row)
		}
	}
	slices.SortFunc(all, func(a, b exec.Row) int { return strings.Compare(a.Seq, b.Seq) })
	if r.Descending {
		slices.Reverse(all)
	}
	return all
}

// feed is a change feed that may wait.
type feed struct {
	db    *DB
	read  exec.ChangesRead
	since string
	rows  []exec.Row
	given int64
	idle  bool // ErrIdle has been returned
}

func (f *feed) Next(ctx context.Context, row *exec.Row) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.read.Limit > 0 && f.given >= f.read.Limit {
			return io.EOF
		}
		if len(f.rows) > 0 {
			*row, f.rows = f.rows[0], f.rows[1:]
			f.since = row.Seq
			f.idle = false
			f.given++
			return nil
		}
		if !f.read.Follow {
			return io.EOF
		}
		f.db.mu.Lock()
		wake := f.db.wake
		f.rows = f.db.changes(f.since, f.read)
		f.db.mu.Unlock()
		if len(f.rows) > 0 {
			continue
		}
		if !f.idle {
			f.idle = true
			return exec.ErrIdle
		}
		select {
		case <-ctx.Done():
		case <-wake:
		}
	}
}

func (f *feed) Close() error { return nil }

// View implements exec.Database.
func (db *DB) View(_ context.Context, r exec.ViewRead) (exec.Rows, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.logf("view %s/%s [%s,%s] keys=%s desc=%v limit=%d skip=%d doc=%v update=%d", r.Design, r.View, r.Low, r.High,
		r.Keys, r.Descending, r.Limit, r.Skip, r.WithDoc, r.Update)
	i := slices.IndexFunc(db.designs[r.Design], func(v view) bool { return v.Name == r.View })
	if i < 0 {
		return nil, &exec.ReadError{Kind: exec.NotFound, Message: "no such view"}
	}
	var all []exec.Row
	for _, d := range db.live() {
		db.designs[r.Design][i].fn(d.ID, d.Doc, func(key, value string) {
			row := exec.Row{ID: d.ID, Key: json.RawMessage(key), Value: json.RawMessage(value)}
			if r.WithDoc {
				row.Doc, row.Rev = d.Doc, d.Rev
			}
			all = append(all, row)
		})
	}
	compare := func(a, b json.RawMessage) int {
		c, err := collate.Compare(a, b)
		if err != nil {
			panic(err)
		}
		return c
	}
	partition := func(row exec.Row) string {
		name, _, _ := strings.Cut(row.ID, ":")
		return name
	}
	if !db.partitioned[r.Design] {
		partition = func(exec.Row) string { return r.Partition }
	}
	slices.SortStableFunc(all, func(a, b exec.Row) int {
		if c := strings.Compare(partition(a), partition(b)); c != 0 {
			return c
		}
		if c := compare(a.Key, b.Key); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	var out []exec.Row
	for _, row := range all {
		in := (r.Low == nil || compare(row.Key, r.Low) >= 0) && (r.High == nil || compare(row.Key, r.High) <= 0)
		if r.Keys != nil {
			in = slices.ContainsFunc(r.Keys, func(k json.RawMessage) bool { return compare(k, row.Key) == 0 })
		}
		if in && (r.Partition == "" || partition(row) == r.Partition) {
			out = append(out, row)
		}
	}
	if r.Descending {
		slices.Reverse(out)
	}
	return cut(out, r.Limit, r.Skip), nil
}

// Reduce implements exec.Reducer for the built-in functions.
func (db *DB) Reduce(ctx context.Context, r exec.ReduceRead) (exec.Rows, error) {
	ranges := r.Ranges
	if ranges == nil {
		ranges = []exec.KeyRange{{Low: r.Low, High: r.High}}
	}
	rows := &list{}
	for _, k := range ranges {
		some, err := db.View(ctx, exec.ViewRead{Design: r.Design, View: r.View, Low: k.Low, High: k.High, Keys: r.Keys,
			Partition: r.Partition})
		if err != nil {
			return nil, err
		}
		rows.rows = append(rows.rows, some.(*list).rows...)
		db.mu.Lock()
		unlog(db)
		what := "reduce"
		if r.Count {
			what = "count"
		}
		db.logf("%s %s/%s [%s,%s] keys=%s level=%d", what, r.Design, r.View, k.Low, k.High, r.Keys, r.GroupLevel)
		db.mu.Unlock()
	}
	db.mu.Lock()
	views := db.designs[r.Design]
	fn := views[slices.IndexFunc(views, func(v view) bool { return v.Name == r.View })].Reduce
	db.mu.Unlock()
	var out []exec.Row
	var group []exec.Row
	var key json.RawMessage
	var failed error
	flush := func() {
		switch {
		case len(group) == 0:
		case r.Count:
			out = append(out, exec.Row{Key: key, Count: int64(len(group))})
		default:
			value, err := reduce(fn, group)
			if err != nil {
				failed = err
			}
			out = append(out, exec.Row{Key: key, Value: value})
		}
		group = nil
	}
	var row exec.Row
	for {
		err := rows.Next(ctx, &row)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		k := prefix(row.Key, r.GroupLevel)
		if len(group) > 0 && k != nil {
			if c, err := collate.Compare(k, key); err != nil || c != 0 {
				flush()
			}
		}
		if len(group) == 0 {
			key = k
		}
		group = append(group, row)
	}
	flush()
	return &list{rows: out}, failed
}

func prefix(key json.RawMessage, level int) json.RawMessage {
	var parts []json.RawMessage
	switch {
	case level == 0:
		return nil
	case level < 0 || key[0] != '[':
		return key
	}
	_ = json.Unmarshal(key, &parts)
	b, _ := json.Marshal(parts[:min(level, len(parts))])
	return b
}

// reduce is the layer's built-in function.
func reduce(fn string, rows []exec.Row) (json.RawMessage, error) {
	a := reducers.New(fn)
	for _, r := range rows {
		if err := a.Add(r.Key, r.Value); err != nil {
			return nil, &exec.ReadError{Kind: exec.Irreducible, Message: err.Error()}
		}
	}
	return a.AppendJSON(nil), nil
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
