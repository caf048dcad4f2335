// Package advisory implements PostgreSQL's advisory locks (section 13.3.5): locks on numbers whose meaning only the
// clients know. Sessions and transactions of one node hold them; they do not exclude those of other nodes.
package advisory

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/divandb/divan/query/sqlstate"
)

// maxLocks limits the locks of one owner.
const maxLocks = 10_000

// Key is the key of a lock: one number of 64 bits or two of 32 bits. The two forms never collide.
type Key struct {
	Database string
	Number   int64
	Pair     bool
}

// Locks is the lock table of a node. It is safe for concurrent use.
type Locks struct {
	mu   sync.Mutex
	held map[Key]*lock
}

// New returns an empty lock table.
func New() *Locks { return &Locks{held: map[Key]*lock{}} }

// lock is a key that has a holder or a waiter.
type lock struct {
	holders map[*Owner]*hold
	waiting []*request // in the order of their arrival
}

// hold counts how often an owner holds a key, for the session and for the transaction.
type hold struct {
	session, transaction [2]int // exclusive, shared
}

func (h *hold) exclusive() bool { return h.session[0]+h.transaction[0] > 0 }
func (h *hold) empty() bool     { return *h == hold{} }

// request is a waiting owner.
type request struct {
	owner   *Owner
	key     Key
	shared  bool
	granted chan struct{} // closed when the owner gets the lock
}

// Owner is a session. Only one goroutine may call its methods.
type Owner struct {
	// PID is the number of the session's process in pg_locks. It is set before the owner takes a lock.
	PID   int64
	locks *Locks
	// The fields below are guarded by locks.mu.
	taken   []grant // locks of the transaction, oldest first
	count   int
	waiting *request
	keys    map[Key]struct{}
}

type grant struct {
	key    Key
	shared bool
}

// NewOwner returns an owner without locks. End releases all that it holds.
func (l *Locks) NewOwner() *Owner { return &Owner{locks: l, keys: map[Key]struct{}{}} }

func mode(shared bool) int {
	if shared {
		return 1
	}
	return 0
}

// free reports whether an owner can have a key now: no other owner holds it in a conflicting mode, and no other owner
// is waiting for it, unless this owner holds it already.
func (l *lock) free(o *Owner, shared bool) bool {
	mine := l.holders[o] != nil
	for other, h := range l.holders {
		if other != o && (!shared || h.exclusive()) {
			return false
		}
	}
	return mine || len(l.waiting) == 0
}

// Held is a lock that a session holds or waits for.
type Held struct {
	Key     Key
	PID     int64
	Shared  bool
	Granted bool
}

// List returns all locks, in the order of their keys.
func (l *Locks) List() []Held {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Held
	for key, k := range l.held {
		for o, h := range k.holders {
			for _, shared := range []bool{false, true} {
				if m := mode(shared); h.session[m]+h.transaction[m] > 0 {
					out = append(out, Held{Key: key, PID: o.PID, Shared: shared, Granted: true})
				}
			}
		}
		for _, r := range k.waiting {
			out = append(out, Held{Key: key, PID: r.owner.PID, Shared: r.shared})
		}
	}
	slices.SortFunc(out, func(a, b Held) int {
		return cmp.Or(cmp.Compare(a.Key.Database, b.Key.Database), cmp.Compare(a.Key.Number, b.Key.Number),
			cmp.Compare(a.PID, b.PID))
	})
	return out
}

// Try takes a lock for the transaction or the session if it is free.
func (o *Owner) Try(key Key, shared, transaction bool) (bool, error) {
	o.locks.mu.Lock()
	defer o.locks.mu.Unlock()
	if o.count >= maxLocks {
		return false, sqlstate.New(sqlstate.ProgramLimitExceeded, "a session may hold at most %d advisory locks",
			maxLocks)
	}
	l := o.locks.lock(key)
	if !l.free(o, shared) {
		return false, nil
	}
	o.grant(l, key, shared, transaction)
	return true, nil
}

// Lock waits for a lock.
func (o *Owner) Lock(ctx context.Context, key Key, shared, transaction bool) error {
	if ok, err := o.Try(key, shared, transaction); ok || err != nil {
		return err
	}
	o.locks.mu.Lock()
	l := o.locks.lock(key)
	if l.free(o, shared) {
		o.grant(l, key, shared, transaction)
		o.locks.mu.Unlock()
		return nil
	}
	r := &request{owner: o, key: key, shared: shared, granted: make(chan struct{})}
	o.waiting = r
	l.waiting = append(l.waiting, r)
	if o.locks.deadlocked(o) {
		o.locks.withdraw(r)
		o.locks.mu.Unlock()
		return sqlstate.New(sqlstate.DeadlockDetected,
			"deadlock detected").WithHint("Another session waits for an advisory lock of this one.")
	}
	o.locks.mu.Unlock()
	select {
	case <-r.granted:
	case <-ctx.Done():
	}
	o.locks.mu.Lock()
	defer o.locks.mu.Unlock()
	select {
	case <-r.granted:
		// The lock was granted to the session; move it to the transaction.
		if transaction {
			h := o.locks.held[key].holders[o]
			h.session[mode(shared)]--
			h.transaction[mode(shared)]++
			o.taken = append(o.taken, grant{key, shared})
		}
		return nil
	default:
		o.locks.withdraw(r)
		return context.Cause(ctx)
	}
}

