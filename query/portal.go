package query

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// portal is a statement ready to run, or running.
type portal struct {
	name    string
	ss      *session
	columns []pgwire.Column
	formats []int16
	types   []types.OID
	// rows gives the result; start makes it at the first Next. A command does its work in start and gives no rows.
	start func(ctx context.Context) (rowSource, error)
	rows  rowSource
	tag   func(rows int64) string
	copy  *copier
	reads *bind.Bound // of a query
	hold  bool
	done  bool
	// text is what opened it, at when, and declared that it is a cursor.
	text     string
	at       time.Time
	declared bool
	// elsewhere says that the statement that runs was sent before, so that its places are not those of this one.
	elsewhere bool
	ended     bool // the end was told: a command is not run again
	// ends says that the statement may end a failed transaction. opened is its number among the session's portals.
	ends   bool
	opened int64
	row    []types.Datum
	// Where the statement stands in what the client sent, for error positions.
	query  string
	offset int
	// parent is the context of the call under way; ctx is it with the statement's timeout.
	parent context.Context
	ctx    context.Context
	stop   context.CancelFunc
	// position is how many rows a cursor has given.
	position int64
	// prepared holds the memory of a statement that belongs to this portal alone.
	prepared *work.Work
	// held is what the parameters hold of the session's memory.
	held int64
	// sent is what long values of the row being sent hold of the session's memory.
	sent int64
	// began is when the statement was received, where its time counts from there.
	began time.Time
	// hurry is set once a call with a limit has a row: a feed that has no more for now ends the call.
	hurry bool
}

// rowSource is a running result.
type rowSource interface {
	// next returns a row or io.EOF. With noWait it returns exec.ErrIdle instead of waiting for a change; it may be
	// called again then.
	next(ctx context.Context, noWait bool) ([]types.Datum, error)
	close()
}

// planRows runs a plan.
type planRows struct {
	plan  exec.Plan
	st    *exec.State
	open  bool
	unpin func()
}

func (r *planRows) next(ctx context.Context, noWait bool) ([]types.Datum, error) {
	r.st.Ctx, r.st.NoWait = ctx, noWait
	if !r.open {
		r.open = true
		if err := r.plan.Open(&exec.Env{State: r.st}); err != nil {
			return nil, err
		}
	}
	return r.plan.Next()
}

func (r *planRows) close() {
	r.plan.Close()
	r.unpin()
	r.st.Close()
}

// fixedRows is a result that is known already.
type fixedRows struct{ rows [][]types.Datum }

func (r *fixedRows) next(context.Context, bool) ([]types.Datum, error) {
	if len(r.rows) == 0 {
		return nil, io.EOF
	}
	row := r.rows[0]
	r.rows = r.rows[1:]
	return row, nil
}

func (r *fixedRows) close() {}

// Columns implements pgwire.Portal.
func (p *portal) Columns() []pgwire.Column { return p.columns }

// Formats implements pgwire.Portal.
func (p *portal) Formats() []int16 { return p.formats }

// Copy implements pgwire.Portal.
func (p *portal) Copy() *pgwire.CopyOut {
	if p.copy == nil {
		return nil
	}
	return &pgwire.CopyOut{Binary: p.copy.binary(), Columns: len(p.columns)}
}

// Tag implements pgwire.Portal.
func (p *portal) Tag(rows int64) string { return p.tag(rows) }

// within gives the context of this call its timeout, once per call and not once per row.
func (p *portal) within(ctx context.Context) context.Context {
	if p.parent == ctx {
		return p.ctx
	}
	p.release()
	p.parent, p.ctx = ctx, ctx
	if d := p.ss.vars.statementTimeout(); d > 0 {
		if !p.began.IsZero() {
			d -= time.Since(p.began)
		}
		p.ctx, p.stop = context.WithTimeoutCause(ctx, d, errTimeout)
	}
	return p.ctx
}

func (p *portal) release() {
	if p.stop != nil {
		p.stop()
	}
	p.parent, p.ctx, p.stop = nil, nil, nil
}

