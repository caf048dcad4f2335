package joins

import (
	"errors"
	"io"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// Narrowing reads only those rows of one side of a join whose ids or keys the other side has, in one round trip, if
// these are few.
type Narrowing struct {
	Scan *exec.Scan
	// Key is the number of the equality that compares the column that Scan is sorted by.
	Key int
	// Name is the name of that column.
	Name string
}

// aheadRows is the number of rows of the left side that are read before it is decided how the right side is read.
const aheadRows = 4 * exec.MaxKeys

// narrowRight reads the beginning of the left side. If that is all, the right side will be read by its keys.
func (j *Join) narrowRight() error {
	n := j.NarrowRight
	n.Scan.Widen()
	width := 0
	for _, c := range j.LeftColumns {
		width += c.To - c.From
	}
	j.ahead = j.env.Spill.NewList(width)
	var keys exec.KeySet
	row := make([]types.Datum, 0, width)
	for j.ahead.Len() < aheadRows && !keys.Many {
		ok, err := j.Left.Next()
		if err != nil {
			return err
		}
		if !ok {
			j.leftEnded = true
			break
		}
		row = row[:0]
		for _, c := range j.LeftColumns {
			row = append(row, j.env.Row[c.From:c.To]...)
		}
		if err := j.ahead.Append(row); err != nil {
			return err
		}
		around := j.env.Enter(&j.scratch)
		d, err := j.LeftKeys[n.Key].Eval(j.env)
		if err == nil {
			err = keys.Add(j.env, d)
		}
		j.env.Leave(around)
		if err != nil {
			return err
		}
	}
	j.aheadScan = j.ahead.Scan()
	if !j.leftEnded || keys.Many {
		return nil
	}
	return n.Scan.Narrow(keys.Values)
}

// nextLeft reads the left side, of which some rows may have been read ahead.
func (j *Join) nextLeft() (bool, error) {
	if j.ahead != nil {
		row, err := j.aheadScan.Next()
		if err == nil {
			restore(j.env, j.LeftColumns, row)
			return true, nil
		}
		if !errors.Is(err, io.EOF) {
			return false, err
		}
		if j.leftEnded {
			return false, nil
		}
	}
	return j.Left.Next()
}

// restore sets columns of the row.
func restore(env *exec.Env, columns []exec.Range, row []types.Datum) {
	for _, c := range columns {
		n := copy(env.Row[c.From:c.To], row)
		row = row[n:]
	}
}

// narrowLeft lets the left side be read by the keys of the right side, which is in memory.
func (j *Join) narrowLeft() error {
	n := j.NarrowLeft
	if n == nil || j.now.level > 0 || j.rights != nil || j.ahead != nil && j.ahead.Len() > 0 ||
		j.table.list != nil || len(j.table.rows) > aheadRows {
		return nil
	}
	var keys exec.KeySet
	for _, row := range j.table.rows {
		copy(j.env.Row[j.RightFrom:j.RightTo], row)
		around := j.env.Enter(&j.scratch)
		d, err := j.RightKeys[n.Key].Eval(j.env)
		if err == nil {
			err = keys.Add(j.env, d)
		}
		j.env.Leave(around)
		if err != nil {
			return err
		}
	}
	if keys.Many {
		return nil
	}
	return n.Scan.Narrow(keys.Values)
}

// endAhead releases the rows that were read ahead.
func (j *Join) endAhead() {
	j.aheadScan.Close()
	j.ahead.Free()
	j.ahead, j.aheadScan, j.leftEnded = nil, nil, false
}
