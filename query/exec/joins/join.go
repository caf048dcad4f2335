// Package joins joins the rows of two sources, by a hash table of one of them or by comparing each row with each.
// Package plan decides which; the sources, and the rest of a plan, are in package exec.
package joins

import (
	"slices"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// Join joins two sources. The right side is read once and kept in memory, hashed by its keys if the condition has
// equalities; if it does not fit, the statement fails with 53200. A lateral right side is instead opened again for
// every row of the left.
type Join struct {
	Kind        string // "inner", "left", "right", "full"
	Left, Right exec.Source
	// LeftKeys and RightKeys are the sides of the equalities in the condition, with the same type on both sides.
	LeftKeys, RightKeys []exec.Expr
	// On is the rest of the condition, or nil.
	On exec.Expr
	// The ranges of each side's columns in env.Row.
	LeftFrom, LeftTo, RightFrom, RightTo int
	Lateral                              bool

	env     *exec.Env
	built   bool
	rows    [][]types.Datum  // of the right side
	byKey   map[string][]int // indexes into rows
	matched []bool           // by row, for right and full joins
	held    int64
	// The state of the iteration.
	haveLeft  bool
	found     bool // the left row has matched
	cands     []int
	at        int
	unmatched int // index into rows after the left side has ended; -1 before
	got       int64
	buf       []byte
	scratch   work.Scratch
}

func (j *Join) Open(env *exec.Env) error {
	j.free()
	j.env, j.haveLeft, j.unmatched = env, false, -1
	if err := j.Left.Open(env); err != nil {
		return err
	}
	return nil
}

// build reads the right side.
func (j *Join) build() error {
	j.built = true
	if err := j.Right.Open(j.env); err != nil {
		return err
	}
	defer j.Right.Close()
	if len(j.RightKeys) > 0 {
		j.byKey = map[string][]int{}
	}
	for {
		ok, err := j.Right.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		row := slices.Clone(j.env.Row[j.RightFrom:j.RightTo])
		n := exec.RowSize(row) + 8
		if err := j.env.Hold(n); err != nil {
			return err
		}
		j.held += n
		j.rows = append(j.rows, row)
		if j.byKey != nil {
			null, err := j.key(j.RightKeys)
			if err != nil {
				return err
			}
			if !null {
				if err := j.env.Hold(int64(len(j.buf)) + 64); err != nil {
					return err
				}
				j.held += int64(len(j.buf)) + 64
				j.byKey[string(j.buf)] = append(j.byKey[string(j.buf)], len(j.rows)-1)
			}
		}
	}
	if j.Kind == "right" || j.Kind == "full" {
		j.matched = make([]bool, len(j.rows))
	}
	return nil
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

func (j *Join) Next() (bool, error) {
	if j.Lateral {
		return j.nextLateral()
	}
	if !j.built {
		if err := j.build(); err != nil {
			return false, err
		}
	}
	for j.unmatched < 0 {
		if !j.haveLeft {
			ok, err := j.advanceLeft()
			if err != nil {
				return false, err
			}
			if !ok {
				j.unmatched = 0
				break
			}
		}
		ok, err := j.nextPartner()
		if ok || err != nil {
			return ok, err
		}
	}
	// The rows of the right side that matched nothing.
	for ; j.matched != nil && j.unmatched < len(j.rows); j.unmatched++ {
		if !j.matched[j.unmatched] {
			j.nulls(j.LeftFrom, j.LeftTo)
			copy(j.env.Row[j.RightFrom:j.RightTo], j.rows[j.unmatched])
			j.unmatched++
			j.got++
			return true, nil
		}
	}
	return false, nil
}

func (j *Join) advanceLeft() (bool, error) {
	ok, err := j.Left.Next()
	if !ok || err != nil {
		return false, err
	}
	j.haveLeft, j.found, j.at = true, false, 0
	if j.byKey != nil {
		null, err := j.key(j.LeftKeys)
		if err != nil {
			return false, err
		}
		if j.cands = nil; !null {
			j.cands = j.byKey[string(j.buf)]
		}
	}
	return true, nil
}

// nextPartner finds the next matching row of the right side for the current left row. At the end it returns the row of
// NULLs of an outer join.
func (j *Join) nextPartner() (bool, error) {
	count := len(j.rows)
	if j.byKey != nil {
		count = len(j.cands)
	}
	for j.at < count {
		i := j.at
		if j.byKey != nil {
			i = j.cands[i]
		}
		j.at++
		if err := j.env.Step(1); err != nil {
			return false, err
		}
		copy(j.env.Row[j.RightFrom:j.RightTo], j.rows[i])
		if j.On != nil {
			d, err := j.on()
			if err != nil {
				return false, err
			}
			if !d.True() {
				continue
			}
		}
		if j.found = true; j.matched != nil {
			j.matched[i] = true
		}
		j.got++
		return true, nil
	}
	j.haveLeft = false
	if !j.found && (j.Kind == "left" || j.Kind == "full") {
		j.nulls(j.RightFrom, j.RightTo)
		j.got++
		return true, nil
	}
	return false, nil
}

// on evaluates the rest of the condition for the current pair.
func (j *Join) on() (types.Datum, error) {
	around := j.env.Enter(&j.scratch)
	d, err := j.On.Eval(j.env)
	j.env.Leave(around)
	return d, err
}

func (j *Join) nextLateral() (bool, error) {
	for {
		if err := j.env.Step(1); err != nil {
			return false, err
		}
		if !j.haveLeft {
			ok, err := j.Left.Next()
			if !ok || err != nil {
				return false, err
			}
			if err := j.Right.Open(j.env); err != nil {
				return false, err
			}
			j.haveLeft, j.found = true, false
		}
		ok, err := j.Right.Next()
		if err != nil {
			return false, err
		}
		if !ok {
			j.Right.Close()
			j.haveLeft = false
			if !j.found && j.Kind == "left" {
				j.nulls(j.RightFrom, j.RightTo)
				j.got++
				return true, nil
			}
			continue
		}
		if j.On != nil {
			d, err := j.on()
			if err != nil {
				return false, err
			}
			if !d.True() {
				continue
			}
		}
		j.found = true
		j.got++
		return true, nil
	}
}

func (j *Join) nulls(from, to int) { clear(j.env.Row[from:to]) }

func (j *Join) free() {
	if j.env != nil {
		j.env.Release(j.held)
		j.env.Drop(&j.scratch)
	}
	j.held, j.rows, j.byKey, j.matched, j.built = 0, nil, nil, nil, false
}

func (j *Join) Close() {
	j.Left.Close()
	j.Right.Close()
	j.free()
}

func (j *Join) Describe() *exec.Description {
	how := "Nested Loop"
	if len(j.LeftKeys) > 0 && !j.Lateral {
		how = "Hash Join"
	}
	d := &exec.Description{Node: how, Rows: j.got, Examined: -1,
		Children: []*exec.Description{j.Left.Describe(), j.Right.Describe()}}
	if j.Kind != "inner" {
		d.Add("Join Type", j.Kind)
	}
	for i := range j.LeftKeys {
		d.Add("Cond", "("+j.LeftKeys[i].String()+" = "+j.RightKeys[i].String()+")")
	}
	if j.On != nil {
		d.Add("Join Filter", j.On.String())
	}
	return d
}
