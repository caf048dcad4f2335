package auth

import (
	"context"
	"net/netip"
)

// Turns shows the queue of log-ins to tests.
type Turns struct{ t *turns }

// NewTurns makes a queue for so many places.
func NewTurns(places int) Turns { return Turns{newTurns(places)} }

// Priority is what is known of a log-in.
type Priority = priority

// What is known of a log-in.
const (
	KnownName = knownName
	Newcomer  = newcomer
	Suspect   = suspect
)

// Take waits for a turn.
func (t Turns) Take(ctx context.Context, from netip.Addr, is Priority) error {
	return t.t.take(ctx, from, is)
}

// Give gives a turn back.
func (t Turns) Give() { t.t.give() }

// Waiting is how many wait.
func (t Turns) Waiting() int {
	t.t.mu.Lock()
	defer t.t.mu.Unlock()
	n := 0
	for i := range t.t.mu.lines {
		n += t.t.mu.lines[i].count
	}
	return n
}

// MaxTurnsWaiting and MaxTurnWait are the bounds of the queue.
const (
	MaxTurnsWaiting = maxTurnsWaiting
	MaxTurnWait     = maxTurnWait
)

// AdminIterations is how slow the hash of an admin's password is.
func (a *Authenticator) AdminIterations(name string) int {
	h, _ := a.accounts.admins.get(name)
	return h.iterations
}

// PriorityOf is what is known of a log-in under a name from an address.
func (a *Authenticator) PriorityOf(from netip.Addr, name string) Priority {
	return a.guard.priority(from, name)
}
