package query

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/plan"
	"github.com/divandb/divan/query/settings"
	"github.com/divandb/divan/query/sqlstate"
)

// reads is what the statements of a session read: the current database, or a snapshot of it.
type reads struct {
	access *access
	vars   *settings.Values
	held   *heldSnapshots
	idle   time.Duration // Options.SnapshotIdle

	snap    *pinned  // of a transaction that reads a snapshot; nil before its first read
	exports []string // names of snapshots that the transaction has exported
	// tx is the transaction of the store that continues snap, nil before the first write of a READ COMMITTED block.
	tx exec.Transaction
	// undone is set when writes of the session were undone and no ROLLBACK had asked for that, kept when some were
	// committed.
	undone, kept bool
	// readOnly reports whether the current transaction may not write.
	readOnly func() bool
}

// several is a number of reads that must be as of one moment.
const several = 2

// needs says what a statement must read.
type needs struct {
	repeatable bool // the snapshot of the transaction
	// moment is set for a cursor: what is read when it goes on, or goes back, is as of now.
	moment bool
	// habit is what earlier executions of the statement have shown; nil if nothing is remembered.
	habit *habit
}

// plan plans a statement, over a snapshot if it needs one. release releases the snapshot.
func (r *reads) plan(ctx context.Context, bound *bind.Bound, st *exec.State,
	needs needs) (root exec.Plan, release func(), err error) {
	release = func() {}
	repeatable := needs.repeatable
	if r.tx != nil && r.vars.Value(settings.AsOf) == "" && bound.Db != nil && bound.UsesStore() {
		at := *bound
		at.Db = r.written(needs)
		if err = r.alive(); err == nil {
			root, err = plan.New(&at, st)
		}
		return root, release, err
	}
	if p, root, err := r.early(ctx, bound, st, needs); p != nil || err != nil {
		return root, releaseOnce(p), err
	}
	if r.snap == nil || !repeatable {
		if root, err = plan.New(bound, st); err != nil {
			return nil, release, err
		}
	}
	p, err := r.pin(ctx, bound, st, needs)
	if p == nil || err != nil {
		if root == nil && err == nil {
			root, err = plan.New(bound, st) // it does not read the store
		}
		return root, release, err
	}
	if !repeatable && !needs.moment && bound.Write == nil && onlyOptional(st.Reads.Views) {
		needs.habit.observe(true)
	}
	at := *bound
	at.Db = p.Snapshot // with the optional interfaces of a Database
	if repeatable && r.vars.Value(settings.AsOf) == "" && r.tx == nil && !r.readOnly() {
		// What the transaction reads before it writes is part of it too.
		if tx, err := transactionOf(p); err == nil {
			r.tx = tx
		}
	}
	if repeatable && r.vars.Value(settings.AsOf) == "" && r.tx != nil {
		at.Db = r.written(needs)
	}
	if root, err = plan.New(&at, st); err != nil {
		p.release()
		return nil, release, err
	}
	return root, releaseOnce(p), nil
}

// releaseOnce returns a function that releases a snapshot when it is first called.
func releaseOnce(p *pinned) func() {
	return func() {
		if p != nil {
			p.release()
			p = nil
		}
	}
}

// written returns the transaction with its writes, for a cursor with those up to now.
func (r *reads) written(needs needs) exec.Database {
	if needs.moment {
		return r.tx.At(r.tx.Mark())
	}
	return r.tx
}

// pin returns the snapshot for a planned statement, with a use that the caller must release; nil if it needs none.
func (r *reads) pin(ctx context.Context, bound *bind.Bound, st *exec.State, needs needs) (*pinned, error) {
	repeatable := needs.repeatable
	asOf := r.vars.Value(settings.AsOf)
	switch {
	case bound.Db == nil || !bound.UsesStore():
		return nil, nil
	case repeatable && r.snap != nil:
		if !r.snap.use() {
			return nil, errSnapshotLost
		}
		if asOf != "" && r.snap.seq != asOf {
			r.snap.release()
			return nil, errMovedOn(asOf)
		}
		return r.snap, nil
	case !repeatable && asOf == "" && (st.Reads.Count < several && !needs.moment || st.Reads.Follow):
		return nil, nil
	}
	var p *pinned
	if asOf != "" {
		p = r.held.find(r.access.database, asOf)
	}
	if p == nil {
		var err error
		if p, err = r.snapshotNow(ctx, bound, st, repeatable || asOf != ""); p == nil || err != nil {
			return nil, err
		}
		if asOf != "" && p.seq != asOf {
			p.release()
			return nil, errMovedOn(asOf)
		}
	}
	if repeatable {
		r.keep(p)
	}
	return p, nil
}

