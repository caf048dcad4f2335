package auth

import (
	"context"
	"net/netip"
)

// Turns shows the queue of log-ins to tests.
type Turns struct{ t *turns }

// NewTurns makes a queue for so many places.
func NewTurns(places int) Turns { return Turns{newTurns(places)} }

// Take waits for a turn.
func (t Turns) Take(ctx context.Context, from netip.Addr, known bool) error {
	return t.t.take(ctx, from, known)
}

// Give gives a turn back.
func (t Turns) Give() { t.t.give() }

// Waiting is how many wait.
func (t Turns) Waiting() int {
	t.t.mu.Lock()
	defer t.t.mu.Unlock()
	return t.t.mu.known.count + t.t.mu.others.count
}

// MaxTurnsWaiting and MaxTurnWait are the bounds of the queue.
const (
	MaxTurnsWaiting = maxTurnsWaiting
	MaxTurnWait     = maxTurnWait
)

// AdminIterations is how slow the hash of an admin's password is.
func (a *Authenticator) AdminIterations(name string) int {
	h, _ := a.admins.get(name)
	return h.iterations
}
