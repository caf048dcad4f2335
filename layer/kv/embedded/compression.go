package embedded

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"
)

// Compression is how densely the store's last levels are compressed, which have nearly all of it. A change holds for
// what is written from then on: compactions come to the rest in time. Programs that know pebbleFormat read all of them.
//
// Tables of the same documents took, and one document that is not in the cache cost, in CPU time:
//
//	Snappy, blocks of 4 KB             1.00   15 us
//	MinLZ, 4 KB (CompressFast)         0.94   15 us
//	MinLZ, 8 KB                        0.89   21 us
//	MinLZ, 16 KB                       0.87   33 us
//	Zstandard, 16 KB (CompressDense)   0.78   72 us
//
// A larger block also loses more to a byte that goes bad.
type Compression int

const (
	// CompressFast is as dense as documents are read no slower for it.
	CompressFast Compression = iota
	// CompressDense takes a fifth less of the disk. Documents that are not in the cache take longer to read.
	CompressDense
)

const (
	// denseLevels is how many of the last levels are dense. The others are soon read and written again.
	denseLevels = 2
	// denseBlock is the size in bytes of a block before it is compressed, under CompressDense.
	denseBlock = 16 << 10
)

// minLZ is for the last levels under CompressFast.
var minLZ = func() *block.CompressionProfile {
	if !block.FastestCompression.UsesMinLZ() {
		return block.FastestCompression
	}
	p := *block.MinLZCompression
	p.DataBlocks.Level = 2 // of two: balanced
	return &p
}()

// setTables says how tables are written.
func setTables(o *pebble.Options, dense Compression) {
	for i := range o.Levels {
		level := &o.Levels[i]
		// MinLZ at its fastest, or Snappy where MinLZ has no assembly.
		compression := block.FastestCompression
		if i >= len(o.Levels)-denseLevels {
			compression = minLZ
			if dense == CompressDense {
				compression = block.ZstdCompression
				level.BlockSize = denseBlock
			}
		}
		level.Compression = func() *block.CompressionProfile { return compression }
		// Point reads of keys that do not exist are common: does this document, this revision exist yet?
		level.FilterPolicy = bloom.FilterPolicy(10)
	}
	o.Experimental.SpanPolicyFunc = ownTables
}

// ownKeys is where the keys begin that the engine has for itself.
var ownKeys = []byte("\xff")

// ownTables is a pebble.SpanPolicyFunc. It keeps the engine's own keys in tables of their own, so that no damage to
// users' rows keeps the store from opening. Pebble ends a table where a policy ends, though both are the default.
func ownTables(key []byte) (policy pebble.SpanPolicy, end []byte, err error) {
	if bytes.Compare(key, ownKeys) < 0 {
		end = ownKeys
	}
	return pebble.SpanPolicy{}, end, nil
}
