package auth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/divandb/divan/layer"
)

// AdminStore keeps the admins that are set at run time, for all nodes and for later starts.
type AdminStore interface {
	// ChangeAdmins lets change modify them: the hash by name, nil for a configured admin that was deleted. It calls
	// AdminsChanged before it returns. An error of change is returned unchanged.
	ChangeAdmins(ctx context.Context, change func(changed map[string]*string) error) error
}

// adminSet is the set of server admins.
type adminSet struct {
	keep  AdminStore
	fixed bool // the last admin must not be deleted
	mu    struct {
		sync.RWMutex
		// always has admins of the command line. They override those that are stored, until they are changed.
		always     map[string]Hash
		loaded     bool // the stored ones are known
		configured map[string]string
		changed    map[string]*string
		hashes     map[string]Hash // configured admins with the changes applied
	}
}

func newAdminSet(configured map[string]string, always map[string]Hash) (*adminSet, error) {
	s := &adminSet{}
	s.mu.configured, s.mu.always = configured, maps.Clone(always)
	var err error
	s.mu.hashes, err = s.merge(nil, "")
	return s, err
}

// merge applies changes to the configured admins. Those in always override both, except one that is being changed.
// Called with mu held.
func (s *adminSet) merge(changed map[string]*string, except string) (map[string]Hash, error) {
	hashes, err := mergeAdmins(s.mu.configured, changed)
	for name, h := range s.mu.always {
		if name != except {
			hashes[name] = h
		}
	}
	return hashes, err
}

// mergeAdmins returns all admins with a valid hash, and an error if some have none.
func mergeAdmins(configured map[string]string, changed map[string]*string) (map[string]Hash, error) {
	texts := map[string]string{}
	maps.Copy(texts, configured)
	for name, text := range changed {
		if text == nil {
			delete(texts, name)
		} else {
			texts[name] = *text
		}
	}
	hashes := map[string]Hash{}
	var errs []error
	for name, text := range texts {
		h, err := ParseHash(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("admin %s: %w", name, err))
			continue
		}
		hashes[name] = h
	}
	return hashes, errors.Join(errs...)
}

func (s *adminSet) get(name string) (Hash, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	h, ok := s.mu.hashes[name]
	return h, ok
}

// rawSalts reports whether an admin's salt is 16 raw bytes, as an earlier `divan hash-password` made them. If so, half
// of the invented salts have that form too.
func (s *adminSet) rawSalts() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, h := range s.mu.hashes {
		if h.scheme == schemeSCRAM && len(h.salt) == 16 {
			return true
		}
	}
	return false
}

func (s *adminSet) empty() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.mu.hashes) == 0
}

// change sets the hash of name, or deletes it if hash is nil. The change is durable before it takes effect.
func (s *adminSet) change(ctx context.Context, name string, hash *string) error {
	change := func(changed map[string]*string) error {
		s.mu.RLock()
		defer s.mu.RUnlock()
		changed[name] = hash
		_, configured := s.mu.configured[name]
		_, always := s.mu.always[name]
		if !configured && !always && hash == nil {
			delete(changed, name)
		}
		hashes, err := s.merge(changed, name)
		if err == nil && len(hashes) == 0 && s.fixed {
			err = forbidden("The last admin cannot be deleted while other machines can connect: everyone would be an " +
				"admin.")
		}
		return err
	}
	if s.keep != nil {
		return s.keep.ChangeAdmins(ctx, change)
	}
	s.mu.RLock()
	changed := maps.Clone(s.mu.changed)
	s.mu.RUnlock()
	if changed == nil {
		changed = map[string]*string{}
	}
	if err := change(changed); err != nil {
		return err
	}
	return s.apply(changed)
}

// apply makes changes effective. An admin whose hash is invalid is none.
func (s *adminSet) apply(changed map[string]*string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.loaded || s.keep == nil {
		for name := range s.mu.always {
			if !sameHash(changed, s.mu.changed, name) {
				delete(s.mu.always, name)
			}
		}
	}
	hashes, err := s.merge(changed, "")
	s.mu.loaded, s.mu.changed, s.mu.hashes = true, changed, hashes
	return err
}

// sameHash reports whether an admin is the same in two sets of changes.
func sameHash(a, b map[string]*string, name string) bool {
	x, inA := a[name]
	y, inB := b[name]
	return inA == inB && layer.SameOption(x, y)
}

// AdminsChanged tells the Authenticator which admins were set at run time, by any node. The error names those without
// a valid hash; the others are effective.
func (a *Authenticator) AdminsChanged(changed map[string]*string) error {
	return a.accounts.admins.apply(maps.Clone(changed))
}

// Admins returns the stored hashes of the server admins by name.
func (a *Authenticator) Admins() map[string]string {
	a.accounts.admins.mu.RLock()
	defer a.accounts.admins.mu.RUnlock()
	texts := map[string]string{}
	for name, h := range a.accounts.admins.mu.hashes {
		texts[name] = h.String()
	}
	return texts
}

// SetAdmin adds or changes a server admin, on all nodes and for later starts. password is a plain password or a stored
// hash. SetAdmin returns the stored hash. The error is Forbidden for a name that could not log in, and Invalid for an
// invalid hash.
func (a *Authenticator) SetAdmin(ctx context.Context, name, password string) (hash string, err error) {
	if name == "" || strings.Contains(name, ":") {
		return "", forbidden("An admin's name must not be empty or contain a colon.")
	}
	if password == "" {
		return "", forbidden("An admin's password must not be empty.")
	}
	h, err := ParseHash(password)
	switch {
	case err != nil && looksHashed(password):
		// Say the same as for node.yaml. No one chooses such a password, and no one could log in with a damaged hash.
		return "", badRequest(fmt.Sprintf("admins/%s: %v", name, err))
	case err != nil:
		h = NewHash(password, a.sqlIterations())
	}
	hash = h.String()
	return hash, a.accounts.admins.change(ctx, name, &hash)
}

// DeleteAdmin removes a server admin. The error is NotFound if there is no such admin, and Forbidden for the last one
// if other machines can connect: without admins, every client is one.
func (a *Authenticator) DeleteAdmin(ctx context.Context, name string) error {
	if _, ok := a.accounts.admins.get(name); !ok {
		return &layer.Error{Kind: layer.NotFound, Name: "not_found", Reason: "unknown_config_value"}
	}
	return a.accounts.admins.change(ctx, name, nil)
}