// Next implements pgwire.Portal.
func (p *portal) Next(ctx context.Context) error {
	if p.done {
		if p.ended && (p.copy != nil || p.columns == nil && p.tag(0) != "") {
			return sqlstate.New(sqlstate.ObjectNotInPrerequisite, "portal %q cannot be run", p.name)
		}
		p.ended = true
		return io.EOF
	}
	if p.sent > 0 {
		p.ss.memory.Shrink(p.sent)
		p.sent = 0
	}
	again := p.rows != nil && p.parent != ctx
	call := p.within(ctx)
	var err error
	if again {
		if r, running := p.rows.(*planRows); running {
			r.st.Resume()
		}
		err = p.recheck(call)
	}
	if err == nil {
		err = p.advance(call)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrIdle):
		return pgwire.ErrSuspended
	}
	if !errors.Is(err, io.EOF) {
		if call.Err() != nil {
			err = context.Cause(call)
		}
		if p.elsewhere {
			err = placeless(err)
		}
		err = located(err, p.query, p.offset)
	}
	p.Close()
	if errors.Is(err, io.EOF) && p.copy != nil && p.copy.finish() {
		return nil
	}
	p.ended = true
	return err
}

// recheck fails where a result that was begun in an earlier message may not be read any more.
func (p *portal) recheck(ctx context.Context) error {
	if p.rows == nil || p.reads == nil || !p.reads.UsesStore() {
		return nil
	}
	return p.ss.access.recheck(ctx)
}

func (p *portal) advance(ctx context.Context) (err error) {
	if p.rows == nil {
		if p.rows, err = p.start(ctx); err != nil {
			return err
		}
		if p.rows == nil {
			return io.EOF // a command
		}
	}
	if p.copy != nil && p.copy.begin() {
		return nil
	}
	if p.row, err = p.rows.next(ctx, p.hurry); err != nil {
		return err
	}
	p.ss.mu.Lock()
	p.ss.mu.rows++
	p.ss.mu.Unlock()
	if p.copy != nil {
		// A line has every value, and one is twice beside it while it is escaped.
		var n, longest int64
		for _, d := range p.row {
			size := types.TextSize(d)
			n, longest = n+size, max(longest, size)
		}
		if err := p.sending(n + 2*longest); err != nil {
			return err
		}
		return p.copy.row(p.row)
	}
	return nil
}

// Hurry implements pgwire.Portal.
func (p *portal) Hurry(on bool) { p.hurry = on }

// Append implements pgwire.Portal.
func (p *portal) Append(dst []byte, i int) ([]byte, bool, error) {
	if p.copy != nil {
		return append(dst, p.copy.line...), false, nil
	}
	d := p.row[i]
	if d.IsNull() {
		return dst, true, nil
	}
	if err := p.sending(types.TextSize(d)); err != nil {
		return dst, false, err
	}
	if p.formats[i] == 1 {
		dst, err := types.AppendBinary(dst, d, p.types[i], &p.ss.types)
		return dst, false, err
	}
	if d.K == types.KJSON {
		return append(dst, d.S...), false, nil // a document's own text
	}
	return types.AppendText(dst, d, p.types[i], &p.ss.types), false, nil
}

// sending counts a long value of the row that is about to be made for the client, until the next row.
func (p *portal) sending(n int64) error {
	if n < longValue {
		return nil
	}
	if err := p.ss.memory.Grow(n); err != nil {
		return err
	}
	p.sent += n
	return nil
}

// longValue is from which length a value that is sent is counted.
const longValue = 64 << 10

// Close implements pgwire.Portal.
func (p *portal) Close() {
	p.done = true
	if p.rows != nil {
		p.rows.close()
		p.rows = nil
	}
	if p.prepared != nil {
		p.prepared.Close()
	}
	p.ss.memory.Shrink(p.held + p.sent)
	p.held, p.sent = 0, 0
	p.release()
}
