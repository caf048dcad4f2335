package intake

import (
	"container/list"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/divandb/divan/node/api/internal/fault"
)

// All bodies of requests under way, and what is made of them, share one budget of memory (Limits.Bodies). It has
// lanes, so that large requests never make small ones wait, and each lane is given out in the order of asking, at most
// half of it to one client. A request asks in the order of the lanes and waits in one of them at a time: held for what
// a feed keeps for as long as it waits, then small or large for its body, then parts for what it is parsed into. Nobody
// waits for a lane before the one that it holds, so requests cannot wait for each other in a ring.

const (
	// freeBody is the size of bodies that are outside of the budget. Their number is bounded by that of connections.
	freeBody = 64 << 10
	// SmallBody is the largest of the lane for small ones.
	SmallBody = 1 << 20
	// budgetPatience is how long a request waits for its turn.
	budgetPatience = 20 * time.Second
)

// Limits bound the bodies of requests.
type Limits struct {
	// Request is the most that an endpoint takes of a body, where it says nothing else.
	Request int64
	// Memory is for all bodies under way and what is made of them.
	Memory int64
	// Wait is how long a client may send nothing of a body, Rate how many bytes a second it has to send on average over
	// that time.
	Wait time.Duration
	Rate int64
	// Spool is a directory for bodies that come in slowly; empty is the system's.
	Spool string
}

// Budget is the memory for bodies. Safe for concurrent use.
type Budget struct {
	limits                             Limits
	log                                *slog.Logger
	small, large, parts, uploads, held lane
}

// NewBudget divides the memory.
func NewBudget(limits Limits, log *slog.Logger) *Budget {
	b, size := &Budget{limits: limits, log: log}, limits.Memory
	b.large.size = size * 6 / 16
	b.parts.size = size * 3 / 16
	b.uploads.size = size * 3 / 16
	b.small.size = size * 2 / 16
	b.held.size = size * 2 / 16
	for _, l := range b.lanes() {
		l.most = l.size / 2
		l.free, l.queue, l.clients, l.busy = l.size, list.New(), map[string]int64{}, ErrBusy
	}
	b.uploads.most = b.uploads.size // they are slow, and each takes little
	b.held.leaves, b.held.busy = true, ErrFeedsHold
	return b
}

func (b *Budget) lanes() []*lane { return []*lane{&b.large, &b.parts, &b.uploads, &b.small, &b.held} }

// Use is how much memory requests hold for their bodies, in bytes, and how many were refused since there was none.
func (b *Budget) Use() (held, refused int64) {
	for _, l := range b.lanes() {
		l.mu.Lock()
		held += l.size - l.free
		refused += l.refused
		l.mu.Unlock()
	}
	return held, refused
}

// lane is a part of the budget.
type lane struct {
	size, most int64 // all of it, and what one client may hold
	leaves     bool  // a client gets no more than it leaves for others, so that any number of them cannot take all
	busy       error // what is said of memory that others hold
	mu         sync.Mutex
	free       int64
	refused    int64            // requests that have waited in vain
	clients    map[string]int64 // what each holds
	queue      *list.List       // of *waiter, in the order of asking
}

// waiter is a request in the queue.
type waiter struct {
	client  string
	n       int64
	granted chan struct{} // closed with the lane's lock held
}

// share is what a request holds of a lane. nil holds nothing. It belongs to the request.
type share struct {
	lane   *lane
	client string
	n      int64
}

// ErrBusy is the answer to a request that has waited in vain for memory.
var ErrBusy = &fault.Fault{
	Status: http.StatusServiceUnavailable, Name: "service unavailable",
	Reason: "Requests under way hold all the memory for request bodies (http.bodies of the node's settings). " +
		"Try again later.",
	Header: http.Header{"Retry-After": {fault.RetryAfter}},
}

// take waits until n bytes are free for the client and it is this request's turn. What is more than a client may have
// is as good as all of that.
func (l *lane) take(ctx context.Context, client string, n int64) (*share, error) {
	w := &waiter{client: client, n: min(n, l.most), granted: make(chan struct{})}
	got := &share{l, client, w.n}
	l.mu.Lock()
	place := l.queue.PushBack(w)
	l.grant()
	l.mu.Unlock()
	select {
	case <-w.granted:
		return got, nil
	default:
	}
	timer := time.NewTimer(budgetPatience)
	defer timer.Stop()
	err := l.busy
	select {
	case <-w.granted:
		return got, nil
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.mu.Lock()
	select {
	case <-w.granted: // just now
		l.mu.Unlock()
		return got, nil
	default:
		l.queue.Remove(place)
		l.refused++
		l.grant() // the one behind may need less
		l.mu.Unlock()
		return nil, err
	}
}

// try takes n bytes if they are free at once.
func (l *lane) try(client string, n int64) (*share, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue.Len() > 0 || l.free < n || !l.may(client, n) {
		l.refused++
		return nil, l.busy
	}
	l.hold(client, n)
	return &share{l, client, n}, nil
}

// grant serves the queue. Who waits for what the same client holds makes nobody else wait. The lock is held.
func (l *lane) grant() {
	for place := l.queue.Front(); place != nil; {
		w, next := place.Value.(*waiter), place.Next()
		if l.may(w.client, w.n) {
			if l.free < w.n {
				return
			}
			l.hold(w.client, w.n)
			l.queue.Remove(place)
			close(w.granted)
		}
		place = next
	}
}

// may reports whether a client may hold n bytes more, where they are free. The lock is held.
func (l *lane) may(client string, n int64) bool {
	holds := l.clients[client] + n
	return holds <= l.most && (!l.leaves || holds <= l.free-n)
}

// hold notes n bytes more, or less where n is negative. The lock is held.
func (l *lane) hold(client string, n int64) {
	l.free -= n
	if l.clients[client] += n; l.clients[client] == 0 {
		delete(l.clients, client)
	}
}

// pressed reports whether somebody waits for what the share holds.
func (s *share) pressed() bool {
	if s == nil {
		return false
	}
	s.lane.mu.Lock()
	defer s.lane.mu.Unlock()
	return s.lane.queue.Len() > 0
}

func (s *share) holds() bool { return s != nil && s.n > 0 }

// grow makes it n bytes, ahead of those that wait, if they are free.
func (s *share) grow(n int64) error {
	l, more := s.lane, n-s.n
	l.mu.Lock()
	defer l.mu.Unlock()
	if more <= 0 {
		return nil
	}
	if l.free < more || !l.may(s.client, more) {
		l.refused++
		return l.busy
	}
	l.hold(s.client, more)
	s.n = n
	return nil
}

// shrink gives back what is more than n.
func (s *share) shrink(n int64) {
	if s == nil || n >= s.n {
		return
	}
	s.lane.mu.Lock()
	defer s.lane.mu.Unlock()
	s.lane.hold(s.client, n-s.n)
	s.n = n
	s.lane.grant()
}

// release gives everything back. It may be called twice.
func (s *share) release() { s.shrink(0) }
