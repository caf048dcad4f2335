package db

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// transactionIDs hands out the keys under which transactions record that they have committed (C4), and clears those
// that will not be looked up again: an id is needed only until Transact has returned.
type transactionIDs struct {
	prefix []byte
	clock  *storeClock
	Full   chan struct{} // a value requests clearing before the next tick; capacity 1, never closed

	clearing sync.Mutex // held by Clear
	mu       struct {
		sync.Mutex
		finished [][]byte
	}
}

const (
	// clearBatch is how many ids one transaction clears.
	clearBatch = 5000
	// IdHours is how many full hours the ids of a dead node are kept. It exceeds the duration of any request.
	IdHours = 2
)

func newTransactionIDs(prefix []byte, clock *storeClock) *transactionIDs {
	return &transactionIDs{prefix: prefix, clock: clock, Full: make(chan struct{}, 1)}
}

// next returns a new id: (Transactions, hour, 16 random bytes).
func (x *transactionIDs) next() []byte {
	var raw [16]byte
	binary.LittleEndian.PutUint64(raw[:], rand.Uint64())
	binary.LittleEndian.PutUint64(raw[8:], rand.Uint64())
	key := make([]byte, 0, len(x.prefix)+24)
	return tuple.AppendUUID(tuple.AppendInt(append(key, x.prefix...), x.clock.Hour()), raw)
}

// done reports that an id will not be looked up again.
func (x *transactionIDs) done(id []byte) {
	x.mu.Lock()
	x.mu.finished = append(x.mu.finished, id)
	n := len(x.mu.finished)
	x.mu.Unlock()
	if n >= clearBatch {
		select {
		case x.Full <- struct{}{}:
		default:
		}
	}
}

// Clear clears the finished ids. If it fails, the next call tries again. Calls run one after the other: when Clear
// returns without error, all ids are cleared that had finished before, also those that another call was clearing.
func (x *transactionIDs) Clear(ctx context.Context, e kv.Engine) error {
	x.clearing.Lock()
	defer x.clearing.Unlock()
	x.mu.Lock()
	ids := x.mu.finished
	x.mu.finished = nil
	x.mu.Unlock()
	for len(ids) > 0 {
		batch := ids[:min(len(ids), clearBatch)]
		_, _, err := kv.Transact(ctx, e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			tx.MakesRoom()
			for _, id := range batch {
				tx.Clear(id)
			}
			return struct{}{}, nil
		})
		if err != nil {
			x.mu.Lock()
			x.mu.finished = append(x.mu.finished, ids...)
			x.mu.Unlock()
			return err
		}
		ids = ids[len(batch):]
	}
	return nil
}

// Sweep clears the ids that dead nodes have left behind.
func (x *transactionIDs) Sweep(ctx context.Context, e kv.Engine, now Hours) error {
	for _, old := range now.ranges(x.prefix, IdHours) {
		_, _, err := kv.Transact(ctx, e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			tx.CausalReadRisky() // ids that are hours old look the same at any recent version
			rows := tx.Snapshot().GetRange(old, kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
			defer rows.Close()
			if rows.Next() {
				tx.MakesRoom()
				tx.ClearRange(old)
			}
			return struct{}{}, rows.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}
