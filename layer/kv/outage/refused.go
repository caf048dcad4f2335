package outage

import "github.com/divandb/divan/layer/kv"

// refused is a transaction of a store that does not answer. Everything that asks the store fails.
type refused struct{ err error }

type failed[T any] struct{ err error }

func (f failed[T]) Wait() (v T, err error) { return v, f.err }

// noRows is a range read that fails.
type noRows struct{ err error }

func (n noRows) Next() bool            { return false }
func (n noRows) KeyValue() kv.KeyValue { return kv.KeyValue{} }
func (n noRows) Err() error            { return n.err }
func (n noRows) Close()                {}

// noWatch is a watch that has failed.
type noWatch struct{ err error }

func (w noWatch) Done() <-chan struct{} { return over }
func (w noWatch) Err() error            { return w.err }
func (w noWatch) Cancel()               {}

var over = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (r refused) Get([]byte) kv.Future[[]byte]               { return failed[[]byte](r) }
func (r refused) GetKey(kv.KeySelector) kv.Future[[]byte]    { return failed[[]byte](r) }
func (r refused) ReadVersion() kv.Future[int64]              { return failed[int64](r) }
func (r refused) Snapshot() kv.Reader                        { return r }
func (r refused) Watch([]byte) kv.Watch                      { return noWatch(r) }
func (r refused) Commit() error                              { return r.err }
func (r refused) CommittedVersion() (int64, error)           { return -1, r.err }
func (r refused) Versionstamp() (v kv.Versionstamp, _ error) { return v, r.err }

func (r refused) GetRange(kv.Range, kv.RangeOptions) kv.RangeIterator { return noRows(r) }

// Wrote reports true, so that no caller takes the transaction for one that has nothing to commit.
func (r refused) Wrote() bool { return true }
func (r refused) Size() int   { return 0 }

func (r refused) Set(key, value []byte)                                     {}
func (r refused) Clear(key []byte)                                          {}
func (r refused) ClearRange(kv.KeyRange)                                    {}
func (r refused) Atomic(op kv.AtomicOp, key, operand []byte)                {}
func (r refused) SetVersionstampedKey(key []byte, offset int, value []byte) {}
func (r refused) SetVersionstampedValue(key, value []byte, offset int)      {}
func (r refused) AddReadConflict(kv.KeyRange)                               {}
func (r refused) AddWriteConflict(kv.KeyRange)                              {}
func (r refused) MakesRoom()                                                {}
func (r refused) CausalReadRisky()                                          {}
func (r refused) SetReadVersion(int64)                                      {}
func (r refused) Cancel()                                                   {}
