package indexing

import (
	"time"

	"github.com/divandb/divan/layer"
)

// waiting has the requests that wait for one index.
type waiting struct {
	waiters map[chan error]struct{} // capacity 1
	turn    chan struct{}           // capacity 1: held by the request that catches the index up or enqueues its job
	asked   layer.Seq               // position of the index when its job was last enqueued
	askedAt time.Time
	missed  bool // a request with another position found the turn taken
}

// wait registers a request that waits for an index. news receives nil when the index's task ended successfully, or an
// error if it failed.
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

// ask records that the job of an index was enqueued.
func (b *builds) ask(w *waiting, at layer.Seq, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w.asked, w.askedAt = at, now
}

// asked reports whether the job was recently enqueued, and nothing has happened to the index since.
func (b *builds) asked(w *waiting, at layer.Seq, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !w.askedAt.IsZero() && w.asked == at && now.Sub(w.askedAt) < askAgain
}

// missed records that a request that has read the position at found the turn taken. It returns false if the job was
// enqueued from that position, since the request then waits for the end of the job.
func (b *builds) missed(w *waiting, at layer.Seq) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !w.askedAt.IsZero() && w.asked == at {
		return false
	}
	w.missed = true
	return true
}

// tellMissed makes waiting requests check again if one of them missed the turn.
func (b *builds) tellMissed(key indexKey, w *waiting) {
	b.mu.Lock()
	missed := w.missed
	w.missed = false
	b.mu.Unlock()
	if missed {
		b.tell(key, nil)
	}
}

// waitingFor returns how many requests wait for an index.
func (b *builds) waitingFor(key indexKey) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.mu.indexes[key]; w != nil {
		return len(w.waiters)
	}
	return 0
}

// tell sends news of an index to the requests that wait for it.
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
