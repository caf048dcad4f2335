package auth

import (
	"log/slog"
	"net/netip"
	"runtime"
)

// guard keeps strangers from guessing passwords, and from using all CPUs while they try.
type guard struct {
	failures *failureCounts
	slow     *turns      // limits concurrent hashing
	known    *remembered // names that have logged in
	suspects *remembered // addresses that have sent a wrong password
	refused  func(name string, known, locked bool, from netip.Addr)
	log      *slog.Logger
}

func newGuard(o Options) guard {
	return guard{
		failures: newFailureCounts(), slow: newTurns(max(1, runtime.GOMAXPROCS(0)/2)), known: newRemembered(),
		suspects: newRemembered(), refused: o.Refused, log: o.Logger,
	}
}

// priority returns a login's priority, which is known before its password is checked.
func (g *guard) priority(from netip.Addr, name string) priority {
	switch {
	case g.known.has(name):
		return knownName
	case g.suspects.has(from.String()):
		return suspect
	}
	return newcomer
}

// lockedOut returns an error if the attempt has failed too often before.
func (g *guard) lockedOut(at attempt, name string, known bool, from netip.Addr) error {
	reached, untold, mode := g.failures.reached(at)
	if !reached {
		return nil
	}
	if untold {
		g.log.Warn("too many wrong passwords", "user", name, "from", from, "lockout", mode)
	}
	if mode != LockoutEnforce {
		return nil
	}
	if g.refused != nil {
		g.refused(name, known, true, from)
	}
	return errLockedOut
}

func (g *guard) wrongPassword(at attempt, name string, known bool, from netip.Addr) {
	g.failures.add(at)
	g.suspects.add(from.String())
	if g.refused != nil {
		g.refused(name, known, false, from)
		return
	}
	g.log.Warn("authentication failed", "user", name, "from", from)
}
