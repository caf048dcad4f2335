package copying

import (
	"errors"
	"io"

	"github.com/divandb/divan/query/charset"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// maxHeld is the size of the rows of a COPY FROM that are one transaction, in bytes. The store would refuse more.
const maxHeld = 10_000_000

// maxPart is the size of the rows from which on a part of a COPY FROM in several transactions is complete. One more row
// fits into a transaction: it has at most one document.
const maxPart = 1_000_000

// rowSize is the approximate memory of a row without its values.
const rowSize = 100

// Held has the rows of a COPY FROM STDIN that have been received and not been written. What remains of the data is only
// the beginning of a row that is not complete yet.
type Held struct {
	in     *In
	text   *charset.Stream // decodes the data; nil if it is UTF-8
	part   int             // rows of a part; 0 if all rows are one transaction
	check  func(row []types.Datum) error
	memory memory
	rows   [][]types.Datum
	lines  []int // of rows
	size   int64 // of rows
	kept   int64 // of data
}

// memory counts bytes.
type memory interface {
	Grow(n int64) error
	Shrink(n int64)
}

// NewHeld returns a Held for the columns that the data has. With a part of more than 0 rows, parts of so many rows, or
// of some size, are taken one by one. check returns an error for a row that cannot be written.
func NewHeld(o *ast.Copy, cols []Column, env *types.Env, m memory, part int, check func([]types.Datum) error) *Held {
	return &Held{in: NewIn(o, cols, env), text: charset.NewStream(charsetOf(o, env)), memory: m, part: part,
		check: check}
}

// Add reads the rows that data completes; last is set for the end of the data. Whenever a part is complete, it calls
// full, which takes the rows by Rows and Clear.
func (h *Held) Add(data []byte, last bool, full func() error) error {
	data, err := h.text.Decode(data, last)
	if err != nil {
		return err
	}
	if err := h.memory.Grow(int64(len(data))); err != nil {
		return err
	}
	h.kept += int64(len(data))
	h.in.Feed(data, last)
	for {
		row, err := h.in.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, ErrMore) {
			left := int64(h.in.Left())
			h.memory.Shrink(h.kept - left)
			h.kept = left
			return nil
		}
		if err == nil {
			err = h.in.located(h.check(row))
		}
		if err == nil {
			err = h.add(row)
		}
		if err == nil && h.part > 0 && (len(h.rows) >= h.part || h.size >= maxPart) {
			err = full()
		}
		if err != nil {
			return err
		}
	}
}

func (h *Held) add(row []types.Datum) error {
	n := int64(rowSize)
	for _, d := range row {
		n += int64(len(d.S))
	}
	if h.part == 0 && h.size-rowSize*int64(len(h.rows))+n > maxHeld {
		return sqlstate.New(sqlstate.ProgramLimitExceeded, "COPY FROM has more than %d bytes", maxHeld).
			WithHint("%s", tooMuch)
	}
	if err := h.memory.Grow(n); err != nil {
		return err
	}
	h.size += n
	h.rows = append(h.rows, append([]types.Datum(nil), row...))
	h.lines = append(h.lines, h.in.line)
	return nil
}

const tooMuch = "A transaction of the store has 10 MB at most, and a document needs 600 bytes beside its text and " +
	"id. SET " + PartSetting + " = 1000 to write as many rows per transaction, or copy in several statements."

// Explained adds to an error of writing the rows the line of a duplicate id, and what can be done about too many rows.
// id is the column of the ids, negative if there is none.
func (h *Held) Explained(err error, id int) error {
	var e *sqlstate.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case sqlstate.ProgramLimitExceeded:
		if h.part == 0 {
			out := *e
			return out.WithHint("%s", tooMuch)
		}
	case sqlstate.UniqueViolation:
		found := -1
		for i := range h.rows {
			if id < 0 || sqlstate.DuplicateID(h.rows[i][id].S).Detail != e.Detail {
				continue
			}
			again := found >= 0
			if found = i; again {
				break // the second one, if the data has the id twice
			}
		}
		if found >= 0 {
			return e.Within("COPY docs, line %d", h.lines[found])
		}
	}
	return err
}

// PartSetting is the name of the setting for the number of rows that COPY FROM writes in a transaction.
const PartSetting = "divan.copy_batch"

// Rows returns a function that returns the rows, then io.EOF.
func (h *Held) Rows() func() ([]types.Datum, error) {
	rows := h.rows
	return func() ([]types.Datum, error) {
		if len(rows) == 0 {
			return nil, io.EOF
		}
		row := rows[0]
		rows = rows[1:]
		return row, nil
	}
}

// Clear forgets the rows.
func (h *Held) Clear() {
	h.memory.Shrink(h.size)
	h.rows, h.lines, h.size = h.rows[:0], h.lines[:0], 0
}

// Close releases the rows and the data.
func (h *Held) Close() {
	h.Clear()
	h.memory.Shrink(h.kept)
	h.in.data, h.kept = nil, 0
}
