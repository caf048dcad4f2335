package spill

import (
	"math/rand/v2"
	"testing"
)

// A filter has what was added, and few others. It is tested from inside, because nothing shows its mistakes but time.
func TestFilter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int64{1, 7, 1000, 100_000} {
		f := make(filter, filterSize(n)/8)
		added := make([]uint64, n)
		for i := range added {
			added[i] = r.Uint64()
			f.add(added[i])
		}
		for _, h := range added {
			if !f.mayHave(h) {
				t.Fatalf("%d hashes: one is not there", n)
			}
		}
		wrong := 0
		const tries = 10_000
		for range tries {
			if f.mayHave(r.Uint64()) {
				wrong++
			}
		}
		if n >= 1000 && wrong > tries/40 {
			t.Errorf("%d hashes: %d of %d others seem to be there", n, wrong, tries)
		}
	}
	if !filter(nil).mayHave(1) {
		t.Error("an empty filter knows something")
	}
}
