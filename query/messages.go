package query

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/parse"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// The methods of session that handle the client's messages.

// Split implements pgwire.Session.
func (ss *session) Split(ctx context.Context, query string) ([]pgwire.Piece, error) {
	ctx, stop := ss.timed(ctx)
	defer stop()
	w := ss.work(ctx)
	defer w.Close()
	// A simple query replaces the unnamed statement, and if it can be parsed, the unnamed portal.
	ss.CloseStatement("")
	texts, offsets, err := parse.Split(w, query)
	if err != nil {
		return nil, located(err, query, 0)
	}
	ss.ClosePortal("")
	size := int64(len(texts)) * pieceSize
	if err := ss.memory.Grow(size); err != nil {
		return nil, err
	}
	ss.pieces += size // until ReadyForQuery
	ss.tx.implicit = len(texts) > 1
	pieces := make([]pgwire.Piece, len(texts))
	for i, text := range texts {
		if len(text) < len(query)/2 {
			text = strings.Clone(text) // a cached statement must not hold the comments around it
		}
		pieces[i] = pgwire.Piece{Text: text, Query: query, Offset: offsets[i]}
	}
	return pieces, nil
}

// pieceSize is the memory of a piece of a simple query in bytes, in addition to its text.
const pieceSize = 128

// Simple implements pgwire.Session.
func (ss *session) Simple(ctx context.Context, piece pgwire.Piece) (pgwire.Portal, error) {
	ss.mark('A', piece.Text)
	ss.traced.follow(ss.start.Database, piece.Text, piece.Query, ss.rows.Load())
	began := time.Now()
	preparing, stop := ss.timed(ss.traced.within(ctx))
	defer stop()
	w := ss.work(preparing)
	st, err := ss.statements.prepare(w, piece.Text, nil)
	w.Pause() // the portal does its own work
	if err == nil && len(st.params) > 0 {
		number, at := parse.FirstParam(w, piece.Text)
		err = sqlstate.New(sqlstate.UndefinedParameter, "there is no parameter $%s", number).At(at)
	}
	var p *portal
	if err == nil {
		e := ss.execution(st, nil)
		e.simple = true
		p, err = e.portal(nil)
	}
	if err != nil {
		w.Close()
		return nil, located(err, piece.Query, piece.Offset)
	}
	p.query, p.offset, p.prepared, p.began = piece.Query, piece.Offset, w, began
	return p, nil
}

// Parse implements pgwire.Session.
func (ss *session) Parse(ctx context.Context, name, query string, oids []uint32) error {
	ss.mark('A', query)
	ss.traced.follow(ss.start.Database, query, query, ss.rows.Load())
	if name == "" {
		ss.CloseStatement(name)
	}
	if err := ss.statements.room(); err != nil {
		return err
	}
	given := make([]types.OID, len(oids))
	for i, o := range oids {
		given[i] = types.OID(o)
		if o != 0 && types.Lookup(given[i]) == nil {
			return sqlstate.New(sqlstate.UndefinedObject, "type with OID %d of parameter $%d does not exist", o, i+1)
		}
	}
	ctx, stop := ss.timed(ss.traced.within(ctx))
	defer stop()
	w := ss.work(ctx)
	defer w.Close()
	p, err := ss.statements.prepare(w, query, given)
	if err != nil {
		return located(err, query, 0)
	}
	if len(p.params) > 65535 {
		return sqlstate.New(sqlstate.TooManyArguments, "too many parameters")
	}
	return ss.statements.keep(name, p, w)
}

// DescribeStatement implements pgwire.Session.
func (ss *session) DescribeStatement(_ context.Context, name string) ([]uint32, []pgwire.Column, error) {
	p, err := ss.statements.get(name)
	if err != nil {
		return nil, nil, err
	}
	oids := make([]uint32, len(p.params))
	for i, t := range p.params {
		oids[i] = uint32(t)
	}
	if _, isCopy := p.stmt.(*ast.Copy); isCopy {
		return oids, nil, nil
	}
	if ss.tx.status == 'E' && p.columns != nil {
		return nil, nil, errAborted
	}
	return oids, p.columns, nil
}

