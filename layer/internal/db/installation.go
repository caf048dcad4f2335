package db

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

const (
	uuidSize   = 16
	secretSize = 32
)

// installation identifies the store. All nodes on the store share it. It is created when the store is first opened and
// never changes.
type installation [uuidSize + secretSize]byte

// UUID returns the store's UUID, as 32 hex digits. It is the same on all nodes: PouchDB uses it to find its
// checkpoints.
func (s *Store) UUID() string { return hex.EncodeToString(s.installation[:uuidSize]) }

// Secret returns 32 random bytes with which the nodes on this store sign what they exchange, such as session cookies.
// Do not reveal or modify it.
func (s *Store) Secret() []byte { return s.installation[uuidSize:] }

// ReadInstallation reads the installation, or creates it in a new store.
func (s *Store) ReadInstallation(tx kv.Transaction) error {
	key := tuple.AppendString(s.Section(keyspace.Format), "installation")
	value, err := tx.Get(key).Wait()
	if err != nil {
		return err
	}
	if value == nil {
		rand.Read(s.installation[:])
		tx.Set(key, s.installation[:])
		return nil
	}
	if copy(s.installation[:], value) != len(s.installation) {
		return Corrupt("installation", fmt.Errorf("unexpected length %d", len(value)))
	}
	return nil
}
