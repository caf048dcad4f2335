package sst

import (
	"bytes"
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
)

// ClearedRanges reads the range deletions of a table.
func (t *Table) ClearedRanges(files vfs.FS, dir string, found func(begin, end []byte, seq pebble.SeqNum)) (err error) {
	f, err := files.Open(files.PathJoin(dir, t.Name))
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r, err := sstable.NewReader(context.Background(), readable, sstable.ReaderOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	it, err := r.NewRawRangeDelIter(context.Background(), sstable.NoFragmentTransforms, sstable.NoReadEnv)
	if err != nil || it == nil {
		return err
	}
	defer it.Close()
	s, err := it.First()
	for ; s != nil && err == nil; s, err = it.Next() {
		begin, end := keys.Max(s.Start, t.smallest), s.End
		if last := keys.After(t.Largest); bytes.Compare(last, end) < 0 {
			end = last
		}
		for _, k := range s.Keys {
			if bytes.Compare(begin, end) < 0 {
				found(begin, end, k.SeqNum())
			}
		}
	}
	return err
}
