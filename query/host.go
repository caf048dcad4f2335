package query

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/divandb/divan/query/advisory"
	"github.com/divandb/divan/query/catalog"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/settings"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// host is a session as seen by the functions and the system catalogue of its statements.
type host struct {
	ss   *session
	seed *funcs.Seed // set by setseed, otherwise nil
	// snapshot is the catalogue as seen by this statement, built when first needed.
	snapshot *catalog.Snapshot
}

var (
	_ exec.Session           = (*host)(nil)
	_ catalog.Source         = (*host)(nil)
	_ catalog.Notifier       = (*host)(nil)
	_ catalog.AdvisoryLocker = (*host)(nil)
)

func (h *host) User() string     { return h.ss.start.User }
func (h *host) Database() string { return h.ss.start.Database }
func (h *host) PID() uint32      { return h.ss.start.PID }

// Seed returns where setseed stores its state.
func (h *host) Seed() **funcs.Seed { return &h.seed }

func (h *host) Started() time.Time { return h.ss.start.Since }

func (h *host) Remote() (string, int) { return split(h.ss.start.Remote) }
func (h *host) Local() (string, int)  { return split(h.ss.start.Local) }

func split(a net.Addr) (string, int) {
	if a == nil {
		return "", 0
	}
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return "", 0
	}
	n, _ := strconv.Atoi(port)
	return host, n
}

func (h *host) Setting(name string) (string, bool) {
	name = strings.ToLower(name)
	if name == settings.Isolation || name == settings.ReadOnly {
		return h.ss.tx.mode(name), true
	}
	return h.ss.vars.Get(name)
}

func (h *host) SetSetting(name string, value *string, local bool) error {
	name = strings.ToLower(name)
	if name == settings.Isolation || name == settings.ReadOnly {
		switch {
		case value == nil:
			return nil // they belong to the transaction and keep what it began with
		case name == settings.Isolation:
			return h.ss.tx.setIsolation(*value)
		}
		return h.ss.tx.setAccess(*value)
	}
	return h.ss.tx.set(name, value, local)
}

// Cancel implements exec.Session.
func (h *host) Cancel(ctx context.Context, pid uint32) (bool, error) {
	if err := h.maySignal(ctx, pid, false, "must be a superuser to cancel superuser query",
		"must be a member of the role whose query is being canceled or member of pg_signal_backend"); err != nil {
		return false, err
	}
	return h.signal(ctx, pid, h.ss.srv.wire.Cancel(pid), false)
}

// Terminate implements exec.Session.
func (h *host) Terminate(ctx context.Context, pid uint32) (bool, error) {
	if err := h.maySignal(ctx, pid, true, "must be a superuser to terminate superuser process",
		"must be a member of the role whose process is being terminated or member of pg_signal_backend"); err != nil {
		return false, err
	}
	return h.signal(ctx, pid, h.ss.srv.wire.Terminate(pid), true)
}

// signal looks for a session on the other nodes if there is none here. found reports whether there was.
func (h *host) signal(ctx context.Context, pid uint32, found, terminate bool) (bool, error) {
	if found && h.ss.srv.opts.Signalled != nil && pid != h.ss.start.PID {
		h.ss.srv.opts.Signalled(h.ss.start.User, pid, terminate)
	}
	if !found && h.ss.srv.opts.Signal != nil {
		mine, err := h.ss.access.allowed(ctx)
		if err != nil {
			return false, err
		}
		found, err = h.ss.srv.opts.Signal(ctx, h.ss.start.User, mine.Admin(), pid, terminate)
		if err != nil {
			return false, sqlstate.New(sqlstate.InsufficientPrivilege, "%s", err)
		}
	}
	return h.signalled(pid, found), nil
}

// signalled warns if no session has the process id.
func (h *host) signalled(pid uint32, found bool) bool {
	if !found {
		h.ss.notice(sqlstate.New(sqlstate.Warning, "PID %d is not a PostgreSQL backend process", int32(pid)))
	}
	return found
}

// maySignal returns an error if a session belongs to another user and the current user is not an admin. The messages
// are PostgreSQL's (signalfuncs.c).
func (h *host) maySignal(ctx context.Context, pid uint32, terminate bool, admins, others string) error {
	target := h.ss.srv.session(pid)
	mine, err := h.ss.access.allowed(ctx)
	if err != nil || target == nil || mine.Admin() || target.start.User == h.ss.start.User {
		return err
	}
	if h.ss.srv.opts.SignalRefused != nil {
		h.ss.srv.opts.SignalRefused(h.ss.start.User, pid, terminate)
	}
	cat, err := h.ss.srv.opts.Catalog(ctx, target.access.who)
	if err == nil && cat.Admin() {
		return sqlstate.New(sqlstate.InsufficientPrivilege, "%s", admins)
	}
	return sqlstate.New(sqlstate.InsufficientPrivilege, "%s", others)
}

var errLockTimeout = sqlstate.New(sqlstate.LockNotAvailable, "canceling statement due to lock timeout")

