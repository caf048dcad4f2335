package exec

import (
	"errors"
	"io"
	"slices"

	"github.com/divandb/divan/query/types"
)

// WorkTable identifies the rows of a recursive query's last round. The rows themselves are in the State.
type WorkTable struct{ Name string }

// Recursive is WITH RECURSIVE: the first query's rows, then the second query over the rows of the last round, until a
// round returns none.
type Recursive struct {
	First, Step Plan
	Work        *WorkTable
	// Distinct drops duplicate rows (UNION without ALL).
	Distinct bool
	outer    *Env
	seen     map[string]struct{}
	round    Plan
	next     [][]types.Datum // the rows of this round, input of the next
	held     int64           // by next
	working  int64           // by the last round
	known    int64           // by seen
	rows     int64
	buf      []byte
}

func (r *Recursive) Open(outer *Env) error {
	r.free()
	r.outer, r.round, r.next = outer, r.First, nil
	if r.Distinct {
		r.seen = map[string]struct{}{}
	}
	return r.First.Open(outer)
}

func (r *Recursive) Next() ([]types.Datum, error) {
	for {
		row, err := r.round.Next()
		if errors.Is(err, io.EOF) {
			r.round.Close()
			if len(r.next) == 0 {
				return nil, io.EOF
			}
			if r.outer.rounds == nil {
				r.outer.State.rounds = map[*WorkTable][][]types.Datum{}
			}
			r.outer.Release(r.working)
			r.outer.rounds[r.Work], r.working, r.next, r.held = r.next, r.held, nil, 0
			r.round = r.Step
			if err := r.round.Open(r.outer); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := r.outer.Step(1); err != nil {
			return nil, err
		}
		if fresh, err := r.fresh(row); err != nil {
			return nil, err
		} else if !fresh {
			continue
		}
		row = slices.Clone(row)
		n := RowSize(row)
		if err := r.outer.Hold(n); err != nil {
			return nil, err
		}
		r.held += n
		r.next = append(r.next, row)
		r.rows++
		return row, nil
	}
}

// fresh reports whether a row is not a duplicate, if Distinct is set.
func (r *Recursive) fresh(row []types.Datum) (bool, error) {
	if !r.Distinct {
		return true, nil
	}
	r.buf = r.buf[:0]
	for _, d := range row {
		var err error
		if r.buf, err = r.outer.Hash(r.buf, d); err != nil {
			return false, err
		}
	}
	if _, dup := r.seen[string(r.buf)]; dup {
		return false, nil
	}
	n := int64(len(r.buf)) + 48
	if err := r.outer.Hold(n); err != nil {
		return false, err
	}
	r.known += n
	r.seen[string(r.buf)] = struct{}{}
	return true, nil
}

func (r *Recursive) free() {
	if r.outer != nil {
		r.outer.Release(r.held + r.working + r.known)
		delete(r.outer.rounds, r.Work)
	}
	r.held, r.working, r.known, r.seen, r.next = 0, 0, 0, nil, nil
}

// Close implements Plan.
func (r *Recursive) Close() {
	r.First.Close()
	r.Step.Close()
	r.free()
}

// Describe implements Plan.
func (r *Recursive) Describe() *Description {
	return &Description{Node: "Recursive Union", Rows: r.rows, Examined: -1,
		Children: []*Description{r.First.Describe(), r.Step.Describe()}}
}

// WorkScan reads the rows of the last round.
type WorkScan struct {
	Work        *WorkTable
	Base, Width int
	env         *Env
	rows        [][]types.Datum
	at          int
}

func (w *WorkScan) Open(env *Env) error {
	w.env, w.rows, w.at = env, env.rounds[w.Work], 0
	return nil
}

func (w *WorkScan) Next() (bool, error) {
	if w.at >= len(w.rows) {
		return false, nil
	}
	copy(w.env.Row[w.Base:w.Base+w.Width], w.rows[w.at])
	w.at++
	return true, w.env.Step(1)
}

// Close implements Source.
func (w *WorkScan) Close() {}

// Describe implements Source.
func (w *WorkScan) Describe() *Description {
	return &Description{Node: "WorkTable Scan on " + w.Work.Name, Rows: int64(w.at), Examined: -1}
}
