package embedded

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/divandb/divan/layer/kv"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/block/blockkind"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// WithFS is o on another file system.
func (o Options) WithFS(fs vfs.FS) Options { o.fs = fs; return o }

// WithTransactionTime is o with another limit than five seconds.
func (o Options) WithTransactionTime(d time.Duration) Options { o.transactionTime = d; return o }

// WithBeforeFlush is o with a call before the inspector's flush asks for room in level 0.
func (o Options) WithBeforeFlush(f func()) Options { o.beforeFlush = f; return o }

// Pebble is the store below, for comparing with it.
func (e *Engine) Pebble() *pebble.DB { return e.db.Load() }

// HoldCompactions lets no compaction begin until ReleaseCompactions is called.
func (e *Engine) HoldCompactions() {
	e.compactions.mu.Lock()
	defer e.compactions.mu.Unlock()
	e.compactions.mu.paused = time.Now().Add(time.Hour)
}

// ReleaseCompactions lets compactions begin again.
func (e *Engine) ReleaseCompactions() {
	e.compactions.mu.Lock()
	e.compactions.mu.paused = time.Time{}
	e.compactions.mu.Unlock()
	e.compactions.grant()
}

// StopWrites is how many tables lie above each other in level 0, at most.
const StopWrites = stopWrites

// HorizonKey is what stores of programs that knew no horizon lack.
var HorizonKey = horizonKey

// Views is the number of versions that are held.
func (e *Engine) Views() int { return e.views.count() }

// Resolver is the resolver, over ranges of keys.
type Resolver struct{ r *resolver }

func NewResolver(floor int64, limit int, window int64) Resolver {
	return Resolver{newResolver(floor, limit, window)}
}

func spansOf(ranges []kv.KeyRange) []span {
	spans := make([]span, 0, len(ranges))
	for _, r := range ranges {
		s := span{begin: r.Begin, end: r.End} // a nil End is the key itself
		if !s.empty() {
			spans = append(spans, s)
		}
	}
	return spans
}

func (r Resolver) Add(written []kv.KeyRange, version int64) {
	r.r.add(unite(spansOf(written)), version)
}

func (r Resolver) Conflicts(readVersion int64, read []kv.KeyRange) (conflict, tooOld bool) {
	return r.r.conflicts(readVersion, spansOf(read))
}

func (r Resolver) Bytes() int   { return r.r.bytes }
func (r Resolver) Runs() int    { return len(r.r.runs) }
func (r Resolver) Floor() int64 { return r.r.floor }

// SpanSet is a spanSet, over ranges of keys.
type SpanSet struct{ s spanSet }

func (s *SpanSet) Add(r kv.KeyRange)    { s.s.add(spanOf(r)) }
func (s *SpanSet) Remove(r kv.KeyRange) { s.s.remove(spanOf(r)) }
func (s *SpanSet) Share() SpanSet       { return SpanSet{s.s.share()} }
func (s *SpanSet) Has(key []byte) bool  { _, ok := s.s.find(key); return ok }
func (s *SpanSet) Len() int             { return len(s.s.spans) }

// Overlap is the first or last span that shares a key with r.
func (s *SpanSet) Overlap(r kv.KeyRange, reverse bool) (kv.KeyRange, bool) {
	o, ok := s.s.overlap(spanOf(r), reverse)
	return kv.KeyRange{Begin: o.begin, End: o.endKey()}, ok
}

// Clock gives versions.
type Clock struct{ c *clock }

func NewClock(last int64) Clock { return Clock{newClock(last)} }
func (c Clock) Next() int64     { return c.c.next() }

// ResolverBytes is what the engine's resolver holds. Only while nothing commits.
func (e *Engine) ResolverBytes() int { return e.commits.resolver.bytes }

// Rows are the remembered rows, of one page.
type Rows struct{ r *rows }

func NewRows() Rows { return Rows{newRows(0)} }

func (r Rows) Get(key []byte, version int64) (value []byte, known bool) { return r.r.get(key, version) }
func (r Rows) Fill(key, value []byte, version int64)                    { r.r.fill(key, value, version) }
func (r Rows) Write(key, value []byte, version int64, keep bool) {
	r.r.write(key, value, version, keep)
}
func (r Rows) Clear(version int64) { r.r.clear(version) }

// WriteTable is a writeTable of keys alone.
type WriteTable struct{ t writeTable }

func keyOf(w *write) string {
	if w == nil {
		return ""
	}
	return string(w.key)
}

func (t *WriteTable) Put(key, value string) { t.t.put(&write{key: []byte(key), value: []byte(value)}) }
func (t *WriteTable) DeleteRange(begin, end string) {
	t.t.deleteRange(span{[]byte(begin), []byte(end)})
}
func (t *WriteTable) Share() *WriteTable                { return &WriteTable{t.t.share()} }
func (t *WriteTable) Len() int                          { return t.t.len() }
func (t *WriteTable) From(key string, past bool) string { return keyOf(t.t.from([]byte(key), past)) }
func (t *WriteTable) Before(key string) string          { return keyOf(t.t.before([]byte(key))) }

// All are the keys and values in order.
func (t *WriteTable) All() (all []string) {
	t.t.ascend(func(w *write) { all = append(all, string(w.key)+"="+string(w.value)) })
	return all
}

func (t *WriteTable) Get(key string) (value string, ok bool) {
	if w := t.t.get([]byte(key)); w != nil {
		return string(w.value), true
	}
	return "", false
}

// WithLockFileOnly is o where directories cannot be locked.
func (o Options) WithLockFileOnly() Options { o.lockFileOnly = true; return o }

// Failing is closed when the engine fails.
func (e *Engine) Failing() <-chan struct{} { return e.failing }

// Acknowledge is what a group of commits pays for its mark.
func (e *Engine) Acknowledge(version int64) error { return e.acknowledge(version) }

// SmallRanges is how many cleared ranges are kept because they are not worth a compaction.
func (e *Engine) SmallRanges() (n int) {
	e.reclaimer.mu.Lock()
	defer e.reclaimer.mu.Unlock()
	for _, c := range e.reclaimer.mu.cleared {
		if c.small {
			n++
		}
	}
	return n
}

// RowsBlock is a block of rows: where it is in its file, and a key that none of its rows comes after.
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
			asItIs)
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
