package commit

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/writes"
)

// Request is a transaction on its way to disk. The committing goroutine fills it; the sequencer and then the syncer
// own it until done is closed.
type Request struct {
	ReadVersion int64
	Reads       []keys.Span
	Writes      []keys.Span // the spans that later readers conflict with, without stamped keys; sorted and disjoint

	Batch   *pebble.Batch // the writes that depend on nothing but the versionstamp
	stamps  []int         // offsets of versionstamps in the batch's bytes
	keys    []stampedAt   // the stamped keys in the batch's bytes
	Cleared []keys.Span
	// those of Cleared that held more than a little (see Committer.clear); set by the sequencer
	dropped []keys.Span
	merges  []*writes.Write  // operations on a stored value or on a stamped one
	late    []writes.Stamped // stamped keys that a later clear may cover
	stamped []keys.Span      // the write spans of stamped keys, like Writes; set by the sequencer

	state atomic.Int32 // requestWaiting, then one of the others
	Done  chan struct{}

	err     error
	Version int64
	Stamp   kv.Versionstamp
}

const (
	requestWaiting int32 = iota
	requestTaken         // by the sequencer: the committer waits for its answer
	requestGone          // the committer no longer waits; nothing was written
)

type stampedAt struct{ pos, len int }

// Add adds one key's write to the batch or to the merges.
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

// AddStamped adds a write to a stamped key to the batch, or to late if the key must be known first.
func (r *Request) AddStamped(s *writes.Stamped) {
	if len(s.Cleared) > 0 {
		r.late = append(r.late, *s)
		return
	}
	key, _ := r.set(s.Key, s.Value)
	r.stamps = append(r.stamps, key+s.Offset)
	r.keys = append(r.keys, stampedAt{key, len(s.Key)})
}

// set adds a pair to the batch and returns the offsets of key and value in its bytes. A record is its kind, then key
// and value, each after its length as a varint.
func (r *Request) set(key, value []byte) (keyAt, valueAt int) {
	_ = r.Batch.Set(key, value, nil)
	valueAt = r.Batch.Len() - len(value)
	return valueAt - varintLen(len(value)) - len(key), valueAt
}

func varintLen(n int) int {
	return len(binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen32), uint64(n)))
}
