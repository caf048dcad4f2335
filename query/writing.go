package query

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/cursor"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/writes"
	"github.com/divandb/divan/query/explain"
	"github.com/divandb/divan/query/plan"
	"github.com/divandb/divan/query/settings"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// A statement that writes is part of a transaction of the store, which reads a snapshot. In a transaction block that is
// the transaction of the block, begun by the first statement that writes, or with the snapshot of a REPEATABLE READ
// block. Statements of one simple query, and those between two Syncs, are a transaction too. A single statement is a
// transaction of its own, which is tried again after a conflict.

// writeVerb returns the word for a statement that writes, "" for others.
func writeVerb(s ast.Statement) string {
	switch n := s.(type) {
	case *ast.Insert:
		return "INSERT"
	case *ast.Update:
		return "UPDATE"
	case *ast.Delete:
		return "DELETE"
	case *ast.Copy:
		if n.From {
			return "COPY FROM"
		}
	}
	return ""
}

// write makes the portal of a statement that writes.
func (e *execution) write(p *portal, verb string) {
	affected := int64(0)
	p.tag = func(sent int64) string {
		if p.columns != nil {
			affected = sent // of the last portion
		}
		return writes.Tag(verb, affected)
	}
	p.start = func(ctx context.Context) (cursor.Source, error) {
		var rows *cursor.Running
		err := e.ss.writing(ctx, verb, e.st.bound, func(tx exec.Transaction) (err error) {
			if rows != nil {
				rows.Close()
			}
			rows, affected, err = e.modify(ctx, tx)
			return err
		})
		if err != nil {
			if rows != nil {
				rows.Close()
			}
			return nil, err
		}
		if p.columns == nil {
			rows.Close()
			return nil, nil
		}
		if e.ss.reads.tx == nil {
			p.settle()
		}
		return rows, nil
	}
}

// modify runs the statement in a transaction. The rows of the result have been computed.
func (e *execution) modify(ctx context.Context, tx exec.Transaction) (*cursor.Running, int64, error) {
	st := e.state(ctx, e.params)
	bound, err := e.ss.statements.current(st.Work, e.st)
	if err != nil {
		st.Close()
		return nil, 0, err
	}
	at := *bound
	at.Db = tx
	root, err := plan.New(&at, st)
	if err != nil {
		st.Close()
		return nil, 0, err
	}
	rows := &cursor.Running{Plan: root, State: st, Open: true, Unpin: func() {}}
	st.Ctx, st.Tx = ctx, tx
	if err := root.Open(&exec.Env{State: st}); err != nil {
		rows.Close()
		return nil, 0, err
	}
	return rows, root.(*writes.Modify).Affected(), nil
}

// maxTrying is how long a statement that meets conflicts is tried.
const maxTrying = 30 * time.Second

// storeWriter runs the statements of a session that write.
type storeWriter struct {
	access *access
	vars   *settings.Values
	reads  *reads
	tx     *transaction
	// final is set if no further statement of the client can belong to the implicit transaction of the next one.
	final  bool
	traced *traced
}

// Final implements pgwire.Session.
func (w *storeWriter) Final(is bool) { w.final = is }

// Undone implements pgwire.Undoer.
func (w *storeWriter) Undone() (undone, kept bool) { return w.reads.undone, w.reads.kept }

// Commit implements pgwire.Session.
func (w *storeWriter) Commit(ctx context.Context) error {
	if w.tx.status != 'I' {
		return nil
	}
	if err := w.tx.portals.hold(ctx); err != nil || w.reads.tx == nil {
		return err
	}
	defer w.reads.end()
	return w.commit(w.traced.within(ctx), w.reads.tx)
}

// writing runs a statement that writes, in the transaction it belongs to. f may be called several times.
func (w *storeWriter) writing(ctx context.Context, verb string, bound *bind.Bound,
	f func(tx exec.Transaction) error) error {
	if err := w.writable(verb); err != nil {
		return err
	}
	if w.tx.inBlock() || !w.final || w.reads.tx != nil {
		tx, err := w.reads.writer(ctx, bound)
		if err != nil {
			return err
		}
		return f(tx)
	}
	return w.alone(ctx, bound, f)
}

// writable returns an error if the session's transaction may not write.
func (w *storeWriter) writable(verb string) error {
	if w.tx.readOnly() {
		return sqlstate.New(sqlstate.ReadOnlyTransaction, "cannot execute %s in a read-only transaction", verb)
	}
	if seq := w.vars.Value(settings.AsOf); seq != "" {
		return sqlstate.New(sqlstate.ReadOnlyTransaction, "cannot execute %s as of an earlier sequence", verb).
			WithHint("RESET %s.", settings.AsOf)
	}
	return nil
}

// repeater is an optional interface of a database: the loop of its store that tries transactions again. It calls f
// until that is not to be tried again, or ctx ends.
type repeater interface {
	Repeat(ctx context.Context, f func() (again bool, err error)) error
}

