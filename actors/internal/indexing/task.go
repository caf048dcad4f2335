package indexing

import (
	"sync"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/layer"
)

// task is a claimed index job on its way through this node. An indexer that restarts goes on with the same task.
type task struct {
	key   indexKey
	what  indexJob
	job   layer.Job // as it was claimed; the store's calls get copies, which they change
	index ports.Index
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
