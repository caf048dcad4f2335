package spill

import (
	"encoding/binary"
	"io"
	"sort"

	"github.com/divandb/divan/query/types"
)

// Run is a sequence of rows in a Store. Rows are appended at its end and read from any number of Readers, also while it
// grows.
type Run struct {
	store  *Store
	blocks []int64
	tail   []byte // after the blocks; shorter than a block
	rows   int64
	width  int    // of the first row
	buf    []byte // of one row
	held   int64
	// marks are the places of some rows, if indexed is set: one for each markRows rows or markBytes bytes.
	indexed bool
	marks   []mark
	kept    int64 // held for marks
	since   int   // bytes since the last mark
}

// mark is the place of a row.
type mark struct {
	row       int64
	block, at int
}

const (
	markRows  = 64
	markBytes = 4 << 10
	markSize  = 40
)

// NewRun returns an empty run.
func (s *Store) NewRun() *Run { return &Run{store: s} }

// newIndexed returns an empty run whose Readers can skip.
func (s *Store) newIndexed() *Run { return &Run{store: s, indexed: true} }

// mark remembers the place of the row that is appended next, if it is time for that.
func (r *Run) mark() error {
	if !r.indexed || r.rows > 0 && r.since < markBytes && r.rows-r.marks[len(r.marks)-1].row < markRows {
		return nil
	}
	if err := r.store.work.Hold(markSize); err != nil {
		return err
	}
	r.kept += markSize
	r.marks, r.since = append(r.marks, mark{r.rows, len(r.blocks), len(r.tail)}), 0
	return nil
}

// Rows returns the number of rows.
func (r *Run) Rows() int64 {
	if r == nil {
		return 0
	}
	return r.rows
}

// Width returns the number of columns of the first row, 0 without rows. The Run may be nil.
func (r *Run) Width() int {
	if r == nil {
		return 0
	}
	return r.width
}

// Size returns the run's bytes in the file. The Run may be nil.
func (r *Run) Size() int64 {
	if r == nil {
		return 0
	}
	return int64(len(r.blocks)) * r.store.block
}

// Append appends a row. All rows of a run have as many columns.
func (r *Run) Append(row []types.Datum) error {
	if r.tail == nil {
		if err := r.hold(r.store.block); err != nil {
			return err
		}
		r.tail = make([]byte, 0, r.store.block)
	}
	if r.rows == 0 {
		r.width = len(row)
	}
	if err := r.mark(); err != nil {
		return err
	}
	r.buf = append(r.buf[:0], 0, 0, 0, 0)
	for i := range row {
		if len(row[i].S) > maxBlock {
			// A long text is in memory once more until it is written.
			if err := r.store.work.Hold(int64(len(row[i].S))); err != nil {
				return err
			}
			defer r.store.work.Release(int64(len(row[i].S)))
		}
		r.buf = types.AppendStored(r.buf, row[i])
	}
	binary.LittleEndian.PutUint32(r.buf, uint32(len(r.buf)-4))
	r.since += len(r.buf)
	for left := r.buf; len(left) > 0; {
		n := copy(r.tail[len(r.tail):cap(r.tail)], left)
		r.tail, left = r.tail[:len(r.tail)+n], left[n:]
		if len(r.tail) == cap(r.tail) {
			if err := r.flush(); err != nil {
				return err
			}
		}
	}
	if cap(r.buf) > maxBlock {
		r.buf = nil
	}
	r.rows++
	return nil
}

func (r *Run) hold(n int64) error {
	err := r.store.work.Hold(n)
	if err == nil {
		r.held += n
	}
	return err
}

// flush writes the tail as a block.
func (r *Run) flush() error {
	at, err := r.store.write(r.tail[:cap(r.tail)]) // what is behind a shorter last block is never read
	if err != nil {
		return err
	}
	r.blocks, r.tail = append(r.blocks, at), r.tail[:0]
	return nil
}

// Seal writes everything to the file and releases the run's memory. No rows may be appended afterwards.
func (r *Run) Seal() error {
	if len(r.tail) > 0 {
		if err := r.flush(); err != nil {
			return err
		}
	}
	r.tail, r.buf = nil, nil
	r.store.work.Release(r.held)
	r.held = 0
	return nil
}

// release ends the index.
func (r *Run) release() {
	r.store.work.Release(r.kept)
	r.indexed, r.marks, r.kept = false, nil, 0
}

