//go:build fdb

package main

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/binary"

	"github.com/apple/foundationdb/bindings/go/src/fdb"
	"github.com/apple/foundationdb/bindings/go/src/fdb/tuple"
)

// bare runs the transactions of a new document's write as layer/internal/write/stages.go does: the same reads,
// conflicts, sets and atomic operations, on keys of the same form and length (layer/keyspace). It knows nothing else of
// documents, and reads for each of them separately, while the layer reads for many at once if their ids are close
// together (layer/internal/rev/leafscan.go).
type bare struct {
	db     fdb.Database
	prefix []byte // of the database
	ids    []byte // of transaction ids
}

func newBare(db fdb.Database, root []byte) *bare {
	under := func(t tuple.Tuple) []byte { return append(append([]byte(nil), root...), t.Pack()...) }
	return &bare{db: db, prefix: under(tuple.Tuple{3, 4}), ids: under(tuple.Tuple{4, 498_691})}
}

// Subspaces, with the numbers of layer/keyspace.
const (
	bareStamp     = 0
	bareRevisions = 2
	bareChanges   = 3
	bareWake      = 5
	bareDocuments = 6
	bareAllDocs   = 7
	bareCounters  = 12
)

func (b *bare) key(t ...tuple.TupleElement) fdb.Key {
	return append(b.prefix[:len(b.prefix):len(b.prefix)], tuple.Tuple(t).Pack()...)
}

func (b *bare) put(id string, body []byte) error { return b.bulk([]string{id}, body) }

// bulk writes new documents in one transaction.
func (b *bare) bulk(ids []string, body []byte) error {
	_, err := b.db.Transact(func(tr fdb.Transaction) (any, error) {
		metadata := tr.Snapshot().Get(fdb.Key("\xff/metadataVersion"))
		if err := tr.AddReadConflictKey(b.key(bareStamp)); err != nil {
			return nil, err
		}
		winners := make([]fdb.RangeResult, len(ids))
		iterators := make([]*fdb.RangeIterator, len(ids))
		for i, id := range ids {
			begin := b.key(bareRevisions, id)
			winners[i] = tr.GetRange(fdb.KeyRange{Begin: append(begin, 0),
				End: append(begin[:len(begin):len(begin)], 0xff)},
				fdb.RangeOptions{Limit: 1, Reverse: true, Mode: fdb.StreamingModeExact})
			iterators[i] = winners[i].Iterator()
		}
		for i := range ids {
			if iterators[i].Advance() {
				if _, err := iterators[i].Get(); err != nil {
					return nil, err
				}
			}
		}
		for i, id := range ids {
			if err := b.write(tr, id, i, body); err != nil {
				return nil, err
			}
		}
		tr.Add(b.key(bareCounters, "body_bytes"), count(len(body)*len(ids)))
		tr.Add(b.key(bareCounters, "doc_count"), count(len(ids)))
		last := tuple.Tuple{0, tuple.IncompleteVersionstamp(uint16(len(ids) - 1))}
		wake, err := last.PackWithVersionstamp(nil)
		if err != nil {
			return nil, err
		}
		tr.SetVersionstampedValue(b.key(bareWake, "1"), wake)
		if _, err := metadata.Get(); err != nil {
			return nil, err
		}
		var transactionID [16]byte
		_, _ = rand.Read(transactionID[:]) // never fails
		tr.SetVersionstampedValue(fdb.Key(
			append(b.ids[:len(b.ids):len(b.ids)], tuple.Tuple{tuple.UUID(transactionID)}.Pack()...)), make([]byte, 14))
		return nil, nil
	})
	return err
}

// write sets one document's keys. i is its position in the transaction.
func (b *bare) write(tr fdb.Transaction, id string, i int, body []byte) error {
	hash := md5.Sum(body)
	stamp := tuple.IncompleteVersionstamp(uint16(i))
	tr.Set(b.key(bareDocuments, id, 1, hash[:], 0),
		append([]byte{1, 0, byte(len(body)), byte(len(body) >> 8)}, body...))
	winner, err := tuple.Tuple{1, 0, stamp, 1, tuple.Tuple{}}.PackWithVersionstamp(nil)
	if err != nil {
		return err
	}
	tr.SetVersionstampedValue(b.key(bareRevisions, id, true, 1, hash[:]), winner)
	entry, err := tuple.Tuple{bareChanges, "1", 0, stamp}.PackWithVersionstamp(b.prefix)
	if err != nil {
		return err
	}
	tr.SetVersionstampedKey(fdb.Key(entry), tuple.Tuple{1, id, 1, hash[:], 1, true}.Pack())
	tr.Set(b.key(bareAllDocs, id), tuple.Tuple{1, hash[:]}.Pack())
	return nil
}

func count(n int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }
