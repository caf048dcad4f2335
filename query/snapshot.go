package query

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
)

// A statement reads the database as of one moment: naturally if it makes one read, otherwise through a snapshot. A
// REPEATABLE READ or SERIALIZABLE transaction has one snapshot, which its first read takes.

// snapshotIdle is how long a transaction's snapshot is kept without a message of the client, because the store keeps
// overwritten data while it is open. Options.SnapshotIdle changes it.
const snapshotIdle = 5 * time.Minute

// pinned is a snapshot taken by a session. Its last user closes it.
type pinned struct {
	exec.Snapshot
	// database and seq identify its content: seq is its newest sequence.
	database, seq string
	idle          *time.Timer
	// lost reports whether it has been released because the client was idle.
	lost atomic.Bool

	mu struct {
		sync.Mutex
		users int
	}
}

// use adds a user. It returns false if the last one has released it.
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

// heldSnapshots holds the snapshots of the server's transactions, for statements that read as of a sequence.
type heldSnapshots struct {
	mu   sync.Mutex
	list []*pinned
	// exported holds the snapshots of pg_export_snapshot, each with a use of its own.
	exported map[string]*pinned
	names    int64
}

// name returns a name for a snapshot in PostgreSQL's form.
func (h *heldSnapshots) name() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.names++
	return fmt.Sprintf("%08X-%08X-1", h.names>>32, h.names&0xffffffff)
}

// export names a snapshot. The caller's use passes to the name.
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

// imported returns an exported snapshot of a database, with a use that the caller must release.
func (h *heldSnapshots) imported(id, database string) (*pinned, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.exported[id]
	switch {
	case p == nil:
		return nil, sqlstate.New(sqlstate.InvalidParameterValue, `invalid snapshot identifier: "%s"`, id).
			WithHint("It can be imported on the node that exported it, until the exporting transaction ends.")
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

// find returns a snapshot of a database as of a sequence, with a use that the caller must release; nil if no
// transaction holds one.
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

func errMovedOn(seq string) error {
	return sqlstate.New(sqlstate.SnapshotTooOld,
		"the database has changed since the sequence %s, and no transaction holds a snapshot of it", seq).
		WithHint("Read the sequence in a REPEATABLE READ transaction, and leave it open on this node.")
}

var errSnapshotLost = sqlstate.New(sqlstate.SnapshotTooOld,
	"the transaction was idle for too long, and its snapshot has been released").
	WithHint("Begin a new transaction.")
