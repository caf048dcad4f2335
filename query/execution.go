package query

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/divandb/divan/query/copying"
	"github.com/divandb/divan/query/cursor"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/explain"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// execution is one execution of a statement with its parameters. It makes the portal that runs it.
type execution struct {
	ss     *session
	st     *prepared
	params []types.Datum
	simple bool // by the simple protocol
}

// portal makes a portal. formats are the formats that the client requests for its columns.
func (e *execution) portal(formats []int16) (*portal, error) {
	ss, st := e.ss, e.st
	if n := len(formats); n > 1 && n != len(st.columns) && st.columns != nil {
		return nil, sqlstate.New(sqlstate.ProtocolViolation,
			"bind message has %d result formats but query has %d columns", n, len(st.columns))
	}
	p := &portal{ss: ss, columns: st.columns, ends: endsTransaction(st.stmt)}
	for i, c := range st.columns {
		p.types = append(p.types, types.OID(c.OID))
		p.formats = append(p.formats, formatOf(formats, i))
	}
	switch s := st.stmt.(type) {
	case *ast.Query:
		p.reads = st.bound
		p.tag = func(rows int64) string { return "SELECT " + strconv.FormatInt(rows, 10) }
		p.start = func(ctx context.Context) (cursor.Source, error) { return e.run(ctx) }
	case *ast.Copy:
		if s.From {
			newCopyIn(e, p, s)
			break
		}
		p.tag = func(rows int64) string { return "COPY " + strconv.FormatInt(rows, 10) }
		p.start = func(ctx context.Context) (cursor.Source, error) { return e.run(ctx) }
		var cols []copying.Column
		for _, c := range st.bound.Columns {
			cols = append(cols, copying.Column{Name: c.Name, Type: c.Type})
		}
		p.copy = copying.NewOut(s, cols, &ss.types)
		p.tag = p.copy.Tag
	case *ast.Insert, *ast.Update, *ast.Delete:
		e.write(p, writeVerb(s))
	case *ast.Explain:
		p.tag = func(int64) string { return "EXPLAIN" }
		p.start = func(ctx context.Context) (cursor.Source, error) {
			if named, ok := s.Statement.(*ast.Execute); ok {
				return e.explainExecute(ctx, s, named, p)
			}
			return e.explain(ctx, s)
		}
	default:
		return p, e.command(p)
	}
	return p, nil
}

// state makes the state of one execution.
func (e *execution) state(ctx context.Context, params []types.Datum) *exec.State {
	ss := e.ss
	st := exec.NewState(ss.work(ctx), &ss.host, params, &ss.types)
	st.Spill, st.Bad = ss.srv.opts.Temp.NewStore(st.Work), ss.srv.opts.BadValues
	if ss.tx.status == 'T' {
		ss.types.Now, ss.tx.queried = ss.tx.began, true
	}
	st.Now = ss.types.Now
	return st
}

// run plans a query and begins to run it.
func (e *execution) run(ctx context.Context) (cursor.Source, error) {
	rows, err := e.rows(ctx, needs{repeatable: e.ss.tx.repeatable(), habit: e.st.habit})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// rows plans a query and returns its rows, which have not been read.
func (e *execution) rows(ctx context.Context, needs needs) (*cursor.Running, error) {
	st := e.state(ctx, e.params)
	bound, err := e.ss.statements.current(st.Work, e.st)
	if err != nil {
		st.Close()
		return nil, err
	}
	if err := e.ss.lockRows(ctx, bound); err != nil {
		st.Close()
		return nil, err
	}
	root, unpin, err := e.ss.reads.plan(ctx, bound, st, needs)
	if err != nil {
		st.Close()
		return nil, err
	}
	st.Report(reportEvery, func() {
		now := show(root, st)
		e.ss.mu.Lock()
		defer e.ss.mu.Unlock()
		e.ss.mu.running = now
	})
	return &cursor.Running{Plan: root, State: st, Unpin: unpin, Ended: e.ss.slow.from(e.ss.srv.opts.Slow, st)}, nil
}

// explainExecute explains the query of a prepared statement with the arguments of EXECUTE.
func (e *execution) explainExecute(ctx context.Context, s *ast.Explain, x *ast.Execute,
	p *portal) (cursor.Source, error) {
	st, err := e.ss.statements.get(x.Name)
	if err != nil {
		return nil, sqlstate.Locate(err, x.Pos())
	}
	named, err := e.named(ctx, x, st)
	if err != nil {
		return nil, err
	}
	if st.bound == nil {
		return nil, sqlstate.Unsupported(x.Pos(), "EXPLAIN a SELECT.", "EXPLAIN of this statement is not supported")
	}
	p.elsewhere = true
	return named.explain(ctx, s)
}

// explain plans and, with ANALYZE, runs a query.
func (e *execution) explain(ctx context.Context, s *ast.Explain) (cursor.Source, error) {
	if verb := writeVerb(s.Statement); verb != "" {
		return e.explainWrite(ctx, s, verb)
	}
	if e.st.bound.Write != nil { // EXECUTE
		return e.explainWrite(ctx, s, writeVerb(e.st.stmt))
	}
	st := e.state(ctx, e.nulls())
	defer st.Close()
	bound, err := e.ss.statements.current(st.Work, e.st)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	root, unpin, err := e.ss.reads.plan(ctx, bound, st, needs{repeatable: e.ss.tx.repeatable()})
	if err != nil {
		return nil, err
	}
	defer unpin()
	run := explain.Run{State: st, Planned: time.Since(began)}
	began = time.Now()
	if s.Analyze {
		rows := &cursor.Running{Plan: root, State: st, Unpin: func() {}}
		for {
			if _, err := rows.Next(ctx, false); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				rows.Close()
				return nil, err
			}
		}
		run.Took = time.Since(began)
		// Closing drops what EXPLAIN is about to show, so do it at the end.
		defer rows.Close()
	}
	return showPlan(ctx, e.ss, s, root, bound.Db, run), nil
}

// showPlan returns what EXPLAIN shows.
func showPlan(ctx context.Context, ss *session, s *ast.Explain, root exec.Plan, db exec.Database,
	run explain.Run) *cursor.Fixed {
	out := &cursor.Fixed{}
	run.Documents = explain.Documents(ctx, db)
	if s.Settings {
		run.Settings = ss.vars.Planning()
	}
	for _, line := range explain.New(root, s, run).Lines() {
		out.Rows = append(out.Rows, []types.Datum{line})
	}
	return out
}