// Unlock releases one lock of the session. It returns false if the session does not hold it.
func (o *Owner) Unlock(key Key, shared bool) bool {
	o.locks.mu.Lock()
	defer o.locks.mu.Unlock()
	l := o.locks.held[key]
	if l == nil || l.holders[o] == nil || l.holders[o].session[mode(shared)] == 0 {
		return false
	}
	l.holders[o].session[mode(shared)]--
	o.count--
	o.locks.settle(key)
	return true
}

// UnlockAll releases all locks of the session.
func (o *Owner) UnlockAll() {
	o.locks.mu.Lock()
	defer o.locks.mu.Unlock()
	for key := range o.keys {
		h := o.locks.held[key].holders[o]
		o.count -= h.session[0] + h.session[1]
		h.session = [2]int{}
		o.locks.settle(key)
	}
}

// Mark returns a position for EndTransaction, for example at a savepoint.
func (o *Owner) Mark() int {
	o.locks.mu.Lock()
	defer o.locks.mu.Unlock()
	return len(o.taken)
}

// EndTransaction releases the locks that the transaction has taken since a mark; 0 means all.
func (o *Owner) EndTransaction(mark int) {
	o.locks.mu.Lock()
	defer o.locks.mu.Unlock()
	for len(o.taken) > mark {
		g := o.taken[len(o.taken)-1]
		o.taken = o.taken[:len(o.taken)-1]
		o.locks.held[g.key].holders[o].transaction[mode(g.shared)]--
		o.count--
		o.locks.settle(g.key)
	}
}

// End releases all locks.
func (o *Owner) End() {
	o.EndTransaction(0)
	o.UnlockAll()
}

// The functions below are called with mu locked.

func (l *Locks) lock(key Key) *lock {
	k := l.held[key]
	if k == nil {
		k = &lock{holders: map[*Owner]*hold{}}
		l.held[key] = k
	}
	return k
}

func (o *Owner) grant(l *lock, key Key, shared, transaction bool) {
	h := l.holders[o]
	if h == nil {
		h = &hold{}
		l.holders[o] = h
	}
	o.count++
	o.keys[key] = struct{}{}
	if transaction {
		h.transaction[mode(shared)]++
		o.taken = append(o.taken, grant{key, shared})
	} else {
		h.session[mode(shared)]++
	}
}

// settle removes a key's holds that are zero, and grants the key to the first waiters that can have it.
func (l *Locks) settle(key Key) {
	k := l.held[key]
	for o, h := range k.holders {
		if h.empty() {
			delete(k.holders, o)
			delete(o.keys, key)
		}
	}
	for len(k.waiting) > 0 {
		r := k.waiting[0]
		rest := k.waiting[1:]
		k.waiting = nil // ignore the waiters after this one
		if !k.free(r.owner, r.shared) {
			k.waiting = append([]*request{r}, rest...)
			break
		}
		r.owner.grant(k, key, r.shared, false)
		r.owner.waiting = nil
		close(r.granted)
		k.waiting = rest
	}
	if len(k.holders) == 0 && len(k.waiting) == 0 {
		delete(l.held, key)
	}
}

func (l *Locks) withdraw(r *request) {
	k := l.held[r.key]
	if i := slices.Index(k.waiting, r); i >= 0 {
		k.waiting = slices.Delete(k.waiting, i, i+1)
	}
	r.owner.waiting = nil
	l.settle(r.key)
}

// deadlocked reports whether a waiting owner is waiting for itself through other waiters.
func (l *Locks) deadlocked(o *Owner) bool {
	seen := map[*Owner]bool{}
	var walk func(x *Owner) bool
	walk = func(x *Owner) bool {
		if x.waiting == nil {
			return false
		}
		k := l.held[x.waiting.key]
		before := true
		var others []*Owner
		for other, h := range k.holders {
			if other != x && (!x.waiting.shared || h.exclusive()) {
				others = append(others, other)
			}
		}
		for _, r := range k.waiting {
			if before = before && r.owner != x; before {
				others = append(others, r.owner)
			}
		}
		for _, other := range others {
			if other == o {
				return true
			}
			if !seen[other] {
				seen[other] = true
				if walk(other) {
					return true
				}
			}
		}
		return false
	}
	return walk(o)
}