// Free ends the run and gives back its blocks. The Run may be nil.
func (r *Run) Free() {
	if r == nil {
		return
	}
	r.release()
	r.store.work.Release(r.held)
	for _, at := range r.blocks {
		if at >= 0 {
			r.store.unused = append(r.store.unused, at)
		}
	}
	r.blocks, r.tail, r.buf, r.held, r.rows = nil, nil, nil, 0, 0
}

// Reader reads a run from the beginning.
type Reader struct {
	run    *Run
	width  int
	block  int // index into the run's blocks
	at     int // in the block
	buf    []byte
	loaded int // the block in buf and one; 0 for none
	read   int64
	held   int64 // for buf
	row    int64 // held for the row
	ended  bool  // by SkipTo, so that block and at are not those of read
	// consume gives each block back as soon as it has been read.
	consume bool
}

// NewReader returns a reader of rows of that many columns. The caller must close it.
func (r *Run) NewReader(width int) *Reader { return &Reader{run: r, width: width} }

// Consume returns a reader that gives back the run's space while it reads. There may be no other reader. The Run may be
// nil, and then the reader is too.
func (r *Run) Consume(width int) *Reader {
	if r == nil {
		return nil
	}
	return &Reader{run: r, width: width, consume: true}
}

// Next returns the next row, or io.EOF, after which it may be called again when the run has grown. The row's memory is
// held until the next call.
func (r *Reader) Next() ([]types.Datum, error) {
	w := r.run.store.work
	w.Release(r.row)
	r.row = 0
	if r.read >= r.run.rows {
		return nil, io.EOF
	}
	n, err := r.length()
	if err != nil {
		return nil, err
	}
	if err := w.Hold(n); err != nil {
		return nil, err
	}
	r.row = n
	raw := make([]byte, n)
	if err := r.fill(raw); err != nil {
		return nil, err
	}
	text := string(raw)
	row := make([]types.Datum, r.width)
	for i := range row {
		if row[i], text, err = types.ReadStored(text); err != nil {
			return nil, fileError("read", err)
		}
	}
	r.read++
	return row, w.Step(1)
}

// SkipTo makes Next return the row of that number, from 0. The run must be indexed.
func (r *Reader) SkipTo(row int64) error {
	if row >= r.run.rows {
		r.read, r.ended = r.run.rows, true
		return nil
	}
	i := sort.Search(len(r.run.marks), func(i int) bool { return r.run.marks[i].row > row }) - 1
	if m := r.run.marks[i]; row < r.read || m.row > r.read || r.ended {
		r.block, r.at, r.read, r.ended = m.block, m.at, m.row, false
	}
	for ; r.read < row; r.read++ {
		n, err := r.length()
		if err != nil {
			return err
		}
		for n > 0 {
			step := min(n, r.run.store.block-int64(r.at))
			if r.at += int(step); int64(r.at) == r.run.store.block {
				r.block, r.at = r.block+1, 0
			}
			n -= step
		}
	}
	return nil
}

// length reads the length of the next row.
func (r *Reader) length() (int64, error) {
	var head [4]byte
	err := r.fill(head[:])
	return int64(binary.LittleEndian.Uint32(head[:])), err
}

// fill reads the next bytes of the run.
func (r *Reader) fill(dst []byte) error {
	for len(dst) > 0 {
		if int64(r.at) == r.run.store.block {
			if r.consume && r.block < len(r.run.blocks) {
				r.run.store.unused = append(r.run.store.unused, r.run.blocks[r.block])
				r.run.blocks[r.block] = -1
			}
			r.block, r.at = r.block+1, 0
		}
		from := r.run.tail
		if r.block < len(r.run.blocks) {
			if err := r.load(); err != nil {
				return err
			}
			from = r.buf
		}
		n := copy(dst, from[min(r.at, len(from)):])
		if n == 0 {
			return fileError("read", io.ErrUnexpectedEOF)
		}
		r.at, dst = r.at+n, dst[n:]
	}
	return nil
}

func (r *Reader) load() error {
	if r.loaded == r.block+1 {
		return nil
	}
	if r.buf == nil {
		n := r.run.store.block
		if err := r.run.store.work.Hold(n); err != nil {
			return err
		}
		r.held, r.buf = n, make([]byte, n)
	}
	if err := r.run.store.read(r.buf, r.run.blocks[r.block]); err != nil {
		return err
	}
	r.loaded = r.block + 1
	return nil
}

// Close releases the reader's memory. The Reader may be nil.
func (r *Reader) Close() {
	if r == nil {
		return
	}
	r.run.store.work.Release(r.held + r.row)
	r.held, r.row, r.buf, r.loaded = 0, 0, nil, 0
}
