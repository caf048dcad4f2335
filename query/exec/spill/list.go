package spill

import (
	"io"

	"github.com/divandb/divan/query/types"
)

// List is a list of rows that grows at its end and is read by any number of scans. If memory is short it moves to the
// temporary file as a whole.
type List struct {
	store *Store
	width int
	rows  [][]types.Datum
	held  int64
	run   *Run // instead of rows
	// indexed is set if Cursors read the list.
	indexed bool
}

// NewList returns an empty list of rows of that many columns. The caller must free it.
func (s *Store) NewList(width int) *List { return &List{store: s, width: width} }

// NewIndexedList is NewList for a list that is read at any place.
func (s *Store) NewIndexedList(width int) *List { return &List{store: s, width: width, indexed: true} }

// Len returns the number of rows. The List may be nil.
func (l *List) Len() int64 {
	switch {
	case l == nil:
		return 0
	case l.run != nil:
		return l.run.rows
	}
	return int64(len(l.rows))
}

// Append appends a row, which it copies with its values.
func (l *List) Append(row []types.Datum) error { return l.append(row, false) }

// Keep is Append for a row that nobody else changes and whose values own their memory. It is not copied.
func (l *List) Keep(row []types.Datum) error { return l.append(row, true) }

func (l *List) append(row []types.Datum, keep bool) error {
	if l.run != nil {
		return l.run.Append(row)
	}
	size := RowSize(row)
	if err := l.store.Hold(size, l.held, l.spill); err != nil {
		return err
	}
	if l.run != nil {
		l.store.work.Release(size)
		return l.run.Append(row)
	}
	l.held += size
	if !keep {
		row = types.Own(row)
	}
	l.rows = append(l.rows, row)
	return nil
}

func (l *List) spill() error {
	if l.run != nil {
		return nil
	}
	l.store.work.Release(l.held)
	l.held = 0
	l.run = &Run{store: l.store, indexed: l.indexed}
	for _, row := range l.rows {
		if err := l.run.Append(row); err != nil {
			return err
		}
	}
	l.rows = nil
	return nil
}

// Disk returns how many bytes of the list are in the temporary file. The List may be nil.
func (l *List) Disk() int64 {
	if l == nil {
		return 0
	}
	return l.run.Size()
}

// Free releases everything. The List may be nil.
func (l *List) Free() {
	if l == nil {
		return
	}
	l.store.work.Release(l.held)
	l.run.Free()
	l.rows, l.run, l.held = nil, nil, 0
}

// Scan reads a List from its beginning.
type Scan struct {
	list   *List
	at     int64
	reader *Reader
}

// Scan returns a new scan. The List may be nil. The caller must close it.
func (l *List) Scan() *Scan { return &Scan{list: l} }

// Next returns the next row, or io.EOF, after which it may be called again when the list has grown.
func (s *Scan) Next() ([]types.Datum, error) {
	if s.at >= s.list.Len() {
		return nil, io.EOF
	}
	if s.list.run == nil {
		s.at++
		return s.list.rows[s.at-1], nil
	}
	if s.reader == nil {
		s.reader = s.list.run.NewReader(s.list.width)
		for range s.at { // the rows that were read from memory
			if _, err := s.reader.Next(); err != nil {
				return nil, err
			}
		}
	}
	s.at++
	return s.reader.Next()
}

// At returns the number of rows that have been read. The Scan may be nil.
func (s *Scan) At() int64 {
	if s == nil {
		return 0
	}
	return s.at
}

// Close releases the scan's memory. The Scan may be nil.
func (s *Scan) Close() {
	if s != nil {
		s.reader.Close()
		s.reader = nil
	}
}

// Cursor reads rows of an indexed List by their numbers. It is fast if these grow by little.
type Cursor struct {
	list   *List
	reader *Reader
	at     int64 // the number of row and one
	row    []types.Datum
}

// Cursor returns a new cursor. The caller must close it.
func (l *List) Cursor() *Cursor { return &Cursor{list: l} }

// Row returns a row by its number, which the list has. It is valid until the next call.
func (c *Cursor) Row(i int64) (_ []types.Datum, err error) {
	if c.list.run == nil {
		return c.list.rows[i], nil
	}
	if c.at == i+1 {
		return c.row, nil
	}
	if c.reader == nil {
		c.reader = c.list.run.NewReader(c.list.width)
	}
	if err = c.reader.SkipTo(i); err == nil {
		c.row, err = c.reader.Next()
	}
	c.at = i + 1
	return c.row, err
}

// Near reports whether row i is the one that was read last, or follows it.
func (c *Cursor) Near(i int64) bool { return c.list.run == nil || i+1 == c.at || i == c.at }

// Close releases the cursor's memory. The Cursor may be nil.
func (c *Cursor) Close() {
	if c != nil {
		c.reader.Close()
		c.reader, c.at, c.row = nil, 0, nil
	}
}