// LockAdvisory implements catalog.AdvisoryLocker.
func (h *host) LockAdvisory(ctx context.Context, number int64, pair bool, how catalog.AdvisoryLock) (bool, error) {
	key := advisory.Key{Database: h.ss.start.Database, Number: number, Pair: pair}
	if !how.Wait {
		return h.ss.locks.Try(key, how.Shared, how.Transaction)
	}
	if d := settings.Duration(h.ss.vars.Value("lock_timeout")); d > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, d, errLockTimeout)
		defer stop()
	}
	err := h.ss.locks.Lock(ctx, key, how.Shared, how.Transaction)
	return err == nil, err
}

// UnlockAdvisory implements catalog.AdvisoryLocker.
func (h *host) UnlockAdvisory(number int64, pair, shared bool) bool {
	ok := h.ss.locks.Unlock(advisory.Key{Database: h.ss.start.Database, Number: number, Pair: pair}, shared)
	if !ok {
		kind := "ExclusiveLock"
		if shared {
			kind = "ShareLock"
		}
		h.ss.notice(sqlstate.New(sqlstate.Warning, "you don't own a lock of type %s", kind))
	}
	return ok
}

// UnlockAllAdvisory implements catalog.AdvisoryLocker.
func (h *host) UnlockAllAdvisory() { h.ss.locks.UnlockAll() }

// ExportSnapshot implements catalog.AdvisoryLocker.
func (h *host) ExportSnapshot(ctx context.Context) (string, error) {
	return h.ss.reads.export(ctx, h.ss.tx)
}

// Notify implements catalog.Notifier: pg_notify.
func (h *host) Notify(ctx context.Context, channel, payload string) error {
	return h.ss.notes.Want(ctx, "notify", channel, payload)
}

// Listening implements catalog.Notifier: pg_listening_channels.
func (h *host) Listening() []string { return h.ss.notes.Channels() }

// CatalogSnapshot implements catalog.Source. A snapshot lasts for one message of the client. Later statements see
// design documents that others have changed.
func (h *host) CatalogSnapshot(ctx context.Context) (*catalog.Snapshot, error) {
	if h.snapshot != nil {
		return h.snapshot, nil
	}
	cat, err := h.ss.access.allowed(ctx)
	if err != nil {
		return nil, err
	}
	names, err := cat.Databases(ctx)
	if err != nil {
		return nil, exec.StoreError(err)
	}
	in := catalog.Input{Database: h.ss.start.Database, Databases: names, Maintenance: maintenance,
		ViewsAsTables: h.ss.vars.Value(settings.ViewKind) == "table",
		User:          h.ss.start.User, Superuser: cat.Admin(),
		QuoteAll:     func() bool { return h.ss.types.QuoteAll },
		SystemTables: h.ss.names.systemTables(), SearchPath: h.ss.vars.SearchPath()}
	db, err := h.ss.access.open(ctx)
	if err != nil {
		return nil, err
	}
	if db != nil {
		in.HasDatabase = true
		if in.Designs, err = db.Designs(ctx); err != nil {
			return nil, exec.StoreError(err)
		}
		if guarded, ok := db.(catalog.Guarded); ok {
			in.ReadOnly = guarded.ReadOnly()
		}
	}
	in.Open = cat.Database
	in.Locks = func() []catalog.Lock {
		var out []catalog.Lock
		for _, l := range h.ss.srv.locks.List() {
			out = append(out, catalog.Lock{PID: l.PID, Database: l.Key.Database, Number: l.Key.Number, Pair: l.Key.Pair,
				Shared: l.Shared, Granted: l.Granted})
		}
		return out
	}
	in.Settings, in.Prepared, in.Cursors = h.ss.vars.Described, h.ss.statements.named, h.ss.portals.openCursors
	for _, a := range h.ss.srv.Sessions() {
		act := catalog.Activity{PID: int64(a.PID), User: a.User, Database: a.Database, Application: a.Application,
			Client: a.Remote, TLS: a.TLS,
			State: a.State, Statement: a.Statement, Since: a.Since.UnixMicro(), Hidden: !cat.Admin() &&
				a.User != h.ss.start.User}
		if !a.StatementSince.IsZero() {
			act.StatementSince = a.StatementSince.UnixMicro()
		}
		in.Sessions = append(in.Sessions, act)
	}
	h.snapshot = catalog.NewSnapshot(in) // also for names in the conditions of declared relations
	if in.Wrong, err = undeclarable(ctx, in.Designs, h.ss.names); err != nil {
		h.snapshot = nil
		return nil, err
	}
	if in.Wrong != nil {
		h.snapshot = catalog.NewSnapshot(in)
	}
	return h.snapshot, nil
}

// ObjectOID implements exec.Session.
func (h *host) ObjectOID(ctx context.Context, kind types.OID, name string) (int64, bool, error) {
	if kind == types.RegType {
		if oid, ok := types.ByName(strings.ToLower(name)); ok {
			return int64(oid), true, nil
		}
	}
	s, err := h.CatalogSnapshot(ctx)
	if err != nil {
		return 0, false, err
	}
	return s.OID(kind, name)
}

// ObjectName implements exec.Session.
func (h *host) ObjectName(ctx context.Context, kind types.OID, oid int64) (string, bool, error) {
	s, err := h.CatalogSnapshot(ctx)
	if err != nil {
		return "", false, err
	}
	name, ok := s.Name(kind, oid)
	return name, ok, nil
}
