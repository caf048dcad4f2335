package joins

import (
	"errors"
	"io"
	"sync"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// Narrowing reads only those rows of one side of a join whose ids or keys the other side has, in a round trip for each
// exec.MaxKeys of them, if these are few.
type Narrowing struct {
	Scan *exec.Scan
	// Key is the number of the equality that compares the column that Scan is sorted by.
	Key int
	// Name is the name of that column.
	Name string
	// Worth returns the number of keys up to which reading them costs less than reading all rows. It may read the
	// store. nil stands for exec.MaxKeys.
	Worth func() int
}

// keys returns an empty set for the keys of the other side.
func (n *Narrowing) keys() exec.KeySet {
	if n.Worth == nil {
		return exec.KeySet{}
	}
	return exec.KeySet{Limit: sync.OnceValue(n.Worth)}
}

// rowsOfKey is the number of rows of the left side with the same key up to which they are read ahead, on average,
// before it is decided how the right side is read.
const rowsOfKey = 4

// narrowRight reads the beginning of the left side. If that is all, the right side will be read by its keys.
func (j *Join) narrowRight() error {
	n := j.NarrowRight
	n.Scan.Widen()
	width := 0
	for _, c := range j.LeftColumns {
		width += c.To - c.From
	}
	j.ahead = j.env.Spill.NewList(width)
	keys := n.keys()
	row := make([]types.Datum, 0, width)
	for j.ahead.Len() < int64(rowsOfKey*max(len(keys.Values), exec.MaxKeys)) && !keys.Many {
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
		j.table.list != nil {
		return nil
	}
	keys := n.keys()
	for _, row := range j.table.rows {
		if keys.Many {
			return nil
		}
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
