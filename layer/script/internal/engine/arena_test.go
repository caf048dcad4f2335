package engine_test

import (
	"math/rand/v2"
	"testing"

	"github.com/divandb/divan/layer/script/internal/engine"
)

// TestArena compares a random sequence of requests with a model of each block's content: blocks never overlap and
// keep their contents, and in the end all memory can be allocated again as one block.
func TestArena(t *testing.T) {
	const size = 1 << 20
	for round := range 20 {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		a, err := engine.NewArena(size)
		if err != nil {
			t.Fatal(err)
		}
		type block struct {
			addr uintptr
			n    int
			mark byte
		}
		var blocks []block
		fill := func(b block) {
			for i := range a.Bytes(b.addr, b.n) {
				a.Bytes(b.addr, b.n)[i] = b.mark
			}
		}
		check := func(b block, n int) {
			for i, c := range a.Bytes(b.addr, n) {
				if c != b.mark {
					t.Fatalf("byte %d of a block of %d was overwritten (seed %d)", i, b.n, seed)
				}
			}
		}
		refused := 0
		for range 5000 {
			n := 1 + rng.IntN(1<<rng.IntN(19))
			switch op := rng.IntN(5); {
			case op < 3 || len(blocks) == 0:
				if p := a.Alloc(uint64(n)); p != 0 {
					b := block{p, n, byte(rng.Uint32())}
					fill(b)
					blocks = append(blocks, b)
				} else {
					refused++
				}
			case op == 3:
				i := rng.IntN(len(blocks))
				b := blocks[i]
				if p := a.Realloc(b.addr, uint64(n)); p != 0 {
					b.addr = p
					check(b, min(n, b.n))
					b.n = n
					fill(b)
					blocks[i] = b
				} else {
					refused++
					check(b, b.n)
				}
			default:
				i := rng.IntN(len(blocks))
				check(blocks[i], blocks[i].n)
				a.Free(blocks[i].addr)
				blocks[i] = blocks[len(blocks)-1]
				blocks = blocks[:len(blocks)-1]
			}
		}
		if refused == 0 {
			t.Errorf("the arena was never full (seed %d)", seed)
		}
		for _, b := range blocks {
			check(b, b.n)
			a.Free(b.addr)
		}
		if a.Used() != 0 {
			t.Errorf("%d bytes in use after everything was freed (seed %d)", a.Used(), seed)
		}
		if a.Alloc(size) == 0 {
			t.Errorf("the free memory is not one block again (seed %d)", seed)
		}
		if a.Alloc(1) != 0 || a.Alloc(1<<62) != 0 {
			t.Errorf("the full arena allocated more (seed %d)", seed)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
