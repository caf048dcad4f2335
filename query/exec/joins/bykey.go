package joins

import (
	"errors"
	"io"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/exec/tally"
)

// ByKey reads a relation by values that are known when it is opened: a column of an enclosing query or of an item of
// FROM before a lateral one, or the rows of a sub-query. It may return further rows.
type ByKey struct {
	Scan *exec.Scan
	// Key is the value, or In the sub-query.
	Key exec.Expr
	In  *exec.Subquery
	// Name is the name of the column that the relation is read by, and Column its place.
	Name   string
	Column int
	// Relation identifies the relation of Scan for Ahead, and From and To are its columns.
	Relation any
	From, To int

	env     *exec.Env
	rows    *spill.Table // of the batch that the value belongs to; nil if it is read alone
	matches spill.Matches
	buf     []byte
	got     int64
	runs    tally.Runs
	batches int64
}

// Open implements exec.Source.
func (b *ByKey) Open(env *exec.Env) error {
	b.env, b.rows = env, nil
	b.runs.Begin(&b.got)
	b.Scan.Widen()
	var keys exec.KeySet
	if b.In != nil {
		if err := b.collect(&keys); err != nil {
			return err
		}
		if keys.Many {
			return b.Scan.Open(env)
		}
	} else {
		d, err := b.Key.Eval(env)
		if err == nil && !d.IsNull() {
			if batch := env.Batch(b.Relation); batch != nil {
				if b.buf, err = env.Hash(b.buf[:0], d); err == nil && batch.Keys.Has(b.buf) {
					return b.find(batch)
				}
			}
			keys.Values = append(keys.Values, d)
		}
		if err != nil {
			return err
		}
	}
	if err := b.Scan.Narrow(keys.Values); err != nil {
		return err
	}
	return b.Scan.Open(env)
}

// collect adds the rows of the sub-query.
func (b *ByKey) collect(keys *exec.KeySet) error {
	rows, err := b.In.Values(b.env)
	if err != nil {
		return err
	}
	defer rows.Close()
	for !keys.Many {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = keys.Add(b.env, row[0])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// find finds the rows of the value, whose hash is in buf, among those of its batch.
func (b *ByKey) find(batch *exec.Batch) error {
	if batch.Rows == nil {
		hash := append([]byte(nil), b.buf...)
		batch.Rows = b.env.Spill.NewTable(b.To - b.From)
		if err := b.fill(batch); err != nil {
			return err
		}
		b.buf = hash
	}
	b.rows = batch.Rows
	b.matches = b.rows.Find(b.buf)
	return nil
}

// fill reads the rows of a batch.
func (b *ByKey) fill(batch *exec.Batch) error {
	b.batches++
	if err := b.Scan.Narrow(batch.Keys.Values); err != nil {
		return err
	}
	defer b.Scan.Close()
	if err := b.Scan.Open(b.env); err != nil {
		return err
	}
	for {
		ok, err := b.Scan.Next()
		if err != nil {
			return err
		}
		if !ok {
			return batch.Rows.Done()
		}
		if b.buf, err = b.env.Hash(b.buf[:0], b.env.Row[b.Column]); err == nil {
			err = batch.Rows.Add(b.buf, b.env.Row[b.From:b.To])
		}
		if err != nil {
			return err
		}
	}
}

// Next implements exec.Source.
func (b *ByKey) Next() (bool, error) {
	if b.rows == nil {
		ok, err := b.Scan.Next()
		if ok {
			b.got++
		}
		return ok, err
	}
	row, err := b.matches.Next()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	copy(b.env.Row[b.From:b.To], row)
	b.got++
	return true, b.env.Step(1)
}

// Close implements exec.Source.
func (b *ByKey) Close() { b.Scan.Close() }

// Describe adds the key to the node of the scan.
func (b *ByKey) Describe() *exec.Description {
	d := b.Scan.Describe()
	if b.In != nil {
		d.Add("Read By", b.Name+" = ANY ("+b.In.Label()+")")
		d.Exprs = append(d.Exprs, b.In)
		return d
	}
	d.Add("Read By", b.Name+" = "+b.Key.String())
	if b.batches > 0 {
		d.Rows, d.Loops = b.runs.Total(b.got)
		d.Add("Batches", b.batches)
	}
	d.Exprs = append(d.Exprs, b.Key)
	return d
}
