package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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

// pinned is a snapshot that a session has taken. Its last user closes it.
type pinned struct {
	exec.Snapshot
	// database and seq say what it is of: seq is the newest sequence in it.
	database, seq string
	idle          *time.Timer
	// lost says that it has been given up because the client was idle.
	lost atomic.Bool

	mu struct {
		sync.Mutex
		users int
	}
}

// use adds a user. It answers false where the last one has gone.
func (p *pinned) use() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.users == 0 || p.lost.Load() {
		return false
	}
	p.mu.users++
	return true
}

func (p *pinned) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.users--; p.mu.users == 0 {
		p.idle.Stop()
		p.Close()
	}
}

// heldSnapshots are those of the server's transactions, for statements that read as of a sequence.
type heldSnapshots struct {
	mu   sync.Mutex
	list []*pinned
	// exported are those of pg_export_snapshot, each with a use of its own.
	exported map[string]*pinned
	names    int64
}

// name makes a name for a snapshot, in the form of PostgreSQL's.
func (h *heldSnapshots) name() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.names++
	return fmt.Sprintf("%08X-%08X-1", h.names>>32, h.names&0xffffffff)
}

// export names a snapshot, whose use passes to the name.
func (h *heldSnapshots) export(p *pinned) string {
	id := h.name()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.exported == nil {
		h.exported = map[string]*pinned{}
	}
	h.exported[id] = p
	return id
}

func (h *heldSnapshots) unexport(id string) {
	h.mu.Lock()
	p := h.exported[id]
	delete(h.exported, id)
	h.mu.Unlock()
	if p != nil {
		p.release()
	}
}

// imported is an exported snapshot of a database, for one more user.
func (h *heldSnapshots) imported(id, database string) (*pinned, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.exported[id]
	switch {
	case p == nil:
		return nil, sqlstate.New(sqlstate.InvalidParameterValue, "invalid snapshot identifier: %q", id).
			WithHint("It is known to the node that exported it, until the transaction there ends.")
	case p.database != database:
		return nil, sqlstate.New(sqlstate.FeatureNotSupported, "cannot import a snapshot from a different database")
	case !p.use():
		return nil, errSnapshotLost
	}
	return p, nil
}

func (h *heldSnapshots) add(p *pinned) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, p)
}

func (h *heldSnapshots) remove(p *pinned) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.Index(h.list, p); i >= 0 {
		h.list = slices.Delete(h.list, i, i+1)
	}
}

// find is a snapshot of a database as of a sequence, for one more user; nil where no transaction holds one.
func (h *heldSnapshots) find(database, seq string) *pinned {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.list {
		if p.database == database && p.seq == seq && p.use() {
			return p
		}
	}
	return nil
}

// asOfSetting is the sequence as of which statements read; "" is none.
const asOfSetting = "divan.as_of_seq"

func errMovedOn(seq string) error {
	return sqlstate.New(sqlstate.SnapshotTooOld,
		"the database has changed since the sequence %s, and no transaction holds a snapshot of it", seq).
		WithHint("Read the sequence in a REPEATABLE READ transaction, and leave it open on this node.")
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
		if root == nil && err == nil {
			root, err = plan.New(bound, st) // it does not read the store
		}
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
	repeatable, asOf := ss.repeatable(), ss.vars.value[asOfSetting]
	switch {
	case bound.Db == nil || !bound.UsesStore():
		return nil, nil
	case repeatable && ss.snap != nil:
		if !ss.snap.use() {
			return nil, errSnapshotLost
		}
		if asOf != "" && ss.snap.seq != asOf {
			ss.snap.release()
			return nil, errMovedOn(asOf)
		}
		return ss.snap, nil
	case !repeatable && asOf == "" && (st.Reads.Count < 2 || st.Reads.Follow):
		return nil, nil
	}
	var p *pinned
	if asOf != "" {
		p = ss.srv.snapshots.find(ss.start.Database, asOf)
	}
	if p == nil {
		var err error
		if p, err = ss.snapshotNow(ctx, bound, st, repeatable || asOf != ""); p == nil || err != nil {
			return nil, err
		}
		if asOf != "" && p.seq != asOf {
			p.release()
			return nil, errMovedOn(asOf)
		}
	}
	if repeatable && p.use() {
		ss.snap = p
		ss.srv.snapshots.add(p)
	}
	return p, nil
}

// snapshotNow takes a snapshot of the database; nil where the store holds none and the statement does not insist on an
// exact one.
func (ss *session) snapshotNow(ctx context.Context, bound *bind.Bound, st *exec.State, exact bool) (*pinned, error) {
	return ss.snapshotOf(ctx, bound.Db, st.Reads.Views, exact)
}

// snapshotOf is snapshotNow of a database and of the views that are to be up to date.
func (ss *session) snapshotOf(ctx context.Context, of exec.Database, views []exec.ViewUse, exact bool) (*pinned, error) {
	db, ok := of.(exec.Snapshotter)
	var snap exec.Snapshot
	err := error(&exec.ReadError{Kind: exec.Unsupported, Message: "the store holds no snapshots"})
	if ok {
		if exact && ss.vars.value[viewKindSetting] == "table" {
			// pg_dump will read all views in this transaction.
			if views, err = allViews(ctx, of, (&resolver{ss: ss}).UpdateMode()); err != nil {
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
		return nil, sqlstate.Unsupported(-1, "Use READ COMMITTED, without "+asOfSetting+".",
			"reads of one moment are not supported: %s", re.Message)
	}
	if err != nil {
		return nil, exec.StoreError(err)
	}
	p := &pinned{Snapshot: snap, database: ss.start.Database}
	p.mu.users = 1
	p.idle = time.AfterFunc(time.Hour, func() {
		p.lost.Store(true)
		p.Close()
	})
	p.idle.Stop()
	if exact {
		if p.seq, err = plan.Newest(ctx, p); err != nil {
			p.release()
			return nil, err
		}
	}
	return p, nil
}

// allViews are the views of a database.
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

// unpin gives up the transaction's snapshot.
func (ss *session) unpin() {
	if ss.snap != nil {
		ss.srv.snapshots.remove(ss.snap)
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
