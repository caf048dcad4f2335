package query

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/copying"
	"github.com/divandb/divan/query/cursor"
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
	// rows is the result. start makes it at the first Next. The start of a command does its work and returns no rows.
	start func(ctx context.Context) (cursor.Source, error)
	rows  cursor.Source
	tag   func(rows int64) string
	copy  *copying.Out
	in    *copyIn
	reads *bind.Bound // of a query
	hold  bool
	done  bool
	// text is the statement that opened it, at is when, and binary is set for a binary cursor.
	text   string
	at     time.Time
	binary bool
	// elsewhere is set if the running statement was sent earlier, so that positions in it are not positions in this
	// one.
	elsewhere bool
	ended     bool // the end has been returned: a command is not run again
	// ends reports whether the statement may end a failed transaction. opened is its number among the session's
	// portals.
	ends   bool
	opened int64
	row    []types.Datum
	// The position of the statement in what the client sent, for errors.
	query  string
	offset int
	// parent is the context of the current call. ctx adds the statement's timeout.
	parent context.Context
	ctx    context.Context
	stop   context.CancelFunc
	// drawn is the number of rows that were read, without those of a cursor, back how a cursor goes back.
	drawn  int64
	back   cursor.Backward
	failed bool // a FETCH from it failed: it cannot be used any more
	// prepared holds the memory of a statement that only this portal uses.
	prepared *work.Work
	// held is the session's memory reserved for the parameters.
	held int64
	// sent is the session's memory reserved for long values of the row being sent.
	sent int64
	// settled is set if the statement has been committed, so that it cannot be cancelled any more.
	settled bool
	// began is when the statement was received, if its timeout starts then.
	began time.Time
	// noWait is set after the first row of a call with a limit: a feed without further rows then ends the call.
	noWait bool
}

// Columns implements pgwire.Portal.
func (p *portal) Columns() []pgwire.Column { return p.columns }

// Formats implements pgwire.Portal.
func (p *portal) Formats() []int16 { return p.formats }

// Copy implements pgwire.Portal.
func (p *portal) Copy() *pgwire.CopyOut {
	if p.copy == nil {
		return nil
	}
	return &pgwire.CopyOut{Binary: p.copy.Binary(), Columns: len(p.columns)}
}

// CopyIn implements pgwire.Portal.
func (p *portal) CopyIn() pgwire.CopyIn {
	if p.in == nil || p.done {
		return nil
	}
	return p.in
}

// Tag implements pgwire.Portal.
func (p *portal) Tag(rows int64) string { return p.tag(rows) }

// within adds the timeout to the context of this call, once per call and not once per row.
func (p *portal) within(ctx context.Context) context.Context {
	if p.parent == ctx {
		return p.ctx
	}
	p.release()
	p.parent, p.ctx = ctx, p.ss.traced.within(ctx)
	if d := p.ss.vars.StatementTimeout(); d > 0 {
		if !p.began.IsZero() {
			d -= time.Since(p.began)
		}
		p.ctx, p.stop = context.WithTimeoutCause(p.ctx, d, errTimeout)
	}
	if p.settled {
		p.settle()
	}
	return p.ctx
}

// settle is called when the statement has been committed: its rows are sent even if it is cancelled.
func (p *portal) settle() { p.settled, p.ctx = true, context.WithoutCancel(p.ctx) }

// Settled implements pgwire.Portal.
func (p *portal) Settled() bool { return p.settled }

// reason returns the error of a call: why it was cancelled, if it was, unless err says what has become of a commit.
func reason(call context.Context, err error) error {
	var e *sqlstate.Error
	if call.Err() == nil || errors.As(err, &e) && e.Code == sqlstate.CommitUnknown {
		return err
	}
	return context.Cause(call)
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
		if p.ended && (p.copy != nil || p.in != nil || p.columns == nil && p.tag(0) != "") {
			return errCannotRun(p.name)
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
		if st := cursor.State(p.rows); st != nil {
			st.Resume()
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
		if p.settled {
			call = p.ctx
		}
		err = reason(call, err)
		if p.elsewhere {
			err = withoutPosition(err)
		}
		err = located(err, p.query, p.offset)
	} else if _, scrolls := p.rows.(*cursor.Rows); scrolls {
		p.release()
		return err // it may go back
	}
	p.Close()
	if errors.Is(err, io.EOF) && p.copy != nil && p.copy.Finish() {
		return nil
	}
	p.ended = true
	return err
}

func errCannotRun(name string) error {
	return sqlstate.New(sqlstate.ObjectNotInPrerequisite, `portal "%s" cannot be run`, name)
}

// recheck returns an error if the user may no longer read the data of a result that was begun in an earlier message.
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
		if p.settled {
			ctx = p.ctx
		}
	}
	if p.copy != nil && p.copy.Begin() {
		return nil
	}
	if p.row, err = p.rows.Next(ctx, p.noWait); err != nil {
		return err
	}
	p.ss.rows.Add(1)
	p.drawn++
	if p.copy == nil {
		return nil
	}
	if err := p.copying(); err != nil {
		return err
	}
	return p.copy.Row(p.row)
}

// copying reserves memory for a long line. It holds all values, plus one of them a second time while it is escaped.
func (p *portal) copying() error {
	short := true
	for i := range p.row {
		short = short && types.ShortText(p.row[i], longValue/3/len(p.row))
	}
	if short {
		return nil
	}
	var n, longest int64
	for _, d := range p.row {
		size := types.TextSize(d)
		n, longest = n+size, max(longest, size)
	}
	return p.sending(n + 2*longest)
}

// NoWait implements pgwire.Portal.
func (p *portal) NoWait(on bool) { p.noWait = on }

// Append implements pgwire.Portal.
func (p *portal) Append(dst []byte, i int) ([]byte, bool, error) {
	if p.copy != nil {
		dst, err := p.copy.AppendLine(dst)
		return dst, false, err
	}
	// PostgreSQL too finds this out when it sends the first row.
	if f := p.formats[i]; f != 0 && f != 1 {
		return dst, false, sqlstate.New(sqlstate.InvalidParameterValue, "unsupported format code: %d", f)
	}
	d := p.row[i]
	if d.IsNull() {
		return dst, true, nil
	}
	if !types.ShortText(d, longValue) {
		if err := p.sending(types.TextSize(d)); err != nil {
			return dst, false, err
		}
	}
	if p.formats[i] == 1 {
		dst, err := types.AppendBinary(dst, d, p.types[i], &p.ss.types)
		return dst, false, err
	}
	if d.K == types.KJSON { // the document's own text
		dst, err := p.ss.types.Encode(dst, d.S)
		return dst, false, err
	}
	at := len(dst)
	if dst = types.AppendText(dst, d, p.types[i], &p.ss.types); p.ss.types.Charset == nil {
		return dst, false, nil
	}
	dst, err := p.ss.types.Encode(dst[:at], string(dst[at:]))
	return dst, false, err
}

// sending reserves memory for a long value of the row being sent, until the next row.
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

// longValue is the length from which the memory of a value being sent is counted.
const longValue = 64 << 10

// Close implements pgwire.Portal.
func (p *portal) Close() {
	p.done = true
	if p.rows != nil {
		p.rows.Close()
		p.rows = nil
	}
	if p.in != nil {
		p.in.Close()
	}
	if p.prepared != nil {
		p.prepared.Close()
	}
	p.ss.memory.Shrink(p.held + p.sent)
	p.held, p.sent = 0, 0
	p.release()
}
