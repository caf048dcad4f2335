package index

import (
	"fmt"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// The keys of an index's rows, entries, marks and partial aggregates begin with a number that identifies the index in
// its database. It is assigned when the index is first written. Numbers are never reused: nothing that an old
// transaction still writes, or an old query still reads, can be mistaken for part of another index. An index that is
// older than numbers has its signature in these keys until it is cleared; no signature is encoded like a number.
//
// Transactions that write rows read the number with a read conflict, so that they are retried if it has changed.

// Find starts reading the index's number. Call the returned function before making a key in ViewData.
func (k *Keys) Find(r kv.Reader) func() error {
	f := r.Get(k.InfoKey(keyspace.ViewNumber))
	return func() error {
		value, err := f.Wait()
		if err != nil {
			return err
		}
		if value == nil {
			k.setNumber(0)
			return nil
		}
		format, rest, err := tuple.TakeInt(value)
		if err == nil && (format < 1 || format > keyspace.IndexNumberFormat) {
			return db.UnknownFormat("the number of an index", format, keyspace.IndexNumberFormat)
		}
		var n int64
		if err == nil {
			n, _, err = tuple.TakeInt(rest)
		}
		if err == nil && n <= 0 {
			err = fmt.Errorf("invalid number %d", n)
		}
		if err != nil {
			return db.Corrupt("number of an index", err)
		}
		k.setNumber(n)
		k.Format = format
		return nil
	}
}

// setNumber sets the number; 0 means that the index has none.
func (k *Keys) setNumber(n int64) {
	if k.Number, k.Format = n, 0; n == 0 {
		k.Data = tuple.AppendString(k.All, k.Signature)
		return
	}
	k.Data = tuple.AppendInt(k.All, n)
}

// IndexSigns are the keys that tell whether anything of an index exists: every existing index has one of them.
var IndexSigns = []keyspace.ViewInfoKey{keyspace.ViewUpdateSeq, keyspace.ViewStatus, keyspace.ViewCreation}

// EnsureNumber assigns a number to an index that does not exist yet. Call it before anything of the index is written.
func (k *Keys) EnsureNumber(tx kv.Transaction) error {
	if err := k.Find(tx)(); err != nil || k.Number > 0 {
		return err
	}
	signs := make([]kv.Future[[]byte], 0, len(IndexSigns))
	for _, what := range IndexSigns {
		signs = append(signs, tx.Get(k.InfoKey(what)))
	}
	key := tuple.AppendInt(k.Info[:len(k.Info):len(k.Info)], int64(keyspace.ViewLastNumber))
	// With a read conflict: of two transactions that assign a number at once, one is retried.
	last := tx.Get(key)
	for _, sign := range signs {
		if value, err := sign.Wait(); value != nil || err != nil {
			return err
		}
	}
	value, err := last.Wait()
	if err != nil {
		return err
	}
	n := int64(1)
	if value != nil {
		if n, _, err = tuple.TakeInt(value); err != nil {
			return db.Corrupt("last number of an index", err)
		}
		n++
	}
	tx.Set(key, tuple.AppendInt(nil, n))
	tx.Set(k.InfoKey(keyspace.ViewNumber), tuple.AppendInt(tuple.AppendInt(nil, keyspace.IndexNumberFormat), n))
	k.setNumber(n)
	k.Format = keyspace.IndexNumberFormat
	return nil
}
