package exec

import (
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/types"
)

// MaxKeys is the number of values that a Scan reads in one round trip.
const MaxKeys = 1000

// maxKeyBytes is the size of the values that a KeySet collects beyond MaxKeys.
const maxKeyBytes = 4 << 20

// KeySet collects different values.
type KeySet struct {
	Values []types.Datum
	seen   map[string]struct{}
	buf    []byte
	// Limit, if not nil, is asked when there are MaxKeys values, and returns how many are collected.
	Limit func() int
	size  int
	// Many is set if there are more than MaxKeys, or the Limit, which are not collected.
	Many bool
}

// full reports whether no more values are collected.
func (k *KeySet) full() bool {
	return len(k.Values) >= MaxKeys && (k.Limit == nil || k.size > maxKeyBytes || len(k.Values) >= k.Limit())
}

// Add adds a value that is not NULL.
func (k *KeySet) Add(env *Env, d types.Datum) (err error) {
	if k.Many || d.IsNull() {
		return nil
	}
	if k.buf, err = env.Hash(k.buf[:0], d); err != nil || k.Has(k.buf) {
		return err
	}
	if k.full() {
		k.Values, k.seen, k.Many = nil, nil, true
		return nil
	}
	if k.seen == nil {
		k.seen = map[string]struct{}{}
	}
	k.seen[string(k.buf)] = struct{}{}
	k.Values = append(k.Values, d.Own())
	k.size += len(d.S) + len(k.buf)
	return nil
}

// Has reports whether a value with that hash has been added.
func (k *KeySet) Has(hash []byte) bool {
	_, found := k.seen[string(hash)]
	return found
}

// Batch holds the ids or keys that the next rows of a query look for in a relation, by a sub-query or a lateral item.
// The first of them that is looked for reads the rows of all in one round trip.
type Batch struct {
	Keys KeySet
	Rows *spill.Table // by the hash of the id or key; nil before the first look-up
}
