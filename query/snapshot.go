package query

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/plan"
	"github.com/divandb/divan/query/sqlstate"
)

// A statement reads the database at one moment: by itself where it makes one read, else by a snapshot. A transaction
// that is REPEATABLE READ or SERIALIZABLE has one snapshot, which its first read takes.

// snapshotIdle is for how long a transaction's snapshot is kept without a message of the client: as long as it is open,
// the store keeps what is overwritten. Options.SnapshotIdle changes it.
const snapshotIdle = 5 * time.Minute

// pinned is a snapshot of this session. Its last user closes it.
type pinned struct {
	exec.Snapshot
	users int
	idle  *time.Timer
	// lost says that it has been given up because the client was idle.
	lost atomic.Bool
}

func (p *pinned) release() {
	if p.users--; p.users == 0 {
		p.idle.Stop()
		p.Close()
	}
}

var errSnapshotLost = sqlstate.New(sqlstate.SnapshotTooOld,
	"the transaction was idle for too long, and its snapshot is not held any more").
	WithHint("Begin a new transaction.")

// repeatable says that the transaction under way reads one snapshot.
func (ss *session) repeatable() bool {
	return ss.status == 'T' &&
		slices.Contains([]string{"repeatable read", "serializable"}, ss.vars.value[isolationSetting])
}

// plan makes the plan of a statement over the snapshot that it has to read, if it has to. release gives that up.
func (ss *session) plan(ctx context.Context, bound *bind.Bound,
	st *exec.State) (root exec.Plan, release func(), err error) {
	release = func() {}
	if ss.snap == nil || !ss.repeatable() {
		if root, err = plan.New(bound, st); err != nil {
			return nil, release, err
		}
	}
	p, err := ss.pin(ctx, bound, st)
	if p == nil || err != nil {
		return root, release, err
	}
	at := *bound
	at.Db = p
	if root, err = plan.New(&at, st); err != nil {
		p.release()
		return nil, release, err
	}
	done := false
	return root, func() {
		if !done {
			done = true
			p.release()
		}
	}, nil
}

// pin is the snapshot for a statement that has been planned, for one more user; nil where it needs none.
func (ss *session) pin(ctx context.Context, bound *bind.Bound, st *exec.State) (*pinned, error) {
	repeatable := ss.repeatable()
	switch {
	case bound.Db == nil || !bound.UsesStore():
		return nil, nil
	case repeatable && ss.snap != nil:
		if ss.snap.lost.Load() {
			return nil, errSnapshotLost
		}
		ss.snap.users++
		return ss.snap, nil
	case !repeatable && (st.Reads.Count < 2 || st.Reads.Follow):
		return nil, nil
	}
	db, ok := bound.Db.(exec.Snapshotter)
	var snap exec.Snapshot
	err := error(&exec.ReadError{Kind: exec.Unsupported, Message: "the store holds no snapshots"})
	if ok {
		snap, err = db.Snapshot(ctx, st.Reads.Views, repeatable)
	}
	var re *exec.ReadError
	if errors.As(err, &re) && re.Kind == exec.Unsupported {
		if !repeatable {
			return nil, nil
		}
		return nil, sqlstate.Unsupported(-1,
			"Use READ COMMITTED, in which each read is of one moment where the store can do that.",
			"transaction isolation level %s is not supported: %s", ss.vars.value[isolationSetting], re.Message)
	}
	if err != nil {
		return nil, exec.StoreError(err)
	}
	p := &pinned{Snapshot: snap, users: 1}
	p.idle = time.AfterFunc(time.Hour, func() {
		p.lost.Store(true)
		p.Close()
	})
	p.idle.Stop()
	if repeatable {
		p.users++
		ss.snap = p
	}
	return p, nil
}

// unpin gives up the transaction's snapshot.
func (ss *session) unpin() {
	if ss.snap != nil {
		ss.snap.release()
		ss.snap = nil
	}
}

// idles starts the time after which the transaction's snapshot goes, works ends it.
func (ss *session) idles() {
	if ss.snap != nil {
		idle := ss.srv.opts.SnapshotIdle
		if idle == 0 {
			idle = snapshotIdle
		}
		ss.snap.idle.Reset(idle)
	}
}

func (ss *session) works() {
	if ss.snap != nil {
		ss.snap.idle.Stop()
	}
}

// IdleTimeout implements pgwire.Session.
func (ss *session) IdleTimeout() time.Duration {
	if ss.status == 'I' {
		return 0
	}
	return parseTimeout(ss.vars.value["idle_in_transaction_session_timeout"])
}
