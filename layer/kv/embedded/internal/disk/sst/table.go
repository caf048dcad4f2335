package sst

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/block/blockkind"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
)

// Table is one table file, as listed in the manifest.
type Table struct {
	Name              string // name of the file
	Level             int
	Size              int64
	smallest, Largest []byte // first and last key of the table
	Virtual           bool   // the file contains more than this table
	Newest            pebble.SeqNum
	Exclusive         bool // Largest is the end of a cleared range, and not in the table
}

// keys returns the range of the table's keys.
func (t *Table) keys() kv.KeyRange { return kv.KeyRange{Begin: t.smallest, End: keys.After(t.Largest)} }

// Overlaps reports whether the table may have keys of a range.
func (t *Table) Overlaps(k kv.KeyRange) bool {
	return bytes.Compare(t.smallest, k.End) < 0 && bytes.Compare(k.Begin, t.Largest) <= 0
}

// Fault is a damaged piece of a table, and its position in the file.
type Fault struct {
	kv.Fault
	Begin, End int64
	Vital      bool // without it nothing of the table can be read
	Rows       bool // it is a block of rows
	Check      block.ChecksumType
	// Instead is an equivalent substitute, or nil.
	Instead []byte
	// Empty makes a block without rows, only for compactions, if all the block's rows are dead (see dead.go).
	// Otherwise it is nil.
	Empty func() []byte
}

// List lists the tables of a database. They may be replaced at any later moment.
func List(db *pebble.DB) ([]Table, error) {
	levels, err := db.SSTables()
	if err != nil {
		return nil, fmt.Errorf("embedded: list the tables: %w", err)
	}
	seen := map[string]bool{}
	var tables []Table
	for level, infos := range levels {
		for i := range infos {
			info := &infos[i]
			name := fmt.Sprintf("%s.sst", info.BackingSSTNum)
			if seen[name] {
				continue // virtual tables share a file
			}
			seen[name] = true
			tables = append(tables, Table{
				Name: name, Level: level, Size: int64(info.Size), smallest: info.Smallest.UserKey,
				Largest: info.Largest.UserKey,
				Virtual: info.Virtual, Newest: info.LargestSeqNum, Exclusive: info.Largest.IsExclusiveSentinel(),
			})
		}
	}
	return tables, nil
}

// Check reads every block of a table from its file, and returns the damaged ones. progress, if set, is called with
// the bytes of each block.
//
// It reads the bytes on disk: nothing comes from Pebble's cache.
func Check(
	ctx context.Context, files vfs.FS, dir string, t *Table, progress func(n int64) error,
) (faults []Fault, blocks int, err error) {
	c := tableCheck{ctx: ctx, t: t, progress: progress}
	err = c.run(files, dir)
	return c.faults, c.blocks, err
}

// Fill is Check with substitutes: damaged blocks of rows and filters get an Instead.
func Fill(files vfs.FS, dir string, t *Table) ([]Fault, error) {
	c := tableCheck{ctx: context.Background(), t: t, fill: true}
	err := c.run(files, dir)
	return c.faults, err
}

// tableCheck is the state of Check.
type tableCheck struct {
	ctx      context.Context
	t        *Table
	progress func(int64) error
	fill     bool // see Fill
	r        *sstable.Reader
	buf      []byte
	faults   []Fault
	blocks   int
}

func (c *tableCheck) run(files vfs.FS, dir string) (err error) {
	f, err := files.Open(files.PathJoin(dir, c.t.Name))
	if errors.Is(err, fs.ErrNotExist) {
		c.faults = c.t.lost("the whole file, which is missing")
		return nil
	}
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if c.r, err = sstable.NewReader(c.ctx, readable, sstable.ReaderOptions{}); err != nil {
		return c.unreadable("its footer, which locates everything else", err)
	}
	defer func() { err = errors.Join(err, c.r.Close()) }()
	layout, err := c.r.Layout()
	if err != nil {
		return c.unreadable("its index", err)
	}
	whole := c.t.keys()
	for _, piece := range []struct {
		handle block.Handle
		what   string
	}{
		{layout.TopIndex, "index"}, {layout.RangeDel, "list of cleared ranges"}, {layout.RangeKey, "list of ranges"},
		{layout.ValueIndex, "index of values"}, {layout.Properties, "properties"}, {layout.MetaIndex, "list of parts"},
	} {
		if err := c.block(piece.handle, "its "+piece.what, whole, vitalBlock); err != nil {
			return err
		}
	}
	for i := range layout.Filter {
		if err := c.block(layout.Filter[i].Handle, "its filter", whole, filterBlock); err != nil {
			return err
		}
	}
	for _, h := range layout.ValueBlock {
		if err := c.block(h, "values", whole, valuesBlock); err != nil {
			return err
		}
	}
	return c.data(layout)
}

