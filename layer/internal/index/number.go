package index

import (
	"fmt"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Every row of an index, entry by id, mark and partial begins with what tells the index from others. That is a number
// of the database's, which the index gets with the first thing that is written of it. Numbers are counted up and never
// given a second time, so that nothing that a transaction of before still writes, or a query of before still reads, is
// taken for another index's. An index that was written before there were numbers has its signature in these keys, and
// keeps it until it is cleared: a number and a string cannot be the same.
//
// The number is read with conflict wherever rows are written: a transaction that has seen another one than there is at
// its commit is repeated.

// Find asks for the index's number. Wait with what it returns before making a key of ViewData.
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
		if err == nil && format != keyspace.IndexFormat {
			return db.UnknownFormat("the number of an index", format, keyspace.IndexFormat)
		}
		var n int64
		if err == nil {
			n, _, err = tuple.TakeInt(rest)
		}
		if err == nil && n <= 0 {
			err = fmt.Errorf("it is %d", n)
		}
		if err != nil {
			return db.Corrupt("number of an index", err)
		}
		k.setNumber(n)
		return nil
	}
}

// setNumber is 0 for an index that has none.
func (k *Keys) setNumber(n int64) {
	if k.Number = n; n == 0 {
		k.Data = tuple.AppendString(k.All, k.Signature)
		return
	}
	k.Data = tuple.AppendInt(k.All, n)
}

// IndexSigns are what an index has of which there is anything: each has one of them.
var IndexSigns = []keyspace.ViewInfoKey{keyspace.ViewUpdateSeq, keyspace.ViewStatus, keyspace.ViewCreation}

// EnsureNumber gives the index a number where there is nothing of it yet. Call it before the first thing is written.
func (k *Keys) EnsureNumber(tx kv.Transaction) error {
	if err := k.Find(tx)(); err != nil || k.Number > 0 {
		return err
	}
	signs := make([]kv.Future[[]byte], 0, len(IndexSigns))
	for _, what := range IndexSigns {
		signs = append(signs, tx.Get(k.InfoKey(what)))
	}
	key := tuple.AppendInt(k.Info[:len(k.Info):len(k.Info)], int64(keyspace.ViewLastNumber))
	last := tx.Get(key) // with conflict: of two that count at once, one counts again
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
	tx.Set(k.InfoKey(keyspace.ViewNumber), tuple.AppendInt(tuple.AppendInt(nil, keyspace.IndexFormat), n))
	k.setNumber(n)
	return nil
}
