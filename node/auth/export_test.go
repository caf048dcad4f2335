package auth

import (
	"context"
	"net/netip"
)

// Turns exposes the queue of logins.
type Turns struct{ t *turns }

// NewTurns returns a queue with the given number of places.
func NewTurns(places int) Turns { return Turns{newTurns(places)} }

// Priority is the priority of a login.
type Priority = priority

// The priorities of logins.
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

// Waiting returns how many logins wait.
func (t Turns) Waiting() int {
	t.t.mu.Lock()
	defer t.t.mu.Unlock()
	n := 0
	for i := range t.t.mu.lines {
		n += t.t.mu.lines[i].count
	}
	return n
}

// MaxTurnsWaiting and MaxTurnWait are the queue's limits.
const (
	MaxTurnsWaiting = maxTurnsWaiting
	MaxTurnWait     = maxTurnWait
)

// AdminIterations returns the number of iterations of an admin's hash.
func (a *Authenticator) AdminIterations(name string) int {
	h, _ := a.accounts.admins.get(name)
	return h.iterations
}

// PriorityOf returns the priority of a login under a name from an address.
func (a *Authenticator) PriorityOf(from netip.Addr, name string) Priority {
	return a.guard.priority(from, name)
}