// snapshotNow takes a snapshot of the database. It returns nil if the store does not support snapshots and the
// statement does not require an exact one.
func (r *reads) snapshotNow(ctx context.Context, bound *bind.Bound, st *exec.State, exact bool) (*pinned, error) {
	how := inexact
	if exact {
		how = exactWithSeq
	}
	return r.snapshotOf(ctx, bound.Db, st.Reads.Views, how)
}

// exactness says what a snapshot must be.
type exactness int

const (
	inexact      exactness = iota // it may move on
	exactOnly                     // one moment
	exactWithSeq                  // one moment whose sequence is known
)

// snapshotOf is snapshotNow for a database and the views that must be up to date.
func (r *reads) snapshotOf(ctx context.Context, of exec.Database, views []exec.ViewUse, how exactness) (*pinned,
	error) {
	exact := how != inexact
	db, ok := of.(exec.Snapshotter)
	var snap exec.Snapshot
	err := error(&exec.ReadError{Kind: exec.Unsupported, Message: "the store holds no snapshots"})
	if ok {
		if exact && r.vars.Value(settings.ViewKind) == "table" {
			// pg_dump will read all views in this transaction.
			if views, err = allViews(ctx, of, r.vars.UpdateMode()); err != nil {
				return nil, exec.StoreError(err)
			}
		}
		snap, err = db.Snapshot(ctx, views, exact)
	}
	var re *exec.ReadError
	if errors.As(err, &re) && re.Kind == exec.Unsupported {
		if !exact {
			return nil, nil
		}
		return nil, sqlstate.Unsupported(-1, "Use READ COMMITTED, without "+settings.AsOf+".",
			"snapshots are not supported: %s", re.Message)
	}
	if err != nil {
		return nil, exec.StoreError(err)
	}
	p := &pinned{Snapshot: snap, database: r.access.database}
	p.mu.users = 1
	p.idle = time.AfterFunc(time.Hour, func() {
		p.lost.Store(true)
		p.Close()
	})
	p.idle.Stop()
	if how == exactWithSeq {
		if p.seq, err = plan.Newest(ctx, p); err != nil {
			p.release()
			return nil, err
		}
	}
	return p, nil
}

// allViews returns the views of a database.
func allViews(ctx context.Context, db exec.Database, update exec.UpdateMode) ([]exec.ViewUse, error) {
	designs, err := db.Designs(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]exec.ViewUse, len(designs))
	for i, d := range designs {
		out[i] = exec.ViewUse{Design: d.Name, Update: update}
	}
	return out, nil
}

// keep makes a snapshot the transaction's, with a use of its own.
func (r *reads) keep(p *pinned) {
	if p.use() {
		r.snap = p
		r.held.add(p)
	}
}

// export lets other sessions of this node read what the transaction reads, until it ends. If the transaction has no
// snapshot yet, that is the database as it is now. Outside a block the name is useless: as in PostgreSQL, the snapshot
// ends with the statement, which is the transaction.
func (r *reads) export(ctx context.Context, tx *transaction) (string, error) {
	var p *pinned
	if r.snap != nil && tx.repeatable() {
		if !r.snap.use() {
			return "", errSnapshotLost
		}
		p = r.snap
	} else {
		db, err := r.access.open(ctx)
		if err != nil {
			return "", err
		}
		if p, err = r.snapshotOf(ctx, db, nil, exactWithSeq); err != nil {
			return "", err
		}
		if tx.repeatable() {
			r.keep(p)
		}
	}
	if tx.status != 'T' {
		p.release()
		return r.held.name(), nil
	}
	id := r.held.export(p)
	r.exports = append(r.exports, id)
	return id, nil
}

// importNamed makes an exported snapshot the transaction's.
func (r *reads) importNamed(id string) error {
	p, err := r.held.imported(id, r.access.database)
	if err != nil {
		return err
	}
	r.snap = p
	r.held.add(p)
	return nil
}

// committed notes that the transaction's writes are committed, or if it is not sure, that they may be: its end undoes
// nothing.
func (r *reads) committed(sure bool) {
	r.tx = nil
	r.kept = r.kept || sure
}

// end releases the transaction's snapshot and what it has exported.
func (r *reads) end() {
	r.undone = r.undone || r.tx != nil && r.tx.Wrote()
	for _, id := range r.exports {
		r.held.unexport(id)
	}
	r.exports, r.tx = nil, nil
	if r.snap != nil {
		r.held.remove(r.snap)
		r.snap.release()
		r.snap = nil
	}
}

// idles starts the time after which the transaction's snapshot is released; works stops it.
func (r *reads) idles() {
	if r.snap != nil {
		r.snap.idle.Reset(cmp.Or(r.idle, snapshotIdle))
	}
}

func (r *reads) works() {
	if r.snap != nil {
		r.snap.idle.Stop()
	}
}
