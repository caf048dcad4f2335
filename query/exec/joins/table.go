package joins

import (
	"errors"
	"io"
	"slices"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/types"
)

// table has the rows of the right side: hashed by their keys in memory, or as a list.
type table struct {
	rows  [][]types.Datum
	byKey map[string][]int // indexes into rows
	held  int64
	// list is set instead without keys, or if rows with few different keys do not fit into memory.
	list    *spill.List
	matched []bool // by row, for right and full joins
}

func (t *table) len() int64 {
	if t.list != nil {
		return t.list.Len()
	}
	return int64(len(t.rows))
}

// next returns a row by its number, one more than the last one, or io.EOF.
func (t *table) next(scan **spill.Scan, at int64) ([]types.Datum, error) {
	if at >= t.len() {
		return nil, io.EOF
	}
	if t.list == nil {
		return t.rows[at], nil
	}
	if *scan == nil {
		*scan = t.list.Scan()
	}
	return (*scan).Next()
}

// build reads the right side of the current unit.
func (j *Join) build() error {
	j.built = true
	if j.now.level == 0 {
		if j.NarrowRight != nil {
			if err := j.narrowRight(); err != nil {
				return err
			}
		}
		if err := j.Right.Open(j.env); err != nil {
			return err
		}
		defer j.Right.Close()
	}
	right := j.now.right.Consume(j.RightTo - j.RightFrom)
	defer right.Close()
	if len(j.RightKeys) > 0 {
		j.table.byKey = map[string][]int{}
	} else {
		j.table.list = j.env.Spill.NewList(j.RightTo - j.RightFrom)
	}
	for {
		ok, err := readRight(j, right)
		if err == nil && ok {
			err = j.keep(j.env.Row[j.RightFrom:j.RightTo])
		}
		if err != nil {
			return err
		}
		if !ok {
			break
		}
	}
	if j.rights == nil && (j.Kind == "right" || j.Kind == "full") {
		if err := j.hold(j.table.len()); err != nil {
			return err
		}
		j.table.matched = make([]bool, j.table.len())
	}
	return j.narrowLeft()
}

// readRight sets the columns of the next right row.
func readRight(j *Join, from *spill.Reader) (bool, error) {
	if j.now.level == 0 {
		return j.Right.Next()
	}
	row, err := from.Next()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	copy(j.env.Row[j.RightFrom:j.RightTo], row)
	return err == nil, err
}

func (j *Join) hold(n int64) error {
	err := j.env.Spill.Hold(n, j.table.held, j.divide)
	if err == nil {
		j.table.held += n
		j.space.Hold(j.table.held)
	}
	return err
}

// keep adds the current row of the right side to the table, or to its part.
func (j *Join) keep(row []types.Datum) error {
	if j.table.list != nil {
		return j.table.list.Append(row)
	}
	null, err := j.key(j.RightKeys)
	if err != nil {
		return err
	}
	if j.NullAware {
		j.rightRows, j.rightNull = true, j.rightNull || null
	}
	if null {
		if j.Kind != "right" && j.Kind != "full" {
			return nil // it has no partner
		}
		j.buf = j.buf[:0]
	}
	if j.rights != nil {
		return j.rights.Append(j.buf, row)
	}
	if _, dup := j.table.byKey[string(j.buf)]; dup && j.On == nil && (j.Kind == "semi" || j.Kind == "anti") {
		return nil // one partner is as good as many
	}
	n := exec.RowSize(row) + int64(len(j.buf)) + 72
	if err := j.hold(n); err != nil {
		return err
	}
	if j.rights != nil || j.table.list != nil {
		// It has just become too much.
		j.env.Release(n)
		j.table.held -= n
		return j.keep(row)
	}
	j.table.rows = append(j.table.rows, types.Own(row))
	if !null {
		j.table.byKey[string(j.buf)] = append(j.table.byKey[string(j.buf)], len(j.table.rows)-1)
	}
	return nil
}

// divide writes the table to parts, which the other rows of the right side and the left side follow. If its rows have
// few different keys, it becomes a list.
func (j *Join) divide() error {
	if j.rights != nil || j.table.list != nil || j.table.matched != nil {
		return nil
	}
	current := slices.Clone(j.env.Row[j.RightFrom:j.RightTo])
	buf := slices.Clone(j.buf)
	rows := j.table.rows
	j.env.Release(j.table.held)
	j.table = table{}
	if j.now.level >= spill.MaxLevel {
		j.table.list = j.env.Spill.NewList(j.RightTo - j.RightFrom)
	} else {
		j.rights, j.lefts = j.env.Spill.NewParts(j.now.level), j.env.Spill.NewParts(j.now.level)
	}
	for _, row := range rows {
		copy(j.env.Row[j.RightFrom:j.RightTo], row)
		if err := j.keep(row); err != nil {
			return err
		}
	}
	copy(j.env.Row[j.RightFrom:j.RightTo], current)
	j.buf = buf
	return nil
}

// nextUnit ends the current unit and begins the next one. It returns false at the end.
func (j *Join) nextUnit() (bool, error) {
	if j.rights != nil {
		if err := j.divideLeft(); err != nil {
			return false, err
		}
	}
	j.endUnit()
	if len(j.waiting) == 0 {
		j.built = true
		return false, nil
	}
	j.now, j.waiting = j.waiting[0], j.waiting[1:]
	j.units++
	j.left = j.now.left.Consume(j.now.left.Width())
	j.unmatched, j.haveLeft = -1, false
	return true, nil
}

// divideLeft writes the left side to parts and makes units of the parts.
func (j *Join) divideLeft() error {
	var row []types.Datum
	for {
		ok, err := j.readLeft()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		null, err := j.key(j.LeftKeys)
		if err != nil {
			return err
		}
		if null {
			if j.Kind != "left" && j.Kind != "full" && j.Kind != "anti" || j.NullAware && j.rightRows {
				continue
			}
			j.buf = j.buf[:0]
		}
		row = row[:0]
		for _, c := range j.LeftColumns {
			row = append(row, j.env.Row[c.From:c.To]...)
		}
		if err := j.lefts.Append(j.buf, row); err != nil {
			return err
		}
	}
	lefts, err := j.lefts.Seal()
	if err != nil {
		return err
	}
	rights, err := j.rights.Seal()
	if err != nil {
		return err
	}
	var all int64
	for _, r := range rights {
		all += r.Rows()
	}
	for i := range lefts {
		level := j.now.level + 1
		if rights[i].Rows() > all/10*9 {
			level = spill.MaxLevel // dividing it again would not help
		}
		j.waiting = append(j.waiting, unit{level, rights[i], lefts[i]})
		j.disk += lefts[i].Size() + rights[i].Size()
	}
	j.lefts, j.rights = nil, nil
	return nil
}

// endUnit releases what belongs to the current unit.
func (j *Join) endUnit() {
	j.scan.Close()
	j.left.Close()
	j.env.Release(j.table.held)
	j.disk += j.table.list.Disk()
	j.table.list.Free()
	j.now.left.Free()
	j.now.right.Free()
	j.table, j.scan, j.left, j.cands = table{}, nil, nil, nil
	j.now.left, j.now.right, j.built = nil, nil, false
}
