package sst

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// EmptyTables returns a file system with tables of the same names and sizes but without rows.
func EmptyTables(lost []Table) (vfs.FS, error) {
	fs := vfs.NewMem()
	for _, t := range lost {
		if err := emptyTable(fs, t); err != nil {
			return nil, fmt.Errorf("embedded: replace %s by an empty table: %w", t.Name, err)
		}
	}
	return fs, nil
}

// emptyTable writes one empty table. Pebble finds a table's content from its footer, which is moved to the required
// end of the file.
func emptyTable(fs vfs.FS, t Table) error {
	f, err := fs.Create("made", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f),
		sstable.WriterOptions{TableFormat: sstable.TableFormatMinSupported})
	if err := w.Close(); err != nil {
		return err
	}
	if f, err = fs.Open("made"); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	b := make([]byte, info.Size())
	if _, err = f.ReadAt(b, 0); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	if t.Size < int64(len(b)) {
		return errors.New("it is smaller than an empty one")
	}
	out, err := fs.Create(t.Name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	end := len(b) - oldestFooter
	whole := append(append(slices.Clone(b[:end]), make([]byte, t.Size-int64(len(b)))...), b[end:]...)
	_, err = out.Write(whole)
	return errors.Join(err, out.Close())
}

// oldestFooter is the length of the footer in the oldest table format that Pebble still reads.
const oldestFooter = 53
