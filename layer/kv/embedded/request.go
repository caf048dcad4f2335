package embedded

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv"
)

// commitRequest is a transaction on its way to the disk. The committing goroutine fills it, the sequencer and then the syncer own it,
// until done is closed.
type commitRequest struct {
	readVersion int64
	reads       []span
	writes      []span // what later readers conflict with, but for stamped keys; sorted and disjoint

	batch   *pebble.Batch // the writes that need nothing but a versionstamp
	stamps  []int         // where in batch's bytes versionstamps go
	keys    []stampedAt   // which keys in batch's bytes are stamped
	cleared []span
	dropped []span       // those of cleared that held more than a little (see committer.clear); the sequencer's
	merges  []*write     // of a stored or stamped value
	late    []stampedKey // ranges cleared after them may hold them
	stamped []span       // the conflicts of stamped keys, like writes; the sequencer's

	state atomic.Int32 // requestWaiting, then one of the others
	done  chan struct{}

	err     error
	version int64
	stamp   kv.Versionstamp
}

const (
	requestWaiting int32 = iota
	requestTaken         // by the sequencer: its answer counts
	requestGone          // the committer no longer waits; nothing was written
)

type stampedAt struct{ pos, len int }

// add puts one key's write into the batch, or among the merges.
func (r *commitRequest) add(v *write) {
	switch {
	case len(v.ops) > 0:
		r.merges = append(r.merges, v)
	case v.kind == kindSet:
		_ = r.batch.Set(v.key, v.value, nil) // a batch in memory has no error
	case v.kind == kindClear:
		_ = r.batch.Delete(v.key, nil)
	case v.kind == kindStamped:
		_, value := r.set(v.key, v.value)
		r.stamps = append(r.stamps, value+v.offset)
	}
}

func (r *commitRequest) addStamped(s *stampedKey) {
	if len(s.cleared) > 0 {
		r.late = append(r.late, *s)
		return
	}
	key, _ := r.set(s.key, s.value)
	r.stamps = append(r.stamps, key+s.offset)
	r.keys = append(r.keys, stampedAt{key, len(s.key)})
}

// set adds a pair to the batch and says where in its bytes key and value are: a record is its kind, and each part after its length as a varint.
func (r *commitRequest) set(key, value []byte) (keyAt, valueAt int) {
	_ = r.batch.Set(key, value, nil)
	valueAt = r.batch.Len() - len(value)
	return valueAt - varintLen(len(value)) - len(key), valueAt
}

func varintLen(n int) int {
	return len(binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen32), uint64(n)))
}
