package indexing

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/layer"
)

// Types of jobs in the queue: an index, and one shard's part of a shared build (shared.go).
const (
	indexJobs = layer.IndexJobs
	shardJobs = "index shard"
)

// builds has the index work of this node: the tasks that it has claimed, and the requests that wait for an index. Like
// the hub it outlives the actors, which use it to know what to do.
type builds struct {
	owns func(database string) bool // see Options.OwnsDatabase
	mu   struct {
		sync.Mutex
		of      map[ports.Database]*indexWork // without empty ones; by database, since a node may have very many
		running map[string]int                // number of tasks to work on, by type of job
		indexes map[indexKey]*waiting         // only those that a request waits for
		// positions at which catching up failed; only for keys in indexes or used
		vain map[indexKey]layer.Seq
		// no index is kept warm for now
		rests bool
	}
}

// indexWork is the index work of one database.
type indexWork struct {
	tasks map[indexKey][]*task // the first task is worked on; the others wait until it has ended
	used  map[indexKey]usedIndex
}

func (w *indexWork) empty() bool { return len(w.tasks) == 0 && len(w.used) == 0 }

func newBuilds(owns func(database string) bool) *builds {
	b := &builds{owns: owns}
	b.mu.of = map[ports.Database]*indexWork{}
	b.mu.running = map[string]int{}
	b.mu.indexes = map[indexKey]*waiting{}
	b.mu.vain = map[indexKey]layer.Seq{}
	return b
}

// add adds a task. If this node already works on that index, the lease has expired and was claimed again before the
// indexer noticed. The new task then waits for the old one to end.
func (b *builds) add(t *task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	tasks := b.work(t.key.db).tasks
	if len(tasks[t.key]) == 0 {
		b.mu.running[t.job.Type]++ // all jobs of a key have the same type
	}
	tasks[t.key] = append(tasks[t.key], t)
}

// work returns the work of a database, which it creates if there is none. The caller holds mu, and adds to it.
func (b *builds) work(db ports.Database) *indexWork {
	w := b.mu.of[db]
	if w == nil {
		w = &indexWork{tasks: map[indexKey][]*task{}, used: map[indexKey]usedIndex{}}
		b.mu.of[db] = w
	}
	return w
}

// drop removes a database without work. The caller holds mu.
func (b *builds) drop(db ports.Database) {
	if w := b.mu.of[db]; w != nil && w.empty() {
		delete(b.mu.of, db)
	}
}

// remove removes an ended task.
func (b *builds) remove(t *task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.mu.of[t.key.db]
	if w == nil || len(w.tasks[t.key]) == 0 {
		return
	}
	if left := slices.DeleteFunc(w.tasks[t.key], func(x *task) bool { return x == t }); len(left) > 0 {
		w.tasks[t.key] = left
		return
	}
	delete(w.tasks, t.key)
	b.mu.running[t.job.Type]--
	b.drop(t.key.db)
}

// list returns the tasks to work on, of all databases.
func (b *builds) list() []*task {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []*task
	for _, w := range b.mu.of {
		list = w.first(list)
	}
	return list
}

// listIn returns the tasks to work on, of one database.
func (b *builds) listIn(db ports.Database) []*task {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.mu.of[db]; w != nil {
		return w.first(nil)
	}
	return nil
}

// first appends the first task of each index.
func (w *indexWork) first(list []*task) []*task {
	for _, tasks := range w.tasks {
		list = append(list, tasks[0])
	}
	return list
}

// count returns the number of tasks to work on of a type of job.
func (b *builds) count(typ string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.running[typ]
}

// catchUp brings an index up to date, unless that failed before from the same position because the lag was too large or
// would take too long to map. The lag has not become smaller, and repeated attempts would take the CPU from the builds.
func (b *builds) catchUp(ctx context.Context, key indexKey, at layer.Seq, index ports.Index) (done bool, err error) {
	b.mu.Lock()
	vain, known := b.mu.vain[key]
	b.mu.Unlock()
	if known && vain == at {
		return false, nil
	}
	if done, err = index.CatchUp(ctx, catchUpDocuments); done || err != nil {
		return done, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.vain[key] = at
	b.forget(key)
	return false, nil
}

// forget forgets failed attempts for an index that no one asks for any more. The caller holds mu.
func (b *builds) forget(key indexKey) {
	if b.mu.indexes[key] != nil {
		return
	}
	if w := b.mu.of[key.db]; w != nil {
		if _, used := w.used[key]; used {
			return
		}
	}
	delete(b.mu.vain, key)
}

// databases returns the databases that have tasks, or recently used indexes to keep warm.
func (b *builds) databases(now time.Time) []ports.Database {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []ports.Database
	for db := range b.mu.of {
		if b.concerns(db, now) {
			list = append(list, db)
		}
	}
	return list
}

// has reports whether a database has tasks, or recently used indexes to keep warm.
func (b *builds) has(db ports.Database, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.concerns(db, now)
}

// concerns reports whether a database has tasks, or recently used indexes to keep warm. The caller holds mu.
func (b *builds) concerns(db ports.Database, now time.Time) bool {
	w := b.mu.of[db]
	return w != nil && (len(w.tasks) > 0 || !b.mu.rests && len(b.lately(db, now, nil)) > 0)
}

// rest sets whether no index is kept warm for now. It returns the databases with recently used ones, unless nothing
// changes.
func (b *builds) rest(rests bool, now time.Time) (concerned []ports.Database) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.rests == rests {
		return nil
	}
	b.mu.rests = rests
	for db := range b.mu.of {
		if len(b.lately(db, now, nil)) > 0 {
			concerned = append(concerned, db)
		}
	}
	return concerned
}

// warmIn returns the indexes of a database to keep warm.
func (b *builds) warmIn(db ports.Database, now time.Time) []usedIndex {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.rests {
		return nil
	}
	return b.lately(db, now, nil)
}
