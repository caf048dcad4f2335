// Package joins joins the rows of two sources, by a hash table of one of them or by comparing each row with each.
// Package plan decides which; the sources, and the rest of a plan, are in package exec.
package joins

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/exec/tally"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// Join joins two sources. The right side is read once and kept in memory, hashed by its keys if the condition has
// equalities. If it does not fit, both sides are divided by the hashes of their keys into parts in temporary files,
// which are joined one after the other; without keys, the right side is read from such a file for each row of the left.
// A lateral right side is instead opened again for every row of the left.
type Join struct {
	// Kind is "inner", "left", "right", "full", "semi" (the rows of the left that have a partner) or "anti" (those that
	// have none). The last two leave the columns of the right undefined.
	Kind        string
	Left, Right exec.Source
	// LeftKeys and RightKeys are the sides of the equalities in the condition, with the same type on both sides.
	LeftKeys, RightKeys []exec.Expr
	// On is the rest of the condition, or nil.
	On exec.Expr
	// The columns of the left side in env.Row, as ranges, and those of the right side.
	LeftColumns        []exec.Range
	RightFrom, RightTo int
	Lateral            bool
	// NullAware makes an anti-join of one key the join of NOT IN: unless the right side has no rows, a NULL key of the
	// left side drops its row, and a NULL key of the right side drops all rows.
	NullAware bool
	// NarrowRight, for kinds that return no rows of the right side alone, and NarrowLeft, for those that return none of
	// the left side alone, read a side by the keys of the other one if these are few. nil: all of it is read.
	NarrowRight, NarrowLeft *Narrowing

	env   *exec.Env
	built bool
	table table
	// The state of the iteration.
	haveLeft bool
	found    bool // the left row has matched
	cands    []int
	at       int64
	scan     *spill.Scan // of table.list, for the current left row
	// unmatched is the next row of the right side to be checked for having matched, after the left side has ended; -1
	// before.
	unmatched int64
	got       int64
	runs      tally.Runs
	space     tally.Space
	units     int64 // parts that were joined
	buf       []byte
	leftKey   []byte // of the current left row, if table.list has keys
	scratch   work.Scratch
	// rightRows and rightNull are set, for NullAware, if the right side has rows and if one has a NULL key.
	rightRows, rightNull bool

	now     unit          // being joined
	left    *spill.Reader // of now
	waiting []unit
	// rights and lefts are set when the right side of now did not fit and both sides go to parts.
	rights, lefts *spill.Parts
	// ahead are the rows of the left side that were read first, to narrow the right side.
	ahead     *spill.List
	aheadScan *spill.Scan
	leftEnded bool // after ahead
	disk      int64
}

// unit is a part of both sides. At level 0 it is everything, and the runs are nil.
type unit struct {
	level       int
	right, left *spill.Run
}

func (j *Join) Open(env *exec.Env) error {
	j.free()
	j.env, j.haveLeft, j.unmatched, j.rightRows, j.rightNull = env, false, -1, false, false
	j.runs.Begin(&j.got)
	if j.NarrowLeft != nil {
		j.NarrowLeft.Scan.Widen()
	}
	return j.Left.Open(env)
}

func (j *Join) Next() (bool, error) {
	if j.Lateral {
		return j.nextLateral()
	}
	for {
		if !j.built {
			if err := j.build(); err != nil {
				return false, err
			}
		}
		if j.rightNull {
			return false, nil
		}
		if j.rights == nil {
			ok, err := j.nextOfUnit()
			if ok || err != nil {
				return ok, err
			}
		}
		more, err := j.nextUnit()
		if !more || err != nil {
			return false, err
		}
	}
}

// nextOfUnit returns the next row of the current unit.
func (j *Join) nextOfUnit() (bool, error) {
	for j.unmatched < 0 {
		if !j.haveLeft {
			ok, err := j.advanceLeft()
			if err != nil {
				return false, err
			}
			if !ok {
				j.unmatched = 0
				j.scan.Close()
				j.scan = nil
				break
			}
			if !j.haveLeft {
				continue
			}
		}
		ok, err := j.nextPartner()
		if ok || err != nil {
			return ok, err
		}
	}
	// The rows of the right side that matched nothing.
	for j.table.matched != nil {
		row, err := j.table.next(&j.scan, j.unmatched)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, err
		}
		j.unmatched++
		if !j.table.matched[j.unmatched-1] {
			for _, c := range j.LeftColumns {
				clear(j.env.Row[c.From:c.To])
			}
			copy(j.env.Row[j.RightFrom:j.RightTo], row)
			j.got++
			return true, nil
		}
		if err := j.env.Step(1); err != nil {
			return false, err
		}
	}
	return false, nil
}

// readLeft sets the columns of the next left row.
func (j *Join) readLeft() (bool, error) {
	if j.now.level == 0 {
		return j.nextLeft()
	}
	row, err := j.left.Next()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	restore(j.env, j.LeftColumns, row)
	return true, nil
}