// Bind implements pgwire.Session.
func (ss *session) Bind(ctx context.Context, b pgwire.Binding) error {
	st, err := ss.statements.get(b.Statement)
	if err != nil {
		return err
	}
	ss.mark('A', st.text)
	ss.traced.follow(ss.start.Database, st.text, st.text, ss.rows.Load())
	ctx = ss.traced.within(ctx)
	// The checks are in the order of PostgreSQL's.
	if n := len(b.ParamFormats); n > 1 && n != len(b.Params) {
		return sqlstate.New(sqlstate.ProtocolViolation, "bind message has %d parameter formats but %d parameters", n,
			len(b.Params))
	}
	if len(b.Params) != len(st.params) {
		return sqlstate.New(sqlstate.ProtocolViolation,
			`bind message supplies %d parameters, but prepared statement "%s" requires %d`,
			len(b.Params), b.Statement, len(st.params))
	}
	if ss.tx.status == 'E' && !endsTransaction(st.stmt) {
		return errAborted
	}
	if b.Portal == "" {
		ss.ClosePortal("")
	} else if ss.portals.byName[b.Portal] != nil {
		return sqlstate.New(sqlstate.DuplicateCursor, `cursor "%s" already exists`, b.Portal)
	}
	if err := ss.portals.room("portals"); err != nil {
		return err
	}
	// The parameters are held until the portal is closed.
	held := int64(len(b.Params)) * 64
	for _, raw := range b.Params {
		held += int64(len(raw))
	}
	if err := ss.memory.Grow(held); err != nil {
		return err
	}
	kept := false
	defer func() {
		if !kept {
			ss.memory.Shrink(held)
		}
	}()
	params := make([]types.Datum, len(b.Params))
	for i, raw := range b.Params {
		format := formatOf(b.ParamFormats, i)
		if format != 0 && format != 1 {
			return sqlstate.New(sqlstate.InvalidParameterValue, "unsupported format code: %d", format)
		}
		if format == 0 {
			// Whatever the type, and without "= '...'" in the context.
			text, err := ss.types.Decode(string(raw))
			if err != nil {
				return inParameter(err, b.Portal, i, "")
			}
			if raw != nil {
				raw = []byte(text)
			}
		}
		if params[i], err = ss.parameter(ctx, raw, st.params[i], st.loose(i), format); err != nil {
			shown := ""
			switch {
			case format != 0:
			case len(raw) == 0:
				shown = " = ''"
			default:
				shown = " = '...'" // PostgreSQL does not show the value either
			}
			return inParameter(err, b.Portal, i, shown)
		}
	}
	p, err := ss.execution(st, params).portal(b.ResultFormats)
	if err != nil {
		return located(err, st.text, 0)
	}
	p.query, p.held, kept = st.text, held, true
	st.ran()
	ss.portals.open(b.Portal, p)
	return nil
}

// inParameter adds the number of the parameter to an error of its value, and what is shown of that.
func inParameter(err error, portal string, i int, shown string) error {
	var e *sqlstate.Error
	if !errors.As(err, &e) {
		return err
	}
	at := *e
	if at.Message == types.WrongBinary {
		at.Message += fmt.Sprintf(" in bind parameter %d", i+1)
	}
	if at.Context != "" {
		at.Context += "\n"
	}
	if portal == "" {
		at.Context += "unnamed portal"
	} else {
		at.Context += fmt.Sprintf(`portal "%s"`, portal)
	}
	at.Context += fmt.Sprintf(" parameter $%d", i+1) + shown
	return &at
}

// parameter reads a parameter's value.
func (ss *session) parameter(ctx context.Context, raw []byte, typ types.OID, loose bool,
	format int16) (types.Datum, error) {
	if raw == nil {
		return types.Null, nil
	}
	env := ss.types
	env.LooseJSON = loose
	if format == 1 {
		return types.ParseBinary(raw, typ, &env)
	}
	if types.IsReg(typ) || types.IsReg(types.ElemOf(typ)) {
		st := exec.NewState(ss.work(ctx), &ss.host, nil, &ss.types)
		defer st.Close()
		return exec.CastDatum(&exec.Env{State: st}, types.NewText(string(raw)), types.Text, typ, -1)
	}
	return types.ParseText(string(raw), typ, &env)
}

// Portal implements pgwire.Session.
func (ss *session) Portal(name string) (pgwire.Portal, error) {
	p := ss.portals.byName[name]
	if p == nil {
		return nil, sqlstate.New(sqlstate.InvalidCursorName, `portal "%s" does not exist`, name)
	}
	if ss.tx.status == 'E' && !p.ends {
		return nil, errAborted
	}
	return p, nil
}

// CloseStatement implements pgwire.Session.
func (ss *session) CloseStatement(name string) { ss.statements.close(name) }

// ClosePortal implements pgwire.Session.
func (ss *session) ClosePortal(name string) { ss.portals.close(name) }
