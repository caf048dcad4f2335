package commit

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/writes"
)

// Request is a transaction on its way to the disk. The committing goroutine fills it, the sequencer and then the syncer
// own it, until done is closed.
type Request struct {
	ReadVersion int64
	Reads       []keys.Span
	Writes      []keys.Span // what later readers conflict with, but for stamped keys; sorted and disjoint

	Batch   *pebble.Batch // the writes that need nothing but a versionstamp
	stamps  []int         // where in batch's bytes versionstamps go
	keys    []stampedAt   // which keys in batch's bytes are stamped
	Cleared []keys.Span
	dropped []keys.Span      // those of cleared that held more than a little (see committer.clear); the sequencer's
	merges  []*writes.Write  // of a stored or stamped value
	late    []writes.Stamped // ranges cleared after them may hold them
	stamped []keys.Span      // the conflicts of stamped keys, like writes; the sequencer's

	state atomic.Int32 // requestWaiting, then one of the others
	Done  chan struct{}

	err     error
	Version int64
	Stamp   kv.Versionstamp
}

const (
	requestWaiting int32 = iota
	requestTaken         // by the sequencer: its answer counts
	requestGone          // the committer no longer waits; nothing was written
)

type stampedAt struct{ pos, len int }

// Add puts one key's write into the batch, or among the merges.
func (r *Request) Add(v *writes.Write) {
	switch {
	case len(v.Ops) > 0:
		r.merges = append(r.merges, v)
	case v.Kind == writes.KindSet:
		_ = r.Batch.Set(v.Key, v.Value, nil) // a batch in memory has no error
	case v.Kind == writes.KindClear:
		_ = r.Batch.Delete(v.Key, nil)
	case v.Kind == writes.KindStamped:
		_, value := r.set(v.Key, v.Value)
		r.stamps = append(r.stamps, value+v.Offset)
	}
}

// AddStamped puts a write to a key that the versionstamp makes into the batch, or among those that wait for it.
func (r *Request) AddStamped(s *writes.Stamped) {
	if len(s.Cleared) > 0 {
		r.late = append(r.late, *s)
		return
	}
	key, _ := r.set(s.Key, s.Value)
	r.stamps = append(r.stamps, key+s.Offset)
	r.keys = append(r.keys, stampedAt{key, len(s.Key)})
}

// set adds a pair to the batch and says where in its bytes key and value are: a record is its kind, and each part after
// its length as a varint.
func (r *Request) set(key, value []byte) (keyAt, valueAt int) {
	_ = r.Batch.Set(key, value, nil)
	valueAt = r.Batch.Len() - len(value)
	return valueAt - varintLen(len(value)) - len(key), valueAt
}

func varintLen(n int) int {
	return len(binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen32), uint64(n)))
}
