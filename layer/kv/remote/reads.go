package remote

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/divandb/divan/layer/kv"
)

// source is the transaction or long snapshot that reads belong to.
type source interface {
	// request sends a request, or returns why it cannot.
	request(k kind, build func(dst []byte) []byte) (*call, error)
	// follow sends a request for the range read with this number.
	follow(k kind, number uint32) (*call, error)
	// drop sends a request that expects no answer.
	drop(k kind, number uint32)
	// able reports whether the server has an ability.
	able(ability uint64) bool
	// patience returns what ends the wait for an answer.
	patience() (context.Context, <-chan struct{})
	// ended returns the error of calls after the source has ended, or nil.
	ended() error
}

// reads implements kv.Reader on a source.
type reads struct {
	of    source
	flags byte
}

func (t *transaction) Get(key []byte) kv.Future[[]byte] { return reads{of: &t.txLink}.Get(key) }
func (t *transaction) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	return reads{of: &t.txLink}.GetKey(sel)
}
func (t *transaction) ReadVersion() kv.Future[int64] { return reads{of: &t.txLink}.ReadVersion() }
func (t *transaction) Snapshot() kv.Reader           { return reads{&t.txLink, flagSnapshot} }
func (t *transaction) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return reads{of: &t.txLink}.GetRange(r, o)
}

func (r reads) Get(key []byte) kv.Future[[]byte] {
	if len(key) > kv.MaxKeySize {
		return failed[[]byte]{kv.NewError(kv.CodeKeyTooLarge, "the key is too large", nil)}
	}
	k, err := r.of.request(kindGet, func(dst []byte) []byte { return appendBytes(append(dst, r.flags), key) })
	return newFuture(r.of, k, err, decodeValue)
}

// GetFollowing implements kv.FollowingReader.
func (t *transaction) GetFollowing(key, prefix, suffix []byte) (kv.Future[kv.Following], bool) {
	return reads{of: &t.txLink}.GetFollowing(key, prefix, suffix)
}

// GetFollowing implements kv.FollowingReader.
func (r reads) GetFollowing(key, prefix, suffix []byte) (kv.Future[kv.Following], bool) {
	if len(key) > kv.MaxKeySize || !r.of.able(ableToFollow) {
		return nil, false
	}
	k, err := r.of.request(kindGetFollowing, func(dst []byte) []byte {
		return appendBytes(appendBytes(appendBytes(append(dst, r.flags), key), prefix), suffix)
	})
	return newFuture(r.of, k, err, decodeFollowing), true
}

func decodeFollowing(f frame) (kv.Following, error) {
	d := decoder{b: f.payload}
	found := kv.Following{Value: d.optional(), Next: d.optional()}
	if f.kind != kindFollowing || d.err != nil {
		return kv.Following{}, errProtocol
	}
	return found, nil
}

func (r reads) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	if len(sel.Key) > kv.MaxKeySize+1 {
		return failed[[]byte]{kv.NewError(kv.CodeKeyTooLarge, "the key is too large", nil)}
	}
	k, err := r.of.request(kindGetKey, func(dst []byte) []byte { return appendSelector(append(dst, r.flags), sel) })
	return newFuture(r.of, k, err, decodeValue)
}

func (r reads) ReadVersion() kv.Future[int64] {
	k, err := r.of.request(kindReadVersion, nil)
	return newFuture(r.of, k, err, decodeVersion)
}

func decodeValue(f frame) ([]byte, error) {
	switch {
	case f.kind != kindValue || len(f.payload) == 0:
		return nil, errProtocol
	case f.payload[0] == 0:
		return nil, nil
	}
	return f.payload[1:], nil
}

func decodeVersion(f frame) (int64, error) {
	if f.kind != kindVersion || len(f.payload) != 8 {
		return 0, errProtocol
	}
	return int64(binary.BigEndian.Uint64(f.payload)), nil
}

type failed[T any] struct{ err error }

func (f failed[T]) Wait() (v T, err error) { return v, f.err }

// future is a pending answer.
type future[T any] struct {
	of     source
	k      *call
	decode func(f frame) (T, error)
	once   sync.Once
	value  T
	err    error
}

func newFuture[T any](of source, k *call, err error, decode func(f frame) (T, error)) kv.Future[T] {
	if err != nil {
		return failed[T]{err}
	}
	return &future[T]{of: of, k: k, decode: decode}
}

func (f *future[T]) Wait() (T, error) {
	f.once.Do(func() {
		var answer frame
		if answer, f.err = f.k.wait(f.of.patience()); f.err == nil {
			f.value, f.err = f.decode(answer)
		}
	})
	return f.value, f.err
}

func (r reads) GetRange(kr kv.Range, o kv.RangeOptions) kv.RangeIterator {
	begin, end := kr.Selectors()
	it := &iterator{of: r.of, eager: o.Mode != kv.ModeIterator}
	if len(begin.Key) > kv.MaxKeySize+1 || len(end.Key) > kv.MaxKeySize+1 {
		it.err = kv.NewError(kv.CodeKeyTooLarge, "the key is too large", nil)
		return it
	}
	it.pending, it.err = r.of.request(kindRange, func(dst []byte) []byte {
		dst = appendSelector(appendSelector(append(dst, r.flags), begin), end)
		dst = binary.AppendUvarint(dst, uint64(max(o.Limit, 0)))
		return append(dst, flag(o.Reverse, 1), byte(o.Mode))
	})
	if it.err == nil {
		it.number = it.pending.number
	}
	return it
}

// iterator implements kv.RangeIterator on batches of rows. It requests the second batch when the first is used up,
// and later ones in advance.
type iterator struct {
	of      source
	number  uint32
	eager   bool  // request the next batch as soon as one has arrived
	pending *call // the next batch, if it was requested

	rows   decoder
	more   bool  // rows is not the last batch
	after  error // the error after rows
	row    kv.KeyValue
	err    error
	closed bool
}

func (it *iterator) Next() bool {
	if it.err != nil || it.closed {
		return false
	}
	if it.err = it.of.ended(); it.err != nil {
		return false
	}
	for len(it.rows.b) == 0 {
		if !it.fetch() {
			return false
		}
	}
	it.row.Key, it.row.Value = it.rows.pair()
	if it.rows.err != nil {
		it.err = errProtocol
	}
	return it.err == nil
}

// fetch waits for the next batch.
func (it *iterator) fetch() bool {
	if it.pending == nil {
		if it.err = it.after; it.err != nil || !it.more {
			return false
		}
		if it.pending, it.err = it.of.follow(kindRangeNext, it.number); it.err != nil {
			return false
		}
		it.eager = true // a caller that needs a second batch will probably need more
	}
	f, err := it.pending.wait(it.of.patience())
	it.pending = nil
	if err != nil {
		it.err, it.more = err, false
		return false
	}
	d := decoder{b: f.payload}
	flags := d.byte()
	if flags&flagFailed != 0 {
		it.after = decodeError(d.bytes())
	}
	if f.kind != kindRows || d.err != nil {
		it.err = errProtocol
		return false
	}
	it.rows, it.more = d, flags&flagMore != 0
	if it.more && it.eager {
		it.pending, it.err = it.of.follow(kindRangeNext, it.number)
	}
	return it.err == nil
}

func (it *iterator) KeyValue() kv.KeyValue {
	if it.err != nil || it.closed {
		return kv.KeyValue{}
	}
	return it.row
}

func (it *iterator) Err() error { return it.err }

func (it *iterator) Close() {
	if it.closed {
		return
	}
	it.closed = true
	if it.more || it.pending != nil {
		it.of.drop(kindRangeClose, it.number)
	}
}
