package sst

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
)

// What Pebble is given to read in the place of a damaged block. It is never written to disk.

// passAll is a block with a filter of n bytes that every key passes, as bloom.FilterPolicy reads it; nil where n is too
// small.
func passAll(n int, sum *block.Checksummer) []byte {
	const (
		tail = 5 // how many bits are looked at, and how many lines there are
		line = 64
	)
	if n < tail+line {
		return nil
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = 0xff
	}
	b[n-tail] = 1
	binary.LittleEndian.PutUint32(b[n-tail+1:], uint32((n-tail)/line))
	return seal(b, sum)
}

// WithoutRows is a block of rows of n bytes with nothing but a deletion of a key; nil where that cannot be made so
// long.
func WithoutRows(key []byte, seq pebble.SeqNum, n int, sum *block.Checksummer) []byte {
	schema := colblk.DefaultKeySchema(pebble.DefaultComparer, keyBundle)
	made := func(padding int) []byte {
		var w colblk.DataBlockEncoder
		w.Init(&schema)
		w.Add(pebble.MakeInternalKey(key, seq, pebble.InternalKeyKindDelete), make([]byte, padding), 0,
			w.KeyWriter.ComparePrev(key), false)
		b, _ := w.Finish(1, w.Size())
		return b
	}
	// A block has to have its length exactly. The padding is a value that nobody reads; how much more than itself it
	// takes depends on it a little.
	padding := n - len(made(0))
	for range 8 {
		if padding < 0 {
			return nil
		}
		b := made(padding)
		if len(b) == n {
			return seal(b[:n:n], sum)
		}
		padding += n - len(b)
	}
	return nil
}

// keyBundle is Pebble's own for tables without a schema of their own.
const keyBundle = 16

// seal appends what follows a block that is not compressed.
func seal(b []byte, sum *block.Checksummer) []byte {
	check := sum.Checksum(b, 0)
	return binary.LittleEndian.AppendUint32(append(b, 0), check)
}