// unreadable records that a whole table is lost if err means damage; it returns err if the file could not be read at
// all.
func (c *tableCheck) unreadable(what string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) && !failure.IsDamage(err) {
		return err
	}
	c.faults = c.t.lost(what)
	return nil
}

// lost returns the fault of a table of which nothing can be read.
func (t *Table) lost(what string) []Fault {
	return []Fault{{Fault: kv.Fault{File: t.Name, What: what, Keys: t.keys()}, End: t.Size, Vital: true}}
}

// data reads the blocks of rows. The keys that a block may contain come after the block before and up to its own
// index entry.
func (c *tableCheck) data(layout *sstable.Layout) error {
	begin := c.t.smallest
	for _, h := range layout.Index {
		if err := c.block(h, "its index", c.t.keys(), vitalBlock); err != nil {
			return err
		}
		index, err := c.r.BlockReader().Read(c.ctx, block.NoReadEnv, nil, h, blockkind.SSTableIndex, asItIs)
		if err != nil {
			return err
		}
		begin, err = c.dataOf(index.BlockData(), begin)
		index.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// asItIs leaves a block as it is.
func asItIs(*block.Metadata, []byte) error { return nil }

// dataOf reads the blocks of rows that an index block lists.
func (c *tableCheck) dataOf(index, begin []byte) (next []byte, err error) {
	var it colblk.IndexIter
	if err := it.Init(pebble.DefaultComparer, index, block.NoTransforms); err != nil {
		return nil, err
	}
	for ok := it.First(); ok; ok = it.Next() {
		h, err := it.BlockHandleWithProperties()
		if err != nil {
			return nil, err
		}
		end := keys.After(it.Separator())
		if last := keys.After(c.t.Largest); bytes.Compare(last, end) < 0 {
			end = last
		}
		if err := c.block(h.Handle, "rows", kv.KeyRange{Begin: begin, End: end}, rowsBlock); err != nil {
			return nil, err
		}
		begin = end
	}
	return begin, nil
}

// blockUse is the purpose of a block.
type blockUse int

const (
	rowsBlock   blockUse = iota
	valuesBlock          // older versions of rows; Pebble is configured not to separate them
	filterBlock          // saves reads; the table is readable without it
	vitalBlock           // without it nothing of the table can be read
)

// block reads one block, and records damage.
func (c *tableCheck) block(h block.Handle, what string, keys kv.KeyRange, use blockUse) error {
	if h.Length == 0 {
		return nil
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	c.blocks++
	n := int(h.Length) + block.TrailerLen
	if cap(c.buf) < n {
		c.buf = make([]byte, n)
	}
	b := c.buf[:n]
	err := c.r.BlockReader().Readable().ReadAt(c.ctx, b, int64(h.Offset))
	var sum block.Checksummer
	sum.Init(c.r.BlockReader().ChecksumType())
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		what += ", which lies beyond the end of the file"
	case failure.IsDamage(err):
		what += ", which the disk cannot read"
	case err != nil:
		return err
	case sum.Checksum(b[:h.Length], b[h.Length]) == binary.LittleEndian.Uint32(b[h.Length+1:]):
		return c.told(int64(n))
	}
	fault := Fault{
		Fault: kv.Fault{File: c.t.Name, What: fmt.Sprintf("the block of %d bytes at %d (%s)", n, h.Offset, what),
			Keys: keys},
		Begin: int64(h.Offset), End: int64(h.Offset) + int64(n), Vital: use == vitalBlock,
		Rows: use == rowsBlock, Check: c.r.BlockReader().ChecksumType(),
	}
	if use == rowsBlock && c.fill {
		last := keys.End[:len(keys.End)-1] // keys.End is the key after it
		fault.Instead = WithoutRows(last, 1, int(h.Length), &sum)
	}
	if use == filterBlock {
		fault.Keys, fault.Harmless, fault.Instead = kv.KeyRange{}, true, passAll(int(h.Length), &sum)
	}
	c.faults = append(c.faults, fault)
	return c.told(int64(n))
}

func (c *tableCheck) told(n int64) error {
	if c.progress == nil {
		return nil
	}
	return c.progress(n)
}
