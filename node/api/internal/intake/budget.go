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

// The bodies of all running requests, and what is made of them, share one memory budget (Limits.Bodies). It is divided
// into lanes, so that large requests never delay small ones. Each lane serves requests in order, and gives one client
// at most half of it. A request uses the lanes in a fixed order and waits in one at a time: held for what a feed keeps
// while it waits, then small or large for its body, then parts for what the body is parsed into. No request waits for a
// lane that comes before one that it holds memory of, so requests cannot deadlock.

const (
	// freeBody is the size up to which bodies are not counted. The number of connections bounds the number of such
	// bodies.
	freeBody = 64 << 10
	// SmallBody is the maximum size of a body in the lane for small ones.
	SmallBody = 1 << 20
	// budgetPatience is how long a request waits for memory.
	budgetPatience = 20 * time.Second
)

// Limits are the limits on the bodies of requests.
type Limits struct {
	// Request is the maximum size of a body for endpoints without a limit of their own.
	Request int64
	// Memory is the memory for all current bodies and what is made of them.
	Memory int64
	// Wait is how long a client may pause while it sends a body. Rate is how many bytes per second it must send on
	// average over that time.
	Wait time.Duration
	Rate int64
	// Spool is a directory for bodies that arrive slowly. Empty means the system's default.
	Spool string
}

// Budget is the memory for bodies. It is safe for concurrent use.
type Budget struct {
	limits                             Limits
	log                                *slog.Logger
	small, large, parts, uploads, held lane
}

// NewBudget returns a budget, divided into lanes.
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
	b.uploads.most = b.uploads.size // uploads are slow, and each takes little
	b.held.leaves, b.held.busy = true, ErrFeedsHold
	return b
}

func (b *Budget) lanes() []*lane { return []*lane{&b.large, &b.parts, &b.uploads, &b.small, &b.held} }

// Use returns how much memory requests hold for their bodies, in bytes, and how many requests were refused for lack of
// it.
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
	size, most int64 // the lane's memory, and the maximum for one client
	// a client gets at most what it leaves for others, so that no number of clients can take everything
	leaves  bool
	busy    error // the error when others hold the memory
	mu      sync.Mutex
	free    int64
	refused int64            // requests that waited too long
	clients map[string]int64 // memory held by each client
	queue   *list.List       // of *waiter, in order of arrival
}

// waiter is a request in the queue.
type waiter struct {
	client  string
	n       int64
	granted chan struct{} // closed under the lane's lock
}

// share is the memory of a lane that a request holds. nil holds none. It belongs to the request.
type share struct {
	lane   *lane
	client string
	n      int64
}

// ErrBusy is the answer to a request that waited too long for memory.
var ErrBusy = &fault.Fault{
	Status: http.StatusServiceUnavailable, Name: "service unavailable",
	Reason: "Other requests hold all the memory for request bodies (http.bodies of the node's settings). " +
		"Try again later.",
	Header: http.Header{"Retry-After": {fault.RetryAfter}},
}

// take waits until n bytes are free for the client and it is this request's turn. If n is more than a client may have,
// take waits for the maximum instead.
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
	case <-w.granted: // granted meanwhile
		l.mu.Unlock()
		return got, nil
	default:
		l.queue.Remove(place)
		l.refused++
		l.grant() // the next request may need less
		l.mu.Unlock()
		return nil, err
	}
}

// try takes n bytes if they are free immediately.
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

// grant serves the queue. A request that waits for memory of its own client does not block others. The caller holds the
// lock.
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

// may reports whether a client may hold n more bytes, provided that they are free. The caller holds the lock.
func (l *lane) may(client string, n int64) bool {
	holds := l.clients[client] + n
	return holds <= l.most && (!l.leaves || holds <= l.free-n)
}

// hold adds n bytes to what a client holds; n may be negative. The caller holds the lock.
func (l *lane) hold(client string, n int64) {
	l.free -= n
	if l.clients[client] += n; l.clients[client] == 0 {
		delete(l.clients, client)
	}
}

// pressed reports whether a request waits for memory that the share holds.
func (s *share) pressed() bool {
	if s == nil {
		return false
	}
	s.lane.mu.Lock()
	defer s.lane.mu.Unlock()
	return s.lane.queue.Len() > 0
}

func (s *share) holds() bool { return s != nil && s.n > 0 }

// grow enlarges the share to n bytes if they are free, without waiting behind the queue.
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

// shrink gives back all but n bytes.
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
