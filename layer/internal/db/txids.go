package db

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// transactionIDs hands out the keys under which writes note that they were committed (C4), and clears those that nobody
// will look up any more: a transaction's id is of use only until Transact has returned.
type transactionIDs struct {
	prefix []byte
	clock  *storeClock
	Full   chan struct{} // a value asks for clearing before the next tick; capacity 1, never closed

	mu struct {
		sync.Mutex
		finished [][]byte
	}
}

const (
	// clearBatch is how many ids one transaction clears.
	clearBatch = 5000
	// IdHours is how many full hours the id of a node that died is kept: longer than any request lives.
	IdHours = 2
)

func newTransactionIDs(prefix []byte, clock *storeClock) *transactionIDs {
	return &transactionIDs{prefix: prefix, clock: clock, Full: make(chan struct{}, 1)}
}

// next is a new id: (Transactions, hour, 16 random bytes).
func (x *transactionIDs) next() []byte {
	var raw [16]byte
	binary.LittleEndian.PutUint64(raw[:], rand.Uint64())
	binary.LittleEndian.PutUint64(raw[8:], rand.Uint64())
	key := make([]byte, 0, len(x.prefix)+24)
	return tuple.AppendUUID(tuple.AppendInt(append(key, x.prefix...), x.clock.Hour()), raw)
}

// done says that no one will look id up any more.
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

// Clear clears the finished ids. What could not be cleared stays for the next time.
func (x *transactionIDs) Clear(ctx context.Context, e kv.Engine) error {
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

// Sweep clears the ids that nodes left behind when they died.
func (x *transactionIDs) Sweep(ctx context.Context, e kv.Engine, now Hours) error {
	for _, old := range now.ranges(x.prefix, IdHours) {
		_, _, err := kv.Transact(ctx, e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			tx.CausalReadRisky() // what is hours old is there, or not, at any version
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
