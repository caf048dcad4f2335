package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/divandb/divan/layer"
)

// adminsFile, in the data directory, has the admins that were set while the node ran, by name; null marks a deleted
// one. It overrides the configuration, as CouchDB's local.ini does. As there, each node has its own.
const adminsFile = "admins.json"

// adminSet is the set of server admins.
type adminSet struct {
	file  string // empty: changes are not stored
	fixed bool   // the last admin must not be deleted

	mu struct {
		sync.RWMutex
		configured map[string]string
		changed    map[string]*string // contents of the file
		hashes     map[string]Hash    // configured admins with the changes applied
	}
}

// StoredAdmins reports whether the data directory dir contains an admin that was set while a node ran.
func StoredAdmins(dir string) (bool, error) {
	changed, err := readAdmins(filepath.Join(dir, adminsFile))
	for _, hash := range changed {
		if hash != nil {
			return true, nil
		}
	}
	return false, err
}

func readAdmins(file string) (map[string]*string, error) {
	changed := map[string]*string{}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return changed, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &changed)
	}
	if err != nil {
		return nil, fmt.Errorf("read the admins set at run time: %w", err)
	}
	return changed, nil
}

// newAdminSet applies the file in dir (none if dir is empty) to the configured hashes. Admins in always override both.
func newAdminSet(dir string, configured map[string]string, always map[string]Hash) (*adminSet, error) {
	s := &adminSet{}
	changed := map[string]*string{}
	if dir != "" {
		s.file = filepath.Join(dir, adminsFile)
		var err error
		if changed, err = readAdmins(s.file); err != nil {
			return nil, err
		}
	}
	for name := range always {
		delete(changed, name)
	}
	s.mu.configured = maps.Clone(configured)
	if s.mu.configured == nil {
		s.mu.configured = map[string]string{}
	}
	for name, h := range always {
		s.mu.configured[name] = h.String()
	}
	var err error
	s.mu.changed = changed
	s.mu.hashes, err = mergeAdmins(s.mu.configured, changed)
	return s, err
}

func mergeAdmins(configured map[string]string, changed map[string]*string) (map[string]Hash, error) {
	texts := maps.Clone(configured)
	for name, text := range changed {
		if text == nil {
			delete(texts, name)
		} else {
			texts[name] = *text
		}
	}
	hashes := map[string]Hash{}
	for name, text := range texts {
		h, err := ParseHash(text)
		if err != nil {
			return nil, fmt.Errorf("admin %s: %w", name, err)
		}
		hashes[name] = h
	}
	return hashes, nil
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
func (s *adminSet) change(name string, hash *string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := maps.Clone(s.mu.changed)
	changed[name] = hash
	if _, configured := s.mu.configured[name]; !configured && hash == nil {
		delete(changed, name)
	}
	hashes, err := mergeAdmins(s.mu.configured, changed)
	if err != nil {
		return err
	}
	if len(hashes) == 0 && s.fixed {
		return forbidden("The last admin cannot be deleted while other machines can connect: everyone would be an " +
			"admin.")
	}
	if err := s.write(changed); err != nil {
		return err
	}
	s.mu.changed, s.mu.hashes = changed, hashes
	return nil
}

func (s *adminSet) write(changed map[string]*string) error {
	if s.file == "" {
		return nil
	}
	text, err := json.MarshalIndent(changed, "", "  ")
	if err == nil {
		err = writeFile(s.file, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the admins: %w", err)
	}
	return nil
}

// writeFile atomically and durably replaces a file that only its owner can read.
func writeFile(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails, harmlessly, after the rename
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
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

// SetAdmin adds or changes a server admin, also for later starts of the node. password is a plain password or a stored
// hash. SetAdmin returns the stored hash. The error is Forbidden for a name that could not log in, and Invalid for an
// invalid hash.
func (a *Authenticator) SetAdmin(name, password string) (hash string, err error) {
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
		h = NewHash(password, a.o.sqlIterations())
	}
	hash = h.String()
	return hash, a.accounts.admins.change(name, &hash)
}

// DeleteAdmin removes a server admin. The error is NotFound if there is no such admin, and Forbidden for the last one
// if other machines can connect: without admins, every client is one.
func (a *Authenticator) DeleteAdmin(name string) error {
	if _, ok := a.accounts.admins.get(name); !ok {
		return &layer.Error{Kind: layer.NotFound, Name: "not_found", Reason: "unknown_config_value"}
	}
	return a.accounts.admins.change(name, nil)
}
