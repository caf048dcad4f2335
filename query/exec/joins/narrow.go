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

// keySet collects different values.
type keySet struct {
	values []types.Datum
	seen   map[string]struct{}
	many   bool // more than exec.MaxKeys, which are not collected
}

func (k *keySet) add(env *exec.Env, d types.Datum, buf *[]byte) (err error) {
	if k.many || d.IsNull() {
		return nil
	}
	if *buf, err = env.Hash((*buf)[:0], d); err != nil {
		return err
	}
	if _, dup := k.seen[string(*buf)]; dup {
		return nil
	}
	if len(k.values) == exec.MaxKeys {
		k.values, k.seen, k.many = nil, nil, true
		return nil
	}
	if k.seen == nil {
		k.seen = map[string]struct{}{}
	}
	k.seen[string(*buf)] = struct{}{}
	k.values = append(k.values, d.Own())
	return nil
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
	var keys keySet
	row := make([]types.Datum, 0, width)
	for j.ahead.Len() < aheadRows && !keys.many {
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
			err = keys.add(j.env, d, &j.buf)
		}
		j.env.Leave(around)
		if err != nil {
			return err
		}
	}
	j.aheadScan = j.ahead.Scan()
	if !j.leftEnded || keys.many {
		return nil
	}
	return n.Scan.Narrow(keys.values)
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
	var keys keySet
	for _, row := range j.table.rows {
		copy(j.env.Row[j.RightFrom:j.RightTo], row)
		around := j.env.Enter(&j.scratch)
		d, err := j.RightKeys[n.Key].Eval(j.env)
		if err == nil {
			err = keys.add(j.env, d, &j.buf)
		}
		j.env.Leave(around)
		if err != nil {
			return err
		}
	}
	if keys.many {
		return nil
	}
	return n.Scan.Narrow(keys.values)
}

// endAhead releases the rows that were read ahead.
func (j *Join) endAhead() {
	j.aheadScan.Close()
	j.ahead.Free()
	j.ahead, j.aheadScan, j.leftEnded = nil, nil, false
}

// ByKey reads a relation by values that are known when it is opened: a column of an enclosing query or of an item of
// FROM before a lateral one, or the rows of a sub-query.
type ByKey struct {
	Input exec.Source // reads Scan
	Scan  *exec.Scan
	// Key is the value, or In the sub-query.
	Key exec.Expr
	In  *exec.Subquery
	// Name is the name of the column.
	Name string
	env  *exec.Env
}

// Open implements exec.Source.
func (b *ByKey) Open(env *exec.Env) error {
	b.env = env
	b.Scan.Widen()
	var values []types.Datum
	if b.In == nil {
		d, err := b.Key.Eval(env)
		if err != nil {
			return err
		}
		if !d.IsNull() {
			values = append(values, d)
		}
	} else {
		rows, err := b.In.Values(env)
		if err != nil {
			return err
		}
		defer rows.Close()
		var keys keySet
		var buf []byte
		for !keys.many {
			row, err := rows.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				err = keys.add(env, row[0], &buf)
			}
			if err != nil {
				return err
			}
		}
		if keys.many {
			return b.Input.Open(env)
		}
		values = keys.values
	}
	if err := b.Scan.Narrow(values); err != nil {
		return err
	}
	return b.Input.Open(env)
}

// Next implements exec.Source.
func (b *ByKey) Next() (bool, error) { return b.Input.Next() }

// Close implements exec.Source.
func (b *ByKey) Close() { b.Input.Close() }

// Describe adds the key to the node below.
func (b *ByKey) Describe() *exec.Description {
	d := b.Input.Describe()
	if b.In != nil {
		d.Add("Read By", b.Name+" = ANY (SubPlan)")
	} else {
		d.Add("Read By", b.Name+" = "+b.Key.String())
	}
	return d
}
