package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/divandb/divan/layer"
)

// The types of jobs in the queue: an index, and one shard's part of a build that nodes share (shared.go).
const (
	indexJobs = layer.IndexJobs
	shardJobs = "index shard"
)

// indexJob is the data of an index job, or, with a shard, of a part of one.
type indexJob struct {
	layer.IndexJob
	Shard layer.ShardID `json:"shard,omitempty"`
	Build int64         `json:"build,omitempty"` // the token of the build that the shard is a part of
}

func (j indexJob) id() string {
	if j.Shard != "" {
		return j.Database + "/" + string(j.Shard) + "/" + j.Signature
	}
	return j.ID()
}

func (j indexJob) encode() []byte {
	b, err := json.Marshal(j)
	if err != nil {
		panic(err) // strings and a number
	}
	return b
}

func decodeIndexJob(data []byte) (j indexJob, err error) {
	if err := json.Unmarshal(data, &j); err != nil {
		return j, fmt.Errorf("read an index job: %w", err)
	}
	return j, nil
}

// indexKey names an index on this node, or one shard's part of its build.
type indexKey struct {
	db        Database
	signature string
	shard     layer.ShardID
}

// task is a claimed index job on its way through this node. An indexer that restarts goes on with the same task.
type task struct {
	key   indexKey
	what  indexJob
	job   layer.Job // as it was claimed; the store's calls get copies, which they change
	index Index
	since time.Time

	mu struct {
		sync.Mutex
		lives    int    // how often an indexer began with it
		crash    string // what ended the last life
		progress IndexerFacts
		updated  time.Time
		reported string       // the progress that the store has been told last
		most     IndexerFacts // the furthest progress, of this run or the one before it, whichever node that was on
	}
}

// unreported is the progress where it is not what the store was told last, else nil.
func (t *task) unreported(progress []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.reported == string(progress) {
		return nil
	}
	t.mu.reported = string(progress)
	return progress
}

// begin counts a life of the task's indexer and tells how the one before ended.
func (t *task) begin() (lives int, crash string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.lives++
	return t.mu.lives, t.mu.crash
}

func (t *task) crashed(reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.crash = reason
}

func (t *task) setProgress(now time.Time, f IndexerFacts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.progress, t.mu.updated = f, now
	if f.Documents >= t.mu.most.Documents {
		t.mu.most = f
	}
}

// resume is how far an earlier run of the build was. Where there was none, it is nothing, and is forgotten.
func (t *task) resume(resumed bool) IndexerFacts {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !resumed {
		t.mu.most = IndexerFacts{}
	}
	return t.mu.most
}

// furthest is the job's progress for whoever takes it up again.
func (t *task) furthest() []byte { return t.resume(true).encode() }

func (t *task) progress() (f IndexerFacts, updated time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.updated.IsZero() {
		return t.mu.progress, t.since
	}
	return t.mu.progress, t.mu.updated
}

// builds is the index work of this node: the tasks it has claimed, and who waits for an index. Like the hub it outlives the actors and is what they
// go by.
type builds struct {
	mu struct {
		sync.Mutex
		of      map[Database]*indexWork // never empty ones; by database, as a node may have very many
		running map[string]int          // tasks to work on, by type of jobs
		indexes map[indexKey]*waiting   // only those that somebody waits for
		vain    map[indexKey]layer.Seq  // where those stood that could not be caught up; only of indexes or used
	}
}

// indexWork is the index work of one database.
type indexWork struct {
	tasks map[indexKey][]*task // the first is worked on, others wait until it has ended
	used  map[indexKey]usedIndex
}

func (w *indexWork) empty() bool { return len(w.tasks) == 0 && len(w.used) == 0 }

// waiting is who waits for one index.
type waiting struct {
	waiters map[chan error]struct{} // capacity 1
	turn    chan struct{}           // capacity 1: held by the one that catches the index up or enqueues its job
	asked   layer.Seq               // where the index stood when its job was enqueued last
	askedAt time.Time
	missed  bool // somebody who knows the index elsewhere found the turn taken
}

func newBuilds() *builds {
	b := &builds{}
	b.mu.of = map[Database]*indexWork{}
	b.mu.running = map[string]int{}
	b.mu.indexes = map[indexKey]*waiting{}
	b.mu.vain = map[indexKey]layer.Seq{}
	return b
}

// add takes a task in. Where this node works on that index already, its lease has run out and been claimed again before the indexer noticed: the new
// task waits for it to end.
func (b *builds) add(t *task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	tasks := b.work(t.key.db).tasks
	if len(tasks[t.key]) == 0 {
		b.mu.running[t.job.Type]++ // a key has jobs of one type
	}
	tasks[t.key] = append(tasks[t.key], t)
}

// work is the work of a database, made where there is none. The caller holds mu, and adds to it.
func (b *builds) work(db Database) *indexWork {
	w := b.mu.of[db]
	if w == nil {
		w = &indexWork{tasks: map[indexKey][]*task{}, used: map[indexKey]usedIndex{}}
		b.mu.of[db] = w
	}
	return w
}

// drop drops a database without work. The caller holds mu.
func (b *builds) drop(db Database) {
	if w := b.mu.of[db]; w != nil && w.empty() {
		delete(b.mu.of, db)
	}
}