// alone runs f in a transaction of its own, again after a conflict.
func (w *storeWriter) alone(ctx context.Context, bound *bind.Bound, f func(tx exec.Transaction) error) error {
	db, err := w.access.open(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	try := func() (again bool, err error) {
		err, conflict := w.attempt(ctx, bound, f)
		return conflict && time.Since(began) < maxTrying, err
	}
	if r, ok := db.(repeater); ok {
		return r.Repeat(ctx, try)
	}
	_, err = try()
	return err
}

// lockRows is FOR UPDATE and the like: in a transaction block, what the statement reads becomes part of the transaction
// of the store, so that its commit fails if another writer has changed that. Nobody waits.
func (w *storeWriter) lockRows(ctx context.Context, bound *bind.Bound) error {
	switch {
	case bound.Locks == "" || !bound.UsesStore():
		return nil
	case w.tx.readOnly():
		return sqlstate.New(sqlstate.ReadOnlyTransaction, "cannot execute SELECT FOR %s in a read-only transaction",
			bound.Locks)
	case !w.tx.inBlock():
		return nil
	}
	_, err := w.reads.writer(ctx, bound)
	return err
}

// attempt runs f in a transaction of its own. It reports whether the commit met a conflict.
func (w *storeWriter) attempt(ctx context.Context, bound *bind.Bound,
	f func(tx exec.Transaction) error) (err error, conflict bool) {
	p, tx, err := w.reads.begin(ctx, bound)
	if err != nil {
		return err, false
	}
	defer p.release()
	if err := f(tx); err != nil {
		return err, false
	}
	err = w.commit(ctx, tx)
	return err, exec.KindOf(err) == exec.Stale
}

// commit commits a transaction of the store.
func (w *storeWriter) commit(ctx context.Context, tx exec.Transaction) error {
	if !tx.Wrote() {
		return nil
	}
	// The user may no longer be allowed to.
	if err := w.access.recheck(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx, stop := lasting(ctx)
	defer stop()
	err := tx.Commit(ctx)
	if err == nil || exec.KindOf(err) == exec.Unknown {
		w.reads.committed(err == nil)
	}
	if err == nil {
		return nil
	}
	if e := sqlstate.From(exec.StoreError(err)); e.Code == sqlstate.SerializationFailure {
		return e.WithHint("The transaction might succeed if retried.")
	} else {
		return e
	}
}

// maxCommit is how long a commit may take after its statement has been cancelled.
const maxCommit = 10 * time.Second

// lasting returns a context for a commit, which is not given up when the statement is cancelled, because nobody would
// know then whether it has been made.
func lasting(ctx context.Context) (context.Context, func()) {
	out, end := context.WithCancel(context.WithoutCancel(ctx))
	cancelled := context.AfterFunc(ctx, func() {
		late := time.AfterFunc(maxCommit, end)
		context.AfterFunc(out, func() { late.Stop() })
	})
	return out, func() {
		cancelled()
		end()
	}
}

// writer returns the transaction of the store that the session's transaction has, and begins it if necessary.
func (r *reads) writer(ctx context.Context, bound *bind.Bound) (exec.Transaction, error) {
	if r.tx != nil {
		return r.tx, r.alive()
	}
	if r.snap != nil {
		var err error
		if err = r.alive(); err == nil {
			r.tx, err = transactionOf(r.snap)
		}
		return r.tx, err
	}
	p, tx, err := r.begin(ctx, bound)
	if err != nil {
		return nil, err
	}
	r.keep(p)
	p.release()
	r.tx = tx
	return tx, nil
}

// alive returns an error if the snapshot of the transaction has been released.
func (r *reads) alive() error {
	if r.snap != nil && r.snap.lost.Load() {
		return errSnapshotLost
	}
	return nil
}

// begin begins a transaction at the present moment, for which the views of a statement are brought up to date. The
// caller must release the snapshot.
func (r *reads) begin(ctx context.Context, bound *bind.Bound) (*pinned, exec.Transaction, error) {
	db, err := r.access.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	if db == nil {
		return nil, nil, sqlstate.New(sqlstate.InsufficientPrivilege, "the database has no documents")
	}
	p, err := r.snapshotOf(ctx, db, bound.Views(), exactOnly)
	if err != nil {
		return nil, nil, err
	}
	tx, err := transactionOf(p)
	if err != nil {
		p.release()
		return nil, nil, err
	}
	return p, tx, nil
}

// transactionOf begins a transaction on a snapshot.
func transactionOf(p *pinned) (exec.Transaction, error) {
	w, ok := p.Snapshot.(exec.Writable)
	if !ok {
		return nil, sqlstate.Unsupported(-1, "Write documents over HTTP.", "the store cannot be written by SQL")
	}
	tx, err := w.Begin()
	if err != nil {
		return nil, exec.StoreError(err)
	}
	return tx, nil
}

// explainWrite explains a statement that writes, which is run if that is asked for.
func (e *execution) explainWrite(ctx context.Context, s *ast.Explain, verb string) (cursor.Source, error) {
	began := time.Now()
	var out cursor.Source
	if !s.Analyze {
		st := e.state(ctx, e.nulls())
		defer st.Close()
		bound, err := e.ss.statements.current(st.Work, e.st)
		if err != nil {
			return nil, err
		}
		root, err := plan.New(bound, st)
		if err != nil {
			return nil, err
		}
		return showPlan(ctx, e.ss, s, root, bound.Db, explain.Run{State: st, Planned: time.Since(began)}), nil
	}
	err := e.ss.writing(ctx, verb, e.st.bound, func(tx exec.Transaction) error {
		rows, _, err := e.modify(ctx, tx)
		if err != nil {
			return err
		}
		defer rows.Close()
		for {
			if _, err := rows.Next(ctx, false); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return err
			}
		}
		out = showPlan(ctx, e.ss, s, rows.Plan, e.st.bound.Db, explain.Run{State: rows.State, Took: time.Since(began)})
		return nil
	})
	return out, err
}

// nulls returns the parameters, or NULLs if there are none.
func (e *execution) nulls() []types.Datum {
	params := e.params
	for len(params) < len(e.st.params) {
		params = append(params, types.Null)
	}
	return params
}

// readOnly reports whether the current transaction may not write.
func (t *transaction) readOnly() bool { return strings.EqualFold(t.mode(settings.ReadOnly), "on") }
