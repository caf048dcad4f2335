package joins

import (
	"errors"
	"io"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/exec/tally"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// datum is short for the type of a value.
type datum = types.Datum

// Hashed returns those rows of its input for which expressions over them equal expressions over the rows of enclosing
// queries. It is opened for each of these. After the input has been read about once, it is kept in a hash table, in
// temporary files if memory is short. The rows of the input depend on no enclosing row.
type Hashed struct {
	Input exec.Source
	// Own are the expressions over the input's rows, and Probe those over the enclosing ones, with the same type. Cond
	// is the conjunction of their equalities.
	Own, Probe []exec.Expr
	Cond       exec.Expr
	// From and To are the columns of the input.
	From, To int

	env     *exec.Env
	table   *spill.Table // nil before it is worth it
	matches spill.Matches
	opens   int
	read    int64 // rows of the input, without table
	got     int64
	runs    tally.Runs
	whole   bool // the input was once read to its end
	open    bool // the input is open
	buf     []byte
	scratch work.Scratch
}

// rowsBeforeTable are read from the input without a table, unless these are all. To open the input costs about as much
// as rowsOfOpen.
const (
	rowsBeforeTable = 2000
	rowsOfOpen      = 50
)

// Open implements exec.Source.
func (h *Hashed) Open(env *exec.Env) error {
	h.env = env
	h.opens++
	h.runs.Begin(&h.got)
	if h.table == nil && h.opens > 1 && (h.whole || h.read+int64(h.opens)*rowsOfOpen >= rowsBeforeTable) {
		if err := h.build(); err != nil {
			return err
		}
	}
	if h.table == nil {
		h.open = true
		return h.Input.Open(env)
	}
	null, err := h.key(h.Probe)
	if err != nil {
		return err
	}
	h.matches = spill.Matches{}
	if !null {
		h.matches = h.table.Find(h.buf)
	}
	return nil
}

// build reads the input into the table.
func (h *Hashed) build() error {
	h.table = h.env.Spill.NewTable(h.To - h.From)
	defer h.Input.Close()
	if err := h.Input.Open(h.env); err != nil {
		return err
	}
	for {
		ok, err := h.Input.Next()
		if err != nil {
			return err
		}
		if !ok {
			return h.table.Done()
		}
		null, err := h.key(h.Own)
		if err == nil && !null {
			err = h.table.Add(h.buf, h.env.Row[h.From:h.To])
		}
		if err == nil {
			err = h.env.Step(1)
		}
		if err != nil {
			return err
		}
	}
}

// key sets buf to a hash of expressions. null is set if one is NULL.
func (h *Hashed) key(list []exec.Expr) (null bool, err error) {
	around := h.env.Enter(&h.scratch)
	defer h.env.Leave(around)
	h.buf = h.buf[:0]
	for _, e := range list {
		d, err := e.Eval(h.env)
		if err != nil || d.IsNull() {
			return true, err
		}
		if h.buf, err = h.env.Hash(h.buf, d); err != nil {
			return false, err
		}
	}
	return false, nil
}

// Next implements exec.Source.
func (h *Hashed) Next() (bool, error) {
	if h.table != nil {
		row, err := h.matches.Next()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		copy(h.env.Row[h.From:h.To], row)
		h.got++
		return true, h.env.Step(1)
	}
	for {
		ok, err := h.Input.Next()
		if err != nil {
			return false, err
		}
		if !ok {
			h.whole = true
			return false, nil
		}
		h.read++
		around := h.env.Enter(&h.scratch)
		holds, err := exec.Holds(h.env, h.Cond)
		h.env.Leave(around)
		if err == nil {
			err = h.env.Step(1)
		}
		if err != nil {
			return false, err
		}
		if holds {
			h.got++
			return true, nil
		}
	}
}

// Close implements exec.Source. The table is kept for the next Open; it ends with the statement.
func (h *Hashed) Close() {
	if h.open {
		h.Input.Close()
		h.open = false
	}
	if h.env != nil {
		h.env.Drop(&h.scratch)
	}
}

// Describe implements exec.Source.
func (h *Hashed) Describe() *exec.Description {
	d := &exec.Description{Node: "Hash Lookup", Examined: -1, Children: []*exec.Description{h.Input.Describe()}}
	d.Rows, d.Loops = h.runs.Total(h.got)
	d.Exprs = append(d.Exprs, h.Cond)
	d.Add("Hash Cond", h.Cond.String())
	d.Disk(h.table.Disk())
	return d
}
