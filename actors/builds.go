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
		reported string // the progress that the store has been told last
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
}

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
		tasks   map[indexKey][]*task  // the first is worked on, others wait until it has ended
		indexes map[indexKey]*waiting // only those that somebody waits for
		used    map[indexKey]usedIndex
		vain    map[indexKey]layer.Seq // where those stood that could not be caught up; only of indexes or used
	}
}

// waiting is who waits for one index.
type waiting struct {
	waiters map[chan error]struct{} // capacity 1
	turn    chan struct{}           // capacity 1: held by the one that catches the index up or enqueues its job
	asked   layer.Seq               // where the index stood when its job was enqueued last
	askedAt time.Time
}

func newBuilds() *builds {
	b := &builds{}
	b.mu.tasks = map[indexKey][]*task{}
	b.mu.indexes = map[indexKey]*waiting{}
	b.mu.used = map[indexKey]usedIndex{}
	b.mu.vain = map[indexKey]layer.Seq{}
	return b
}

// add takes a task in. Where this node works on that index already, its lease has run out and been claimed again before the indexer noticed: the new
// task waits for it to end.
func (b *builds) add(t *task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.tasks[t.key] = append(b.mu.tasks[t.key], t)
}

// remove ends a task.
func (b *builds) remove(t *task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := slices.DeleteFunc(b.mu.tasks[t.key], func(x *task) bool { return x == t })
	if len(left) == 0 {
		delete(b.mu.tasks, t.key)
		return
	}
	b.mu.tasks[t.key] = left
}

// list is the tasks to work on, of a database, or all with a nil database.
func (b *builds) list(db Database) []*task {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []*task
	for k, tasks := range b.mu.tasks {
		if db == nil || k.db == db {
			list = append(list, tasks[0])
		}
	}
	return list
}

// count is how many tasks there are of a type of jobs.
func (b *builds) count(typ string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, tasks := range b.mu.tasks {
		if tasks[0].job.Type == typ {
			n++
		}
	}
	return n
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

// catchUp catches up an index, unless that was in vain from where the index stands: the lag was too large, or would take
// too long to map. It has not become less, and trying again and again would take the processors from the builds.
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
	if _, used := b.mu.used[key]; !used && b.mu.indexes[key] == nil {
		delete(b.mu.vain, key)
	}
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
	_, known := b.mu.used[key]
	b.mu.used[key] = ix
	return !known
}

// unuse forgets that somebody asked for indexes of a database, except for those with these signatures.
func (b *builds) unuse(db Database, except map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k := range b.mu.used {
		if k.db == db && !except[k.signature] {
			delete(b.mu.used, k)
			b.forget(k)
		}
	}
}

// usedIn is the indexes of a database, or of all with a nil one, that somebody asked for lately. It forgets the others.
func (b *builds) usedIn(db Database, now time.Time) []usedIndex {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []usedIndex
	for k, ix := range b.mu.used {
		if now.After(ix.until) {
			delete(b.mu.used, k)
			b.forget(k)
			continue
		}
		if db == nil || k.db == db {
			list = append(list, ix)
		}
	}
	return list
}
