package auth

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/divandb/divan/layer"
)

const (
	// maxTurnWait is how long a log-in waits for its password to be hashed before it is told to come again.
	maxTurnWait = 10 * time.Second
	// maxTurnsWaiting bounds the log-ins that wait.
	maxTurnsWaiting = 256
	// strangersShare: while both wait, one turn in so many goes to a name that has not logged in before.
	strangersShare = 4
)

// ErrBusy is returned for a log-in that came while too many others waited.
var ErrBusy = &layer.Error{
	Kind: layer.Unavailable, Name: "service_unavailable", Reason: "Too many log-ins at once. Try again later.",
}

// turns hands out the few places in which passwords are hashed. Hashing is slow on purpose, so whoever sends wrong passwords could
// otherwise keep everyone else waiting.
//
// Names that have logged in before go first. Addresses take turns. Of the log-ins from one address the newest goes first: under an
// overload somebody has to wait too long, and it should not be everyone.
type turns struct {
	mu struct {
		sync.Mutex
		free    int
		granted int
		known   line // names that have logged in before
		others  line
	}
}

// turn is one log-in that waits.
type turn struct {
	from    netip.Addr
	line    *line
	granted chan error // receives once: nil, or ErrBusy for a turn that gave way to a newer one
}

// line is the turns that wait, by address.
type line struct {
	addresses []netip.Addr           // in the order in which they are next
	waiting   map[netip.Addr][]*turn // oldest first; no empty ones
	count     int
}

func newTurns(places int) *turns {
	t := &turns{}
	t.mu.free = places
	t.mu.known.waiting = map[netip.Addr][]*turn{}
	t.mu.others.waiting = map[netip.Addr][]*turn{}
	return t
}

// take waits for a turn, which the caller gives back. known says whether the name has logged in before. The error is ErrBusy, or
// ctx's.
func (t *turns) take(ctx context.Context, from netip.Addr, known bool) error {
	t.mu.Lock()
	if t.mu.free > 0 {
		t.mu.free--
		t.mu.Unlock()
		return nil
	}
	w := &turn{from: from, line: &t.mu.others, granted: make(chan error, 1)}
	if known {
		w.line = &t.mu.known
	}
	w.line.add(w)
	if w.line.count > maxTurnsWaiting {
		w.line.dropOldest()
	}
	t.mu.Unlock()

	timer := time.NewTimer(maxTurnWait)
	defer timer.Stop()
	var err error
	select {
	case err := <-w.granted:
		return err
	case <-timer.C:
		err = ErrBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	t.mu.Lock()
	removed := w.line.remove(w)
	t.mu.Unlock()
	if !removed && <-w.granted == nil { // it was granted meanwhile
		t.give()
	}
	return err
}

// give passes a turn on to whoever is next.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	first, second := &t.mu.known, &t.mu.others
	if t.mu.granted++; t.mu.granted%strangersShare == 0 {
		first, second = second, first
	}
	for _, l := range []*line{first, second} {
		if w := l.next(); w != nil {
			w.granted <- nil
			return
		}
	}
	t.mu.free++
}

func (l *line) add(w *turn) {
	if len(l.waiting[w.from]) == 0 {
		l.addresses = append(l.addresses, w.from)
	}
	l.waiting[w.from] = append(l.waiting[w.from], w)
	l.count++
}

// next takes the newest turn of the next address out of the line, nil when nobody waits.
func (l *line) next() *turn {
	if l.count == 0 {
		return nil
	}
	from := l.addresses[0]
	turns := l.waiting[from]
	w := turns[len(turns)-1]
	l.remove(w)
	if len(l.waiting[from]) > 0 { // its turn comes again after all others'
		l.addresses = append(l.addresses[1:], from)
	}
	return w
}

// remove takes w out of the line, and reports whether it was there.
func (l *line) remove(w *turn) bool {
	turns := l.waiting[w.from]
	i := slices.Index(turns, w)
	if i < 0 {
		return false
	}
	l.count--
	if len(turns) > 1 {
		l.waiting[w.from] = slices.Delete(turns, i, i+1)
		return true
	}
	delete(l.waiting, w.from)
	l.addresses = slices.DeleteFunc(l.addresses, func(a netip.Addr) bool { return a == w.from })
	return true
}

// dropOldest ends the oldest turn of the address that has the most.
func (l *line) dropOldest() {
	most := l.addresses[0]
	for _, from := range l.addresses {
		if len(l.waiting[from]) > len(l.waiting[most]) {
			most = from
		}
	}
	w := l.waiting[most][0]
	l.remove(w)
	w.granted <- ErrBusy
}
