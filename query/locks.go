package query

import (
	"context"
	"strings"

	"github.com/divandb/divan/query/advisory"
	"github.com/divandb/divan/query/catalog"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

var errLockTimeout = sqlstate.New(sqlstate.LockNotAvailable, "canceling statement due to lock timeout")

// LockAdvisory implements catalog.AdvisoryLocker.
func (ss *session) LockAdvisory(ctx context.Context, number int64, pair bool, how catalog.AdvisoryLock) (bool, error) {
	key := advisory.Key{Database: ss.start.Database, Number: number, Pair: pair}
	if !how.Wait {
		return ss.locks.Try(key, how.Shared, how.Transaction)
	}
	if d := parseTimeout(ss.vars.value["lock_timeout"]); d > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, d, errLockTimeout)
		defer stop()
	}
	err := ss.locks.Lock(ctx, key, how.Shared, how.Transaction)
	return err == nil, err
}

// UnlockAdvisory implements catalog.AdvisoryLocker.
func (ss *session) UnlockAdvisory(number int64, pair, shared bool) bool {
	ok := ss.locks.Unlock(advisory.Key{Database: ss.start.Database, Number: number, Pair: pair}, shared)
	if !ok {
		kind := "ExclusiveLock"
		if shared {
			kind = "ShareLock"
		}
		ss.notice(sqlstate.New(sqlstate.Warning, "you don't own a lock of type %s", kind))
	}
	return ok
}

// UnlockAllAdvisory implements catalog.AdvisoryLocker.
func (ss *session) UnlockAllAdvisory() { ss.locks.UnlockAll() }

// ExportSnapshot implements catalog.AdvisoryLocker: other sessions of this node may read what this transaction reads, or,
// where it has no snapshot of its own, the database as it is now, until the transaction ends.
func (ss *session) ExportSnapshot(ctx context.Context) (string, error) {
	var p *pinned
	if ss.snap != nil && ss.repeatable() {
		if !ss.snap.use() {
			return "", errSnapshotLost
		}
		p = ss.snap
	} else {
		db, err := (&resolver{ss: ss}).Database(ctx)
		if err != nil {
			return "", err
		}
		if p, err = ss.snapshotOf(ctx, db, nil, true); err != nil {
			return "", err
		}
		if ss.repeatable() && p.use() {
			ss.snap = p
			ss.srv.snapshots.add(p)
		}
	}
	if ss.status != 'T' {
		p.release() // as in PostgreSQL it ends with the statement, which is the transaction
		return ss.srv.snapshots.name(), nil
	}
	id := ss.srv.snapshots.export(p)
	ss.exports = append(ss.exports, id)
	return id, nil
}

// importSnapshot is SET TRANSACTION SNAPSHOT.
func (ss *session) importSnapshot(id string) error {
	switch {
	case ss.status != 'T':
		return sqlstate.New(sqlstate.ActiveTransaction, "SET TRANSACTION SNAPSHOT can only be used in transaction blocks")
	case ss.queried:
		return sqlstate.New(sqlstate.ActiveTransaction, "SET TRANSACTION SNAPSHOT must be called before any query")
	case !ss.repeatable():
		return sqlstate.New(sqlstate.FeatureNotSupported,
			"a snapshot-importing transaction must have isolation level SERIALIZABLE or REPEATABLE READ")
	}
	p, err := ss.srv.snapshots.imported(id, ss.start.Database)
	if err != nil {
		return err
	}
	ss.snap = p
	ss.srv.snapshots.add(p)
	ss.queried = true
	return nil
}

// endExports gives up the snapshots that the transaction has exported.
func (ss *session) endExports() {
	for _, id := range ss.exports {
		ss.srv.snapshots.unexport(id)
	}
	ss.exports = nil
}

// lock is LOCK TABLE IN ACCESS SHARE MODE, as pg_dump says it: it keeps out what alters or drops a relation, of which SQL
// here has nothing.
func (ss *session) lock(ctx context.Context, s *ast.LockTable) error {
	if ss.status != 'T' {
		return sqlstate.New(sqlstate.NoActiveTransaction, "LOCK TABLE can only be used in transaction blocks")
	}
	for i, name := range s.Tables {
		quoted := make([]string, len(name))
		for j, part := range name {
			quoted[j] = keyword.Quote(part)
		}
		_, ok, err := ss.ObjectOID(ctx, types.RegClass, strings.Join(quoted, "."))
		if err != nil {
			return err
		}
		if !ok {
			return sqlstate.New(sqlstate.UndefinedTable, "relation %q does not exist", strings.Join(name, ".")).At(s.Places[i].Pos())
		}
	}
	return nil
}
