package auth

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/divandb/divan/layer"
)

const (
	// maxTurnWait is how long a login waits for its password to be hashed before it is refused with ErrBusy.
	maxTurnWait = 10 * time.Second
	// longWait is how long the oldest login from an address must have waited before any login from that address may go
	// first.
	longWait = maxTurnWait / 2
	// maxTurnsWaiting is how many logins may wait.
	maxTurnsWaiting = 256
	// strangersShare: while both wait, one turn in this many goes to a name that has not logged in before.
	strangersShare = 4
	// suspectsShare is the same for addresses that have sent a wrong password.
	suspectsShare = 16
)

// priority is a login's priority, known before its password is checked.
type priority int

const (
	knownName priority = iota // the name has logged in before
	newcomer
	suspect // the address has recently sent a wrong password
	priorities
)

// ErrBusy is returned for a login that came while too many others were waiting.
var ErrBusy = &layer.Error{
	Kind: layer.Unavailable, Name: "service_unavailable", Reason: "Too many logins at once. Try again later.",
}

// turns limits how many passwords are hashed at once. Hashing is slow on purpose, so someone who sends wrong passwords
// could otherwise keep everyone else waiting.
//
// Names that have logged in before go first, and addresses that have sent wrong passwords last. Addresses take turns.
// Of the logins from one address the oldest goes first, or any of them once the oldest has waited long: under overload
// some logins must wait too long, but not all of them.
type turns struct {
	mu struct {
		sync.Mutex
		free    int
		granted int
		lines   [priorities]line
	}
}

// turn is a waiting login.
type turn struct {
	from    netip.Addr
	since   time.Time
	line    *line
	granted chan error // receives once: nil, or ErrBusy if the turn was dropped for a newer one
}

// line has the waiting turns, by address.
type line struct {
	addresses []netip.Addr           // in the order of their next turn
	waiting   map[netip.Addr][]*turn // oldest first; no empty lists
	count     int
}

func newTurns(places int) *turns {
	t := &turns{}
	t.mu.free = places
	for i := range t.mu.lines {
		t.mu.lines[i].waiting = map[netip.Addr][]*turn{}
	}
	return t
}

// take waits for a turn, which the caller must give back. The error is ErrBusy, or that of ctx.
func (t *turns) take(ctx context.Context, from netip.Addr, is priority) error {
	t.mu.Lock()
	if t.mu.free > 0 {
		t.mu.free--
		t.mu.Unlock()
		return nil
	}
	w := &turn{from: from, since: time.Now(), line: &t.mu.lines[is], granted: make(chan error, 1)}
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
	if !removed && <-w.granted == nil { // granted meanwhile
		t.give()
	}
	return err
}

// give passes a turn on to the next waiting login.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	order := [priorities]priority{knownName, newcomer, suspect}
	switch t.mu.granted++; {
	case t.mu.granted%suspectsShare == 0:
		order = [priorities]priority{suspect, newcomer, knownName}
	case t.mu.granted%strangersShare == 0:
		order = [priorities]priority{newcomer, suspect, knownName}
	}
	for _, is := range order {
		if w := t.mu.lines[is].next(); w != nil {
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

// next removes and returns the next address's turn, or nil if none waits.
func (l *line) next() *turn {
	if l.count == 0 {
		return nil
	}
	from := l.addresses[0]
	turns := l.waiting[from]
	w := turns[0]
	if time.Since(w.since) > longWait {
		w = turns[rand.IntN(len(turns))]
	}
	l.remove(w)
	if len(l.waiting[from]) > 0 { // its next turn comes after all others'
		l.addresses = append(l.addresses[1:], from)
	}
	return w
}

// remove removes w, and reports whether it was there.
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

// dropOldest drops the oldest turn of the address that has the most.
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
