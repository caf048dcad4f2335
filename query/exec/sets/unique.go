// Package sets compares whole rows of plans: DISTINCT, UNION, INTERSECT and EXCEPT, and the rounds of WITH RECURSIVE.
// The rest of a plan is in package exec.
package sets

import (
	"errors"
	"io"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/exec/tally"
	"github.com/divandb/divan/query/types"
)

// rowKey appends a text that is the same for equal rows.
func rowKey(st *exec.State, dst []byte, row []types.Datum) (_ []byte, err error) {
	for _, d := range row {
		if dst, err = st.Hash(dst, d); err != nil {
			return dst, err
		}
	}
	return dst, st.Step(1)
}

// Unique is DISTINCT and UNION: it keeps the first of equal rows. With Keys it is DISTINCT ON those columns. If the
// keys that it has seen do not fit into memory, they and the rows that follow are divided into parts by their hashes,
// and the rows are returned part by part.
type Unique struct {
	Input exec.Plan
	// Width is the number of leading columns that are compared, unless Keys is set.
	Width int
	Keys  []int
	// Sorted is set if equal rows follow each other, so that only the last key need be known.
	Sorted bool

	seen map[string]struct{}
	last []byte
	any  bool // last is set
	st   *exec.State
	held int64
	buf  []byte
	rows int64
	runs tally.Runs

	space  tally.Space
	parted int64 // parts that were read
	disk   int64

	level   int
	now     *spill.Run // the part being read; nil for the input
	from    *spill.Reader
	waiting []uniquePart
	parts   *spill.Parts
	widest  int // columns of a row and of its mark
}

// uniquePart holds rows whose first column is NULL, and keys of rows that have been returned, in the first column.
type uniquePart struct {
	level int
	run   *spill.Run
}

// Open implements Plan.
func (u *Unique) Open(outer *exec.Env) error {
	u.free()
	u.st, u.seen = outer.State, map[string]struct{}{}
	u.runs.Begin(&u.rows)
	return u.Input.Open(outer)
}

// Next implements Plan.
func (u *Unique) Next() ([]types.Datum, error) {
	for {
		row, err := u.next()
		if errors.Is(err, io.EOF) {
			if more, err := u.nextPart(); err != nil {
				return nil, err
			} else if more {
				continue
			}
			return nil, io.EOF
		}
		if err != nil {
			return nil, err
		}
		if row == nil {
			continue
		}
		fresh, err := u.fresh(row)
		if err != nil {
			return nil, err
		}
		if fresh {
			u.rows++
			return row, nil
		}
	}
}

// next returns a row of the input or of the current part, or nil after the key of a row that has been returned.
func (u *Unique) next() ([]types.Datum, error) {
	if u.now == nil {
		return u.Input.Next()
	}
	row, err := u.from.Next()
	if err != nil {
		return nil, err
	}
	if row[0].IsNull() {
		return row[1:], nil
	}
	u.buf = append(u.buf[:0], row[0].S...)
	return nil, u.remember()
}

// key writes the key of a row to buf.
func (u *Unique) key(row []types.Datum) (err error) {
	if u.Keys == nil {
		u.buf, err = rowKey(u.st, u.buf[:0], row[:u.Width])
		return err
	}
	u.buf = u.buf[:0]
	for _, k := range u.Keys {
		if u.buf, err = u.st.Hash(u.buf, row[k]); err != nil {
			return err
		}
	}
	return u.st.Step(1)
}

// fresh reports whether a row must be returned now.
func (u *Unique) fresh(row []types.Datum) (bool, error) {
	if err := u.key(row); err != nil {
		return false, err
	}
	if u.Sorted {
		if u.any && string(u.last) == string(u.buf) {
			return false, nil
		}
		u.last, u.any = append(u.last[:0], u.buf...), true
		return true, nil
	}
	if u.parts == nil {
		if _, dup := u.seen[string(u.buf)]; dup {
			return false, nil
		}
		u.widest = 1 + len(row)
		if err := u.remember(); err != nil {
			return false, err
		}
		return true, nil
	}
	return false, u.parts.Append(u.buf, append([]types.Datum{types.Null}, row...))
}

// remember adds the key in buf to those of rows that have been returned.
func (u *Unique) remember() error {
	if u.parts == nil {
		n := int64(len(u.buf)) + 48
		if err := u.st.Spill.Hold(n, u.held, u.divide); err != nil {
			return err
		}
		if u.parts == nil {
			u.held += n
			u.space.Hold(u.held)
			u.seen[string(u.buf)] = struct{}{}
			return nil
		}
		u.st.Release(n)
	}
	return u.mark(u.buf)
}

// mark writes the key of a row that has been returned to its part.
func (u *Unique) mark(key []byte) error {
	mark := make([]types.Datum, u.widest)
	mark[0] = types.NewBytes(key)
	return u.parts.Append(key, mark)
}

// divide writes all keys to parts. Further rows follow them.
func (u *Unique) divide() error {
	if u.parts != nil || u.level >= spill.MaxLevel {
		return nil
	}
	u.st.Release(u.held)
	u.held = 0
	u.parts = u.st.Spill.NewParts(u.level)
	for key := range u.seen {
		if err := u.mark([]byte(key)); err != nil {
			return err
		}
	}
	u.seen = map[string]struct{}{}
	return nil
}

// nextPart begins the next part. It returns false at the end.
func (u *Unique) nextPart() (bool, error) {
	if u.parts != nil {
		runs, err := u.parts.Seal()
		if err != nil {
			return false, err
		}
		for _, r := range runs {
			u.waiting = append(u.waiting, uniquePart{u.level + 1, r})
			u.disk += r.Size()
		}
		u.parts = nil
	}
	u.endPart()
	if len(u.waiting) == 0 {
		return false, nil
	}
	u.level, u.now, u.waiting = u.waiting[0].level, u.waiting[0].run, u.waiting[1:]
	u.parted++
	u.from = u.now.Consume(u.widest)
	return true, nil
}

// endPart releases what belongs to the current part.
func (u *Unique) endPart() {
	u.st.Release(u.held)
	u.from.Close()
	u.now.Free()
	u.held, u.seen, u.from = 0, map[string]struct{}{}, nil
}

func (u *Unique) free() {
	if u.st == nil {
		return
	}
	u.endPart()
	for _, w := range u.waiting {
		w.run.Free()
	}
	u.parts.Free()
	u.now, u.parts, u.waiting, u.level, u.any = nil, nil, nil, 0, false
}

// Close implements Plan.
func (u *Unique) Close() {
	u.Input.Close()
	u.free()
}

// Describe implements Plan.
func (u *Unique) Describe() *exec.Description {
	d := &exec.Description{Node: "Unique", Examined: -1, Children: []*exec.Description{u.Input.Describe()}}
	d.Rows, d.Loops = u.runs.Total(u.rows)
	if !u.Sorted {
		u.space.Disk, u.space.Batches = u.disk, 1+u.parted
		d.Space = &u.space
	}
	return d
}
