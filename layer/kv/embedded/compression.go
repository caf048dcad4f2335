package embedded

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"
)

// Compression selects how densely the last levels of the store, which hold nearly all data, are compressed. A change
// applies to newly written tables; compactions rewrite the others over time. Every program that knows
// store.PebbleFormat reads all of them.
//
// Relative size of tables of the same documents, and CPU time to read one document that is not in the cache:
//
//	Snappy, blocks of 4 KB             1.00   15 us
//	MinLZ, 4 KB (CompressFast)         0.94   15 us
//	MinLZ, 8 KB                        0.89   21 us
//	MinLZ, 16 KB                       0.87   33 us
//	Zstandard, 16 KB (CompressDense)   0.78   72 us
//
// A damaged byte also costs more rows in a larger block.
type Compression int

const (
	// CompressFast is the densest setting that does not slow down reading documents.
	CompressFast Compression = iota
	// CompressDense takes a fifth less disk space. Documents that are not in the cache take longer to read.
	CompressDense
)

const (
	// denseLevels is how many of the last levels are dense. The others are soon rewritten.
	denseLevels = 2
	// denseBlock is the uncompressed block size in bytes under CompressDense.
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

// setTables sets the options for writing tables.
func setTables(o *pebble.Options, dense Compression) {
	for i := range o.Levels {
		level := &o.Levels[i]
		// MinLZ at its fastest, or Snappy on platforms without MinLZ assembly.
		compression := block.FastestCompression
		if i >= len(o.Levels)-denseLevels {
			compression = minLZ
			if dense == CompressDense {
				compression = block.ZstdCompression
				level.BlockSize = denseBlock
			}
		}
		level.Compression = func() *block.CompressionProfile { return compression }
		// Point reads of missing keys are common: does this document, this revision exist yet?
		level.FilterPolicy = bloom.FilterPolicy(10)
	}
	o.Experimental.SpanPolicyFunc = ownTables
}

// ownKeys is where the engine's private keys begin.
var ownKeys = []byte("\xff")

// ownTables is a pebble.SpanPolicyFunc. It keeps the engine's private keys in separate tables, so that no damage to
// users' rows prevents the store from opening. Pebble ends a table where a policy ends, even though both policies are
// the default.
func ownTables(key []byte) (policy pebble.SpanPolicy, end []byte, err error) {
	if bytes.Compare(key, ownKeys) < 0 {
		end = ownKeys
	}
	return pebble.SpanPolicy{}, end, nil
}
