package fdbtest

import (
	"bytes"
	"context"

	"github.com/divandb/divan/layer/kv"
)

// confined confines an engine to the keys with a prefix: callers see the rest of each key. Keys from "\xff" on,
// except kv.MetadataVersionKey, are mapped below the prefix too, although an engine would refuse them.
type confined struct {
	kv.Engine
	prefix []byte
}

func confine(e kv.Engine, prefix []byte) kv.Engine {
	return confined{e, bytes.Clone(prefix)}
}

func (c confined) Begin(ctx context.Context) kv.Transaction {
	tx := c.Engine.Begin(ctx)
	return transaction{reader{tx, c.prefix}, tx}
}

func (r reader) key(k []byte) []byte {
	if string(k) == kv.MetadataVersionKey {
		return k // it belongs to the whole store
	}
	return append(r.prefix[:len(r.prefix):len(r.prefix)], k...)
}

func (r reader) keyRange(kr kv.KeyRange) kv.KeyRange {
	return kv.KeyRange{Begin: r.key(kr.Begin), End: r.key(kr.End)}
}

type reader struct {
	kv.Reader
	prefix []byte
}

func (r reader) Get(k []byte) kv.Future[[]byte] { return r.Reader.Get(r.key(k)) }

func (r reader) GetKey(s kv.KeySelector) kv.Future[[]byte] {
	s.Key = r.key(s.Key)
	return keyFuture{r.Reader.GetKey(s), r.prefix}
}

// keyFuture clamps the result to the ends of the key space if the selector leads out of the prefix.
type keyFuture struct {
	kv.Future[[]byte]
	prefix []byte
}

func (f keyFuture) Wait() ([]byte, error) {
	k, err := f.Future.Wait()
	switch {
	case err != nil:
		return nil, err
	case bytes.HasPrefix(k, f.prefix):
		return k[len(f.prefix):], nil
	case bytes.Compare(k, f.prefix) < 0:
		return []byte{}, nil
	}
	return []byte{0xff}, nil
}

// GetRange first resolves selectors that may lead out of the prefix.
func (r reader) GetRange(kr kv.Range, o kv.RangeOptions) kv.RangeIterator {
	begin, end := kr.Selectors()
	var bounds [2][]byte
	for i, s := range []kv.KeySelector{begin, end} {
		bounds[i] = s.Key
		if s.Offset != 1 || s.OrEqual {
			k, err := r.GetKey(s).Wait()
			if err != nil {
				return &iterator{err: err}
			}
			bounds[i] = k
		}
	}
	if bytes.Compare(bounds[0], bounds[1]) > 0 {
		bounds[1] = bounds[0]
	}
	return &iterator{RangeIterator: r.Reader.GetRange(r.keyRange(kv.KeyRange{Begin: bounds[0], End: bounds[1]}), o),
		prefix: len(r.prefix)}
}

type iterator struct {
	kv.RangeIterator       // nil if err is set
	prefix           int   // length of the prefix
	err              error // from resolving the bounds
}

func (it *iterator) Next() bool { return it.err == nil && it.RangeIterator.Next() }

func (it *iterator) KeyValue() kv.KeyValue {
	row := it.RangeIterator.KeyValue()
	row.Key = row.Key[it.prefix:]
	return row
}

func (it *iterator) Err() error {
	if it.err != nil {
		return it.err
	}
	return it.RangeIterator.Err()
}

func (it *iterator) Close() {
	if it.err == nil {
		it.RangeIterator.Close()
	}
}

// transaction reads through its reader, and maps its writes below the prefix.
type transaction struct {
	reader
	tx kv.Transaction
}

func (t transaction) Snapshot() kv.Reader                    { return reader{t.tx.Snapshot(), t.prefix} }
func (t transaction) Set(k, v []byte)                        { t.tx.Set(t.key(k), v) }
func (t transaction) Clear(k []byte)                         { t.tx.Clear(t.key(k)) }
func (t transaction) ClearRange(r kv.KeyRange)               { t.tx.ClearRange(t.keyRange(r)) }
func (t transaction) Atomic(op kv.AtomicOp, k, v []byte)     { t.tx.Atomic(op, t.key(k), v) }
func (t transaction) AddReadConflict(r kv.KeyRange)          { t.tx.AddReadConflict(t.keyRange(r)) }
func (t transaction) AddWriteConflict(r kv.KeyRange)         { t.tx.AddWriteConflict(t.keyRange(r)) }
func (t transaction) CausalReadRisky()                       { t.tx.CausalReadRisky() }
func (t transaction) MakesRoom()                             { t.tx.MakesRoom() }
func (t transaction) SetReadVersion(version int64)           { t.tx.SetReadVersion(version) }
func (t transaction) Commit() error                          { return t.tx.Commit() }
func (t transaction) CommittedVersion() (int64, error)       { return t.tx.CommittedVersion() }
func (t transaction) Versionstamp() (kv.Versionstamp, error) { return t.tx.Versionstamp() }
func (t transaction) Watch(k []byte) kv.Watch                { return t.tx.Watch(t.key(k)) }
func (t transaction) Wrote() bool                            { return t.tx.Wrote() }
func (t transaction) Size() int                              { return t.tx.Size() }
func (t transaction) Cancel()                                { t.tx.Cancel() }
func (t transaction) SetVersionstampedValue(k, v []byte, offset int) {
	t.tx.SetVersionstampedValue(t.key(k), v, offset)
}

func (t transaction) SetVersionstampedKey(k []byte, offset int, v []byte) {
	t.tx.SetVersionstampedKey(t.key(k), offset+len(t.prefix), v)
}
