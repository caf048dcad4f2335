package indexing

import (
	"sync"
	"time"

	"github.com/divandb/divan/layer"
)

// task is a claimed index job on this node. A restarted indexer continues with the same task.
type task struct {
	key   indexKey
	what  indexJob
	job   layer.Job // as it was claimed; calls of the store get copies, which they modify
	since time.Time

	mu struct {
		sync.Mutex
		lives    int    // how often an indexer began with it
		crash    string // why the last life ended
		progress IndexerFacts
		updated  time.Time
		reported string       // the progress last reported to the store
		most     IndexerFacts // the furthest progress of this run or the previous one, on whatever node
		earlier  int64        // documents of earlier runs
	}
}

// unreported returns the progress if it differs from the one last reported to the store, else nil.
func (t *task) unreported(progress []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.reported == string(progress) {
		return nil
	}
	t.mu.reported = string(progress)
	return progress
}

// begin counts a life of the task's indexer and returns how the previous one ended.
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

// resume returns the progress of an earlier run of the build. If the build was not resumed, it forgets that progress
// and returns nothing.
func (t *task) resume(resumed bool) IndexerFacts {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !resumed {
		t.mu.most, t.mu.earlier = IndexerFacts{}, 0
	}
	return t.mu.most
}

// furthest returns the job's progress for a later run.
func (t *task) furthest() []byte { return t.resume(true).encode() }

// progress returns what has been done, how many documents of that in earlier runs, and when it was last updated.
func (t *task) progress() (f IndexerFacts, earlier int64, updated time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if updated = t.mu.updated; updated.IsZero() {
		updated = t.since
	}
	return t.mu.progress, min(t.mu.earlier, t.mu.progress.Documents), updated
}
