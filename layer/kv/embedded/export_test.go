package embedded

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/block/blockkind"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv/embedded/internal/store"
)

// WithFS sets the file system.
func (o Options) WithFS(fs vfs.FS) Options { o.fs = fs; return o }

// WithTransactionTime sets a time limit other than five seconds.
func (o Options) WithTransactionTime(d time.Duration) Options { o.transactionTime = d; return o }

// WithBeforeFlush sets a function that is called before the inspector starts a flush.
func (o Options) WithBeforeFlush(f func()) Options { o.beforeFlush = f; return o }

// Pebble returns the Pebble database, to compare with it.
func (e *Engine) Pebble() *pebble.DB { return e.store.DB.Load() }

// HoldCompactions stops compactions from beginning until ReleaseCompactions is called.
func (e *Engine) HoldCompactions() {
	e.compactions.Pause(time.Hour)
}

// ReleaseCompactions lets compactions begin again.
func (e *Engine) ReleaseCompactions() {
	e.compactions.Pause(0)
	e.compactions.Grant()
}

// StopWrites is the largest number of overlapping tables in level 0.
const StopWrites = store.StopWrites

// HorizonKey is missing from stores of programs without horizons.
var HorizonKey = horizonKey

// Views returns the number of versions held.
func (e *Engine) Views() int { return e.views.Count() }

// WithLockFileOnly behaves as if directories could not be locked.
func (o Options) WithLockFileOnly() Options { o.lockFileOnly = true; return o }

// Failing returns a channel that is closed when the engine fails.
func (e *Engine) Failing() <-chan struct{} { return e.store.Failing }

// Acknowledge writes the mark of a group of commits.
func (e *Engine) Acknowledge(version int64) error { return e.guard.Acknowledge(version) }

// SmallRanges returns the number of cleared ranges that are not worth a compaction yet.
func (e *Engine) SmallRanges() int { return e.reclaimer.SmallRanges() }

// RowsBlock is a block of rows: its position in the file, and a key at or after its last row.
type RowsBlock struct {
	At   int64
	Last []byte
}

// RowsBlocks lists the blocks of rows of a table.
func RowsBlocks(file string) (blocks []RowsBlock, err error) {
	f, err := vfs.Default.Open(file)
	if err != nil {
		return nil, err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return nil, err
	}
	r, err := sstable.NewReader(context.Background(), readable, sstable.ReaderOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	layout, err := r.Layout()
	if err != nil {
		return nil, err
	}
	for _, h := range layout.Index {
		index, err := r.BlockReader().Read(context.Background(), block.NoReadEnv, nil, h, blockkind.SSTableIndex,
			func(*block.Metadata, []byte) error { return nil })
		if err != nil {
			return nil, err
		}
		defer index.Release()
		var it colblk.IndexIter
		if err := it.Init(pebble.DefaultComparer, index.BlockData(), block.NoTransforms); err != nil {
			return nil, err
		}
		for ok := it.First(); ok; ok = it.Next() {
			h, err := it.BlockHandleWithProperties()
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, RowsBlock{At: int64(h.Offset), Last: bytes.Clone(it.Separator())})
		}
	}
	return blocks, nil
}
