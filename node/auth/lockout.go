package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/divandb/divan/layer"
)

// The modes of a Lockout.
const (
	LockoutOff     = "off"     // failures are not counted
	LockoutWarn    = "warn"    // only logged
	LockoutEnforce = "enforce" // further attempts are refused
)

// Lockout refuses further logins under a name from an address after several wrong passwords, as CouchDB 3.5 does
// (section chttpd_auth_lockout of its configuration). A new password ends it.
type Lockout struct {
	Mode string // one of the above
	// Threshold is the number of wrong passwords after which attempts are refused.
	Threshold int
	// Lifetime is how long failures count, from the first one on.
	Lifetime time.Duration
	// MaxObjects is how many pairs of address and name are remembered. The least recently used is forgotten first.
	MaxObjects int
}

// errLockedOut is the same for names that do not exist, so that it reveals nothing about them.
var errLockedOut = &layer.Error{
	Kind: layer.Forbidden, Name: "forbidden",
	Reason: "Account is temporarily locked due to multiple authentication failures",
}

// failureCounts counts wrong passwords. It is safe for concurrent use.
type failureCounts struct {
	secret [32]byte
	mu     struct {
		sync.Mutex
		o        Lockout
		failures *simplelru.LRU[attempt, failures] // nil if failures are not counted
	}
}

// attempt is a digest of address, name and salt. Names come from strangers and may be long, so they are not stored.
type attempt [sha256.Size]byte

type failures struct {
	count int
	first time.Time
	told  bool // the log has reported that the threshold is reached
}

func newFailureCounts() *failureCounts {
	c := &failureCounts{}
	rand.Read(c.secret[:])
	return c
}

// bound sets the limits. What was counted before stays counted, unless failures are no longer counted.
func (c *failureCounts) bound(o Lockout) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.o = o
	if o.Mode == LockoutOff || o.Mode == "" {
		c.mu.failures = nil
		return nil
	}
	if c.mu.failures != nil {
		c.mu.failures.Resize(o.MaxObjects)
		return nil
	}
	var err error
	c.mu.failures, err = simplelru.NewLRU[attempt, failures](o.MaxObjects, nil)
	return err
}

func (c *failureCounts) attempt(from netip.Addr, name, salt string) attempt {
	return digest(c.secret[:], from.String(), name, salt)
}

// reached reports whether an attempt has failed so often that it is refused, or only logged, depending on the mode.
// untold is true once per lifetime, so that a flood of attempts does not flood the log.
func (c *failureCounts) reached(a attempt) (is, untold bool, mode string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mode = c.mu.o.Mode
	if c.mu.failures == nil {
		return false, false, mode
	}
	f, ok := c.mu.failures.Get(a)
	if ok && time.Since(f.first) >= c.mu.o.Lifetime {
		c.mu.failures.Remove(a)
		return false, false, mode
	}
	if !ok || f.count < c.mu.o.Threshold {
		return false, false, mode
	}
	untold = !f.told
	f.told = true
	c.mu.failures.Add(a, f)
	return true, untold, mode
}

// add counts a wrong password.
func (c *failureCounts) add(a attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.failures == nil {
		return
	}
	f, ok := c.mu.failures.Get(a)
	if !ok || time.Since(f.first) >= c.mu.o.Lifetime {
		f = failures{first: time.Now()}
	}
	f.count++
	c.mu.failures.Add(a, f)
}
