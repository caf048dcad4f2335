package spill

// filter is a Bloom filter of hashes: it has a few bits for each and knows most of those that were not added, so that
// no file is read for them. An empty one knows nothing.
type filter []uint64

// With filterBits bits for a hash, of which each sets filterProbes, one in a hundred that were not added is taken for
// one that was.
const (
	filterBits   = 10
	filterProbes = 4
)

// filterSize returns the bytes of a filter for n hashes.
func filterSize(n int64) int64 { return (n*filterBits + 63) / 64 * 8 }

// each calls use with the word and the bit of each probe of a hash, until it returns false.
func (f filter) each(hash uint64, use func(word int, bit uint64) bool) {
	step := hash>>32 | 1
	for range filterProbes {
		at := hash % uint64(len(f)*64)
		if !use(int(at/64), 1<<(at%64)) {
			return
		}
		hash += step
	}
}

func (f filter) add(hash uint64) {
	if len(f) == 0 {
		return
	}
	f.each(hash, func(word int, bit uint64) bool {
		f[word] |= bit
		return true
	})
}

// mayHave reports whether a hash may have been added.
func (f filter) mayHave(hash uint64) bool {
	if len(f) == 0 {
		return true
	}
	has := true
	f.each(hash, func(word int, bit uint64) bool {
		has = f[word]&bit != 0
		return has
	})
	return has
}
