package kvtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/divandb/divan/layer/kv"
)

// replayedOp is one write of a transaction of testReplayed.
type replayedOp struct {
	kind         kv.AtomicOp // 0 sets, -1 clears, -2 clears a range, -3 sets to the versionstamp
	key, operand string      // the end of a range is an operand
}

const (
	replayedSet kv.AtomicOp = -iota
	replayedClear
	replayedClearRange
	replayedStamp
)

// replayedRows is the number of neighbouring keys that some transactions write, so that a cleared range may hold many
// rows.
const replayedRows = 100

// drawReplayed draws a transaction. The keys are few, so that most operations meet keys that others have just
// written.
func drawReplayed(r *rand.Rand) (ops []replayedOp) {
	keys := []string{"a", "b", "n", "n\x00", "z"}
	operands := []string{"", "\x01", "\xff", "\x01\x00\x00", "\xff\xff\xff\xff\xff\xff\xff\xff",
		"a longer one than those"}
	if r.IntN(20) == 0 {
		for i := range replayedRows {
			ops = append(ops, replayedOp{replayedSet, fmt.Sprintf("m%02d", i), "x"})
		}
	}
	for range 1 + r.IntN(5) {
		op := replayedOp{key: keys[r.IntN(len(keys))], operand: operands[r.IntN(len(operands))]}
		if r.IntN(8) == 0 {
			op.key = fmt.Sprintf("m%02d", r.IntN(replayedRows))
		}
		switch n := r.IntN(20); {
		case n == 0:
			op.kind = replayedClear
		case n == 1:
			op.kind, op.key, op.operand = replayedClearRange, "b", []string{"n", "n\x00", "z"}[r.IntN(3)]
		case n == 2:
			op.kind = replayedStamp
		case n < 5:
			op.kind = replayedSet
		default:
			op.kind = kv.AtomicAdd + kv.AtomicOp(r.IntN(int(kv.AtomicCompareAndClear-kv.AtomicAdd)+1))
		}
		ops = append(ops, op)
	}
	return ops
}

func (op replayedOp) write(tx kv.Transaction) {
	switch op.kind {
	case replayedSet:
		tx.Set(key(op.key), key(op.operand))
	case replayedClear:
		tx.Clear(key(op.key))
	case replayedClearRange:
		tx.ClearRange(keyRange(op.key, op.operand))
	case replayedStamp:
		tx.SetVersionstampedValue(key(op.key), make([]byte, 10), 0)
	default:
		tx.Atomic(op.kind, key(op.key), key(op.operand))
	}
}

func (op replayedOp) replay(s state, stamp string) {
	switch op.kind {
	case replayedSet:
		s[op.key] = op.operand
	case replayedClear:
		delete(s, op.key)
	case replayedClearRange:
		s.clearRange(op.key, op.operand)
	case replayedStamp:
		s[op.key] = stamp
	default:
		s.atomic(op.kind, op.key, op.operand)
	}
}

// testReplayed checks that concurrent transactions without reads leave the same state as when applied one by one in
// the order of their versionstamps. It would find errors in what an engine caches about keys between commits.
func testReplayed(t *testing.T, e kv.Engine) {
	const workers = 8
	r := rand.New(rand.NewPCG(seed(t), 1))
	want := state{}
	for round := range 10 * effort() {
		type done struct {
			stamp kv.Versionstamp
			ops   []replayedOp
		}
		var mu sync.Mutex
		var all []done
		var running sync.WaitGroup
		for range workers {
			mine := rand.New(rand.NewPCG(r.Uint64(), 2))
			running.Go(func() {
				for range 12 {
					ops := drawReplayed(mine)
					_, c, err := kv.Transact(t.Context(), e, kv.TransactOptions{},
						func(tx kv.Transaction) (struct{}, error) {
							for _, op := range ops {
								op.write(tx)
							}
							return struct{}{}, nil
						})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					all = append(all, done{c.Versionstamp, ops})
					mu.Unlock()
				}
			})
		}
		running.Wait()
		slices.SortFunc(all, func(a, b done) int { return bytes.Compare(a.stamp[:], b.stamp[:]) })
		for _, d := range all {
			for _, op := range d.ops {
				op.replay(want, string(d.stamp[:]))
			}
		}
		got, err := collect(begin(t, e), everything, kv.RangeOptions{})
		if want := want.rows(everything, kv.RangeOptions{}); got != want || err != nil {
			t.Fatalf("round %d: %q, %v\nwant %q", round, got, err, want)
		}
		for k := range want {
			if got := show(must(t, begin(t, e).Get(key(k)))); got != want[k] {
				t.Fatalf("round %d: key %q reads as %q, want %q", round, k, got, want[k])
			}
		}
	}
}
