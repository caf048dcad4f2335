package sst

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
)

// Substitutes that Pebble reads in place of damaged blocks. They are never written to disk.

// passAll returns a filter block of n bytes that every key passes, in the format of bloom.FilterPolicy; nil if n is
// too small.
func passAll(n int, sum *block.Checksummer) []byte {
	const (
		tail = 5 // number of bits that are checked, and number of lines
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

// WithoutRows returns a block of n bytes with nothing but a deletion of key; nil if a block of that length is not
// possible.
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
	// The block must have exactly n bytes. It is padded by a value that nobody reads, whose own overhead depends
	// slightly on its length.
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

// keyBundle is Pebble's default for tables without an explicit schema.
const keyBundle = 16

// seal appends the trailer of an uncompressed block.
func seal(b []byte, sum *block.Checksummer) []byte {
	check := sum.Checksum(b, 0)
	return binary.LittleEndian.AppendUint32(append(b, 0), check)
}