// remove ends a task.
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

// list is the tasks to work on, of all databases.
func (b *builds) list() []*task {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []*task
	for _, w := range b.mu.of {
		list = w.first(list)
	}
	return list
}

// listIn is those of one database.
func (b *builds) listIn(db Database) []*task {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.mu.of[db]; w != nil {
		return w.first(nil)
	}
	return nil
}

// first appends the tasks to work on.
func (w *indexWork) first(list []*task) []*task {
	for _, tasks := range w.tasks {
		list = append(list, tasks[0])
	}
	return list
}

// count is how many tasks there are of a type of jobs.
func (b *builds) count(typ string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.running[typ]
}

// wait registers somebody who waits for an index. news receives nil when its task ended well, or an error when it failed.
func (b *builds) wait(key indexKey) (w *waiting, news chan error, cancel func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w = b.mu.indexes[key]
	if w == nil {
		w = &waiting{waiters: map[chan error]struct{}{}, turn: make(chan struct{}, 1)}
		b.mu.indexes[key] = w
	}
	news = make(chan error, 1)
	w.waiters[news] = struct{}{}
	return w, news, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(w.waiters, news)
		if len(w.waiters) == 0 && b.mu.indexes[key] == w {
			delete(b.mu.indexes, key)
			b.forget(key)
		}
	}
}

// ask notes that the job of an index was enqueued.
func (b *builds) ask(w *waiting, at layer.Seq, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w.asked, w.askedAt = at, now
}

// asked reports whether it was lately, and nothing has happened to the index since.
func (b *builds) asked(w *waiting, at layer.Seq, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !w.askedAt.IsZero() && w.asked == at && now.Sub(w.askedAt) < askAgain
}

// missed notes that somebody who knows the index to stand at a sequence found the turn taken. It is false where the job
// was asked for from there: the end of that is waited for.
func (b *builds) missed(w *waiting, at layer.Seq) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !w.askedAt.IsZero() && w.asked == at {
		return false
	}
	w.missed = true
	return true
}

// tellMissed has those who wait look again, where somebody missed the turn.
func (b *builds) tellMissed(key indexKey, w *waiting) {
	b.mu.Lock()
	missed := w.missed
	w.missed = false
	b.mu.Unlock()
	if missed {
		b.tell(key, nil)
	}
}

// catchUp catches up an index, unless that was in vain from where the index stands: the lag was too large, or would
// take too long to map. It has not become less, and trying again and again would take the processors from the builds.
func (b *builds) catchUp(ctx context.Context, key indexKey, at layer.Seq, index Index) (done bool, err error) {
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

// forget forgets what was tried with an index that nobody asks for any more. The caller holds mu.
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

// waitingFor is how many wait for an index.
func (b *builds) waitingFor(key indexKey) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.mu.indexes[key]; w != nil {
		return len(w.waiters)
	}
	return 0
}

// tell passes news of an index to those who wait for it.
func (b *builds) tell(key indexKey, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.mu.indexes[key]
	if w == nil {
		return
	}
	for ch := range w.waiters {
		select {
		case ch <- err:
		default:
		}
	}
}

// use notes that somebody asked for an index. first is true where it was not known as used.
func (b *builds) use(key indexKey, ix usedIndex) (first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	used := b.work(key.db).used
	_, known := used[key]
	used[key] = ix
	return !known
}

// unuse forgets that somebody asked for indexes of a database, except for those with these signatures.
func (b *builds) unuse(db Database, except map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.mu.of[db]
	if w == nil {
		return
	}
	for k := range w.used {
		if !except[k.signature] {
			delete(w.used, k)
			b.forget(k)
		}
	}
	b.drop(db)
}

// used is the indexes, of all databases, that somebody asked for lately. It forgets the others.
func (b *builds) used(now time.Time) []usedIndex {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []usedIndex
	for db := range b.mu.of {
		list = b.lately(db, now, list)
	}
	return list
}

// usedIn is used of one database.
func (b *builds) usedIn(db Database, now time.Time) []usedIndex {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lately(db, now, nil)
}

// lately appends the indexes of a database that somebody asked for lately, and forgets its others. The caller holds mu.
func (b *builds) lately(db Database, now time.Time, list []usedIndex) []usedIndex {
	w := b.mu.of[db]
	if w == nil {
		return list
	}
	for k, ix := range w.used {
		if now.After(ix.until) {
			delete(w.used, k)
			b.forget(k)
			continue
		}
		list = append(list, ix)
	}
	b.drop(db)
	return list
}

// databases is those with tasks or indexes that somebody asked for lately.
func (b *builds) databases(now time.Time) []Database {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Database
	for db := range b.mu.of {
		if b.concerns(db, now) {
			list = append(list, db)
		}
	}
	return list
}

// has reports whether a database is one of them.
func (b *builds) has(db Database, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.concerns(db, now)
}

// concerns reports whether a database has tasks or indexes that somebody asked for lately. The caller holds mu.
func (b *builds) concerns(db Database, now time.Time) bool {
	w := b.mu.of[db]
	return w != nil && (len(w.tasks) > 0 || len(b.lately(db, now, nil)) > 0)
}
