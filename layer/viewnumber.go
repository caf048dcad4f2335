package layer

import (
	"fmt"

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

// find asks for the index's number. Wait with what it returns before making a key of ViewData.
func (k *indexKeys) find(r kv.Reader) func() error {
	f := r.Get(k.infoKey(keyspace.ViewNumber))
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
			return unknownFormat("the number of an index", format, keyspace.IndexFormat)
		}
		var n int64
		if err == nil {
			n, _, err = tuple.TakeInt(rest)
		}
		if err == nil && n <= 0 {
			err = fmt.Errorf("it is %d", n)
		}
		if err != nil {
			return corrupt("number of an index", err)
		}
		k.setNumber(n)
		return nil
	}
}

// setNumber is 0 for an index that has none.
func (k *indexKeys) setNumber(n int64) {
	if k.number = n; n == 0 {
		k.data = tuple.AppendString(k.all, k.signature)
		return
	}
	k.data = tuple.AppendInt(k.all, n)
}

// indexSigns are what an index has of which there is anything: each has one of them.
var indexSigns = []keyspace.ViewInfoKey{keyspace.ViewUpdateSeq, keyspace.ViewStatus, keyspace.ViewCreation}

// ensureNumber gives the index a number where there is nothing of it yet. Call it before the first thing is written.
func (k *indexKeys) ensureNumber(tx kv.Transaction) error {
	if err := k.find(tx)(); err != nil || k.number > 0 {
		return err
	}
	signs := make([]kv.Future[[]byte], 0, len(indexSigns))
	for _, what := range indexSigns {
		signs = append(signs, tx.Get(k.infoKey(what)))
	}
	key := tuple.AppendInt(k.info[:len(k.info):len(k.info)], int64(keyspace.ViewLastNumber))
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
			return corrupt("last number of an index", err)
		}
		n++
	}
	tx.Set(key, tuple.AppendInt(nil, n))
	tx.Set(k.infoKey(keyspace.ViewNumber), tuple.AppendInt(tuple.AppendInt(nil, keyspace.IndexFormat), n))
	k.setNumber(n)
	return nil
}
