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
}

// NewList returns an empty list of rows of that many columns. The caller must free it.
func (s *Store) NewList(width int) *List { return &List{store: s, width: width} }

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

// Append appends a row, which it copies. The values are kept.
func (l *List) Append(row []types.Datum) error {
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
	l.rows = append(l.rows, types.Own(row))
	return nil
}

func (l *List) spill() error {
	if l.run != nil {
		return nil
	}
	l.store.work.Release(l.held)
	l.held = 0
	l.run = l.store.NewRun()
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
