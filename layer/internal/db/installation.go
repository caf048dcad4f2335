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

// installation is what all nodes on one store share and nobody else has: made when the store is first opened, never
// changed.
type installation [uuidSize + secretSize]byte

// UUID names the store for its clients, 32 hex digits: PouchDB keeps checkpoints by it, so that every node must answer
// the same.
func (s *Store) UUID() string { return hex.EncodeToString(s.installation[:uuidSize]) }

// Secret is 32 random bytes for what the nodes on this store sign for each other, such as session cookies. Do not show
// it, and do not write to it.
func (s *Store) Secret() []byte { return s.installation[uuidSize:] }

// ReadInstallation reads it, or makes it in a store that has none.
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
		return Corrupt("installation", fmt.Errorf("it has %d bytes", len(value)))
	}
	return nil
}
