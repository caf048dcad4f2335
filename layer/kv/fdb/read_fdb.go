//go:build fdb

package fdb

import (
	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/divandb/divan/layer/kv"
)

func (t *txReads) Get(key []byte) kv.Future[[]byte] {
	if err := t.readable(key); err != nil {
		return failure[[]byte]{err}
	}
	return value{t, t.tr.Get(fdb.Key(key)), t.age()}
}

func (t *txReads) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	if err := t.readable(sel.Key); err != nil {
		return failure[[]byte]{err}
	}
	return key{t, t.tr.GetKey(selector(sel)), t.age()}
}

func (t *txReads) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return newIterator(t, t.tr, r, o)
}

func (t *txReads) ReadVersion() kv.Future[int64] {
	if err := t.err(); err != nil {
		return failure[int64]{err}
	}
	return version{t, t.tr.GetReadVersion(), t.age()}
}

// readable refuses to read an overlong key, which the client would report as missing.
func (t *txReads) readable(key []byte) error {
	if err := t.err(); err != nil {
		return err
	}
	if len(key) > kv.MaxKeySize {
		return errKeyTooLarge
	}
	return nil
}

var errKeyTooLarge = kv.NewError(kv.CodeKeyTooLarge, "the key is too large", nil)

// snapshot reads without conflicts, but sees the transaction's own writes: the client's default since API version
// 300.
type snapshot struct{ t *txReads }

func (s snapshot) Get(key []byte) kv.Future[[]byte] {
	if err := s.t.readable(key); err != nil {
		return failure[[]byte]{err}
	}
	return value{s.t, s.t.tr.Snapshot().Get(fdb.Key(key)), s.t.age()}
}

func (s snapshot) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	if err := s.t.readable(sel.Key); err != nil {
		return failure[[]byte]{err}
	}
	return key{s.t, s.t.tr.Snapshot().GetKey(selector(sel)), s.t.age()}
}

func (s snapshot) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return newIterator(s.t, s.t.tr.Snapshot(), r, o)
}

func (s snapshot) ReadVersion() kv.Future[int64] { return s.t.ReadVersion() }

func selector(s kv.KeySelector) fdb.KeySelector {
	return fdb.KeySelector{Key: fdb.Key(s.Key), OrEqual: s.OrEqual, Offset: s.Offset}
}

func keyRange(r kv.KeyRange) fdb.KeyRange {
	return fdb.KeyRange{Begin: fdb.Key(r.Begin), End: fdb.Key(r.End)}
}
