package auth

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

const (
	// maxUpgrades bounds how many passwords wait for being hashed anew. Others are hashed at a later login.
	maxUpgrades = 64
	upgradeTime = 30 * time.Second
)

// Upgrader is the optional ability of Users to hash a password anew.
type Upgrader interface {
	// UpgradePassword stores the user document with HashUserDocument, for the same password and salt. It does nothing
	// if the document has changed meanwhile.
	UpgradePassword(ctx context.Context, database, name, password string) error
}

// upgrades hashes passwords anew that were hashed with other iterations or another function than the rules say, when
// their users log in: only then is the password known.
type upgrades struct {
	log  *slog.Logger
	stop context.Context // done when the Authenticator is closed
	end  context.CancelFunc
	done sync.WaitGroup
	mu   struct {
		sync.Mutex
		running bool
		waiting []upgradeOf // the first one is being worked on
	}
}

func (u *upgrades) open(log *slog.Logger) {
	u.log = log
	u.stop, u.end = context.WithCancel(context.Background())
}

// Close ends the hashing of passwords that are hashed anew, and waits for it. Nothing else stops.
func (a *Authenticator) Close() error {
	a.upgrades.end()
	a.upgrades.done.Wait()
	return nil
}

type upgradeOf struct{ database, name, password string }

// add has the password of acc hashed anew if the rules ask for it. It does not block.
func (u *upgrades) add(of Users, acc account, password string, rules *Rules) {
	users, ok := of.(Upgrader)
	h := acc.hash
	if !ok || !rules.UpgradeHashes || !acc.document || h.scheme == schemeSCRAM ||
		h.scheme == scheme(rules.PRF) && h.iterations == rules.Iterations {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	next := upgradeOf{rules.Database, acc.name, password}
	if len(u.mu.waiting) >= maxUpgrades || u.stop.Err() != nil || slices.Contains(u.mu.waiting, next) {
		return
	}
	u.mu.waiting = append(u.mu.waiting, next)
	if !u.mu.running {
		u.mu.running = true
		u.done.Go(func() { u.run(users) })
	}
}

// run works until nothing waits. A process that ends meanwhile loses nothing: the next login tries again.
func (u *upgrades) run(users Upgrader) {
	for {
		u.mu.Lock()
		if len(u.mu.waiting) == 0 || u.stop.Err() != nil {
			u.mu.running = false
			u.mu.Unlock()
			return
		}
		next := u.mu.waiting[0]
		u.mu.Unlock()
		ctx, cancel := context.WithTimeout(u.stop, upgradeTime)
		if err := users.UpgradePassword(ctx, next.database, next.name, next.password); err != nil {
			u.log.Warn("a password could not be hashed anew", "user", next.name, "error", err)
		}
		cancel()
		u.mu.Lock()
		u.mu.waiting = u.mu.waiting[1:]
		u.mu.Unlock()
	}
}