func (j *Join) advanceLeft() (bool, error) {
	ok, err := j.readLeft()
	if !ok || err != nil {
		return false, err
	}
	j.haveLeft, j.found, j.at, j.cands = true, false, 0, nil
	j.scan.Close()
	j.scan = nil
	if len(j.LeftKeys) == 0 {
		return true, nil
	}
	null, err := j.key(j.LeftKeys)
	if err != nil {
		return false, err
	}
	switch {
	case null && j.NullAware && j.rightRows:
		j.haveLeft = false // its row is dropped
	case null && j.table.list != nil:
		j.at = j.table.len() // no partners
	case null:
	case j.table.list != nil:
		j.leftKey = append(j.leftKey[:0], j.buf...)
	default:
		j.cands = j.table.byKey[string(j.buf)]
	}
	return true, nil
}

// candidate returns the next row of the right side that may match, and its number, or io.EOF.
func (j *Join) candidate() ([]types.Datum, int64, error) {
	if j.table.list == nil {
		if j.at >= int64(len(j.cands)) {
			return nil, 0, io.EOF
		}
		i := j.cands[j.at]
		j.at++
		return j.table.rows[i], int64(i), j.env.Step(1)
	}
	row, err := j.table.next(&j.scan, j.at)
	if err == nil {
		err = j.env.Step(1)
	}
	j.at++
	return row, j.at - 1, err
}

// nextPartner finds the next matching row of the right side for the current left row. At the end it returns the row of
// NULLs of an outer join.
func (j *Join) nextPartner() (bool, error) {
	for {
		row, i, err := j.candidate()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, err
		}
		copy(j.env.Row[j.RightFrom:j.RightTo], row)
		if ok, err := j.matches(); err != nil {
			return false, err
		} else if !ok {
			continue
		}
		if j.found = true; j.table.matched != nil {
			j.table.matched[i] = true
		}
		if j.Kind == "anti" {
			break
		}
		j.haveLeft = j.Kind != "semi"
		j.got++
		return true, nil
	}
	j.haveLeft = false
	if !j.found && (j.Kind == "left" || j.Kind == "full" || j.Kind == "anti") {
		clear(j.env.Row[j.RightFrom:j.RightTo])
		j.got++
		return true, nil
	}
	return false, nil
}

// matches evaluates the condition for the current pair, apart from keys that were found by their hash.
func (j *Join) matches() (bool, error) {
	if j.table.list != nil && len(j.RightKeys) > 0 {
		null, err := j.key(j.RightKeys)
		if err != nil || null || string(j.buf) != string(j.leftKey) {
			return false, err
		}
	}
	if j.On == nil {
		return true, nil
	}
	return j.on()
}

// on evaluates the rest of the condition for the current pair.
func (j *Join) on() (bool, error) {
	around := j.env.Enter(&j.scratch)
	holds, err := exec.Holds(j.env, j.On)
	j.env.Leave(around)
	return holds, err
}

// key sets buf to a hash of the keys of the current row. null is set if one is NULL, which matches nothing.
func (j *Join) key(keys []exec.Expr) (null bool, err error) {
	around := j.env.Enter(&j.scratch)
	defer j.env.Leave(around)
	j.buf = j.buf[:0]
	for _, k := range keys {
		d, err := k.Eval(j.env)
		if err != nil {
			return false, err
		}
		if d.IsNull() {
			return true, nil
		}
		if j.buf, err = j.env.Hash(j.buf, d); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (j *Join) free() {
	if j.env == nil {
		return
	}
	j.endUnit()
	for _, u := range j.waiting {
		u.left.Free()
		u.right.Free()
	}
	j.rights.Free()
	j.lefts.Free()
	j.env.Drop(&j.scratch)
	j.endAhead()
	j.now, j.waiting, j.rights, j.lefts = unit{}, nil, nil, nil
}

func (j *Join) Close() {
	j.Left.Close()
	j.Right.Close()
	j.free()
}

func (j *Join) Describe() *exec.Description {
	d := &exec.Description{Node: "Nested Loop", Join: j.Kind, Examined: -1,
		Children: []*exec.Description{j.Left.Describe(), j.Right.Describe()}}
	d.Rows, d.Loops = j.runs.Total(j.got)
	d.Exprs = slices.Concat(j.LeftKeys, j.RightKeys)
	if len(j.LeftKeys) > 0 && !j.Lateral {
		d.Node = "Hash Join"
		j.space.Disk, j.space.Batches = j.disk, 1+j.units
		d.Space = &j.space
		conds := make([]string, len(j.LeftKeys))
		for i := range j.LeftKeys {
			conds[i] = "(" + j.LeftKeys[i].String() + " = " + j.RightKeys[i].String() + ")"
		}
		text := strings.Join(conds, " AND ")
		if len(conds) > 1 {
			text = "(" + text + ")"
		}
		d.Add("Hash Cond", text)
	}
	if j.On != nil {
		d.Add("Join Filter", j.On.String())
		d.Conds, d.Exprs = append(d.Conds, j.On), append(d.Exprs, j.On)
	}
	for _, n := range []*Narrowing{j.NarrowRight, j.NarrowLeft} {
		if n != nil {
			d.Add("Read By Key", n.Name+", if the other side has few")
		}
	}
	if d.Space == nil {
		d.Disk(j.disk)
	}
	return d
}
