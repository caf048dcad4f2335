package query

import (
	"context"
	"strconv"

	"github.com/divandb/divan/query/copying"
	"github.com/divandb/divan/query/cursor"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/writes"
	"github.com/divandb/divan/query/plan"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
)

// copyIn is a COPY FROM STDIN. All rows are written at the end, because they are one transaction, unless the setting
// copying.PartSetting asks for a transaction for every so many rows, which need not fit into one.
type copyIn struct {
	e        *execution
	s        *ast.Copy
	p        *portal
	rows     *copying.Held // nil before the first data
	part     int
	affected int64
}

// newCopyIn makes the portal of COPY FROM STDIN.
func newCopyIn(e *execution, p *portal, s *ast.Copy) {
	in := &copyIn{e: e, s: s, p: p}
	p.in = in
	p.tag = func(int64) string { return "COPY " + strconv.FormatInt(in.affected, 10) }
	p.start = func(ctx context.Context) (cursor.Source, error) {
		err := in.Begin()
		if err == nil {
			err = in.rows.Add(nil, true, func() error { return in.flush(ctx) })
		}
		if err == nil {
			err = in.flush(ctx)
		}
		return nil, in.located(err)
	}
}

// Begin implements pgwire.CopyIn. It returns an error if rows cannot be written in the session's transaction.
func (c *copyIn) Begin() error {
	if c.rows != nil {
		return nil
	}
	ss := c.e.ss
	if err := ss.writable(copyVerb); err != nil {
		return err
	}
	if c.part, _ = strconv.Atoi(ss.vars.Value(copying.PartSetting)); c.part > 0 && ss.inTransaction() {
		return sqlstate.New(sqlstate.ActiveTransaction, "COPY FROM in several transactions cannot run inside a "+
			"transaction block").WithHint("RESET %s, or end the transaction.", copying.PartSetting)
	}
	var cols []copying.Column
	for _, col := range c.e.st.bound.Columns {
		cols = append(cols, copying.Column{Name: col.Name, Type: col.Type})
	}
	c.rows = copying.NewHeld(c.s, cols, &ss.types, ss.memory, c.part, plan.CopyCheck(c.e.st.bound))
	return nil
}

const copyVerb = "COPY FROM"

// Data implements pgwire.CopyIn.
func (c *copyIn) Data(ctx context.Context, data []byte) error {
	err := c.Begin()
	if err != nil {
		return err
	}
	ctx = c.p.within(ctx)
	defer c.p.release()
	if err = c.rows.Add(data, false, func() error { return c.flush(ctx) }); err != nil {
		err = reason(ctx, err)
	}
	return c.located(err)
}

// located says in an error how many rows have been committed before.
func (c *copyIn) located(err error) error {
	if err == nil || c.affected == 0 {
		return err
	}
	return sqlstate.From(err).Within("COPY FROM, after it has committed %d rows", c.affected)
}

// Format implements pgwire.CopyIn.
func (c *copyIn) Format() (binary bool, columns int) {
	return c.s.Format == "binary", len(c.e.st.bound.Columns)
}

// Close releases the rows.
func (c *copyIn) Close() {
	if c.rows != nil {
		c.rows.Close()
	}
}

// flush writes the rows that have been read.
func (c *copyIn) flush(ctx context.Context) error {
	ss, written := c.e.ss, int64(0)
	f := func(tx exec.Transaction) (err error) {
		written, err = c.write(ctx, tx)
		return err
	}
	var err error
	if c.part > 0 {
		err = ss.alone(ctx, c.e.st.bound, f)
	} else {
		err = ss.writing(ctx, copyVerb, c.e.st.bound, f)
	}
	if err != nil {
		return c.rows.Explained(err, c.e.st.bound.Write.ID)
	}
	c.affected += written
	c.rows.Clear()
	return nil
}

// write inserts the rows.
func (c *copyIn) write(ctx context.Context, tx exec.Transaction) (int64, error) {
	st := c.e.state(ctx, nil)
	defer st.Close()
	at := *c.e.st.bound
	at.Db = tx
	root, err := plan.CopyIn(&at, st, c.rows.Rows())
	if err != nil {
		return 0, err
	}
	defer root.Close()
	st.Ctx, st.Tx = ctx, tx
	if err := root.Open(&exec.Env{State: st}); err != nil {
		return 0, err
	}
	return root.(*writes.Modify).Affected(), nil
}

// inTransaction reports whether what is written now belongs to a transaction with other statements.
func (w *storeWriter) inTransaction() bool { return w.tx.inBlock() || w.reads.tx != nil }
