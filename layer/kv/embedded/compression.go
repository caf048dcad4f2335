package embedded

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"
)

// The upper levels of tables are soon read and written again. They have what Pebble says is fastest: MinLZ, or Snappy
// where MinLZ has no assembly. The last two levels have nearly all of a store, and are compressed as densely as
// documents are read no slower for it. Every program that knows pebbleFormat reads all of these.
//
// What was tried besides, for tables of the same documents, with the CPU time to read one that is not in the cache:
//
//	Snappy, blocks of 4 KB    1.00   15 us    all levels, before
//	MinLZ, 4 KB               0.94   15 us
//	MinLZ, 8 KB               0.89   21 us
//	MinLZ, 16 KB              0.87   33 us
//	Zstandard, 16 KB          0.78   72 us    without cgo
//
// A larger block also loses more to a byte that goes bad.
const denseLevels = 2

// denseCompression is for the last levels.
var denseCompression = func() *block.CompressionProfile {
	if !block.FastestCompression.UsesMinLZ() {
		return block.FastestCompression
	}
	p := *block.MinLZCompression
	p.DataBlocks.Level = 2 // of two: balanced
	return &p
}()

// setTables says how tables are written.
func setTables(o *pebble.Options) {
	for i := range o.Levels {
		compression := block.FastestCompression
		if i >= len(o.Levels)-denseLevels {
			compression = denseCompression
		}
		o.Levels[i].Compression = func() *block.CompressionProfile { return compression }
		// Point reads of keys that do not exist are common: does this document, this revision exist yet?
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
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
