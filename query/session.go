package query

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/divandb/divan/query/advisory"
	"github.com/divandb/divan/query/catalog"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/sql/parse"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// systemDatabase is the virtual database that always exists and holds only the system schemas.
const systemDatabase = "divan"

// maintenance are names under which tools look for a database that is always there, and that is no template. Where there
// is no database of such a name it is another name of the virtual one.
var maintenance = []string{"postgres", "template1"}

// Limits of one session.
const (
	maxStatements = 1000
	maxPortals    = 1000
)

// session is one client's state. All of it belongs to the connection's goroutine but for mu.
type session struct {
	srv     *Server
	start   pgwire.Start
	client  pgwire.Client
	catalog exec.Catalog
	// fresh says that catalog is of this round of messages. Statements use allowed, which sees to it; descriptions need not.
	fresh bool
	round int64
	vars  variables
	types types.Env
	seed  *funcs.Seed // of setseed; nil without one
	// memory is what the session's statements, portals and messages hold.
	memory *work.Memory
	// virtual says that the session's database is the virtual one.
	virtual bool
	// snapshot is the catalogue as this statement sees it, made when first asked for.
	snapshot *catalog.Snapshot

	status     byte // 'I', 'T', 'E'
	implicit   bool // several statements came in one simple query: they are a transaction, of a kind
	savepoints []savepoint
	began      time.Time // of the transaction
	queried    bool      // the transaction has read something
	snap       *pinned   // of a transaction that reads one; nil before its first read
	locks      *advisory.Owner
	notes      notifyState
	exports    []string // names of snapshots that the transaction has exported
	statements map[string]*prepared
	// opened counts the portals that the session has ever opened, beganAt those before the transaction.
	opened, beganAt int64
	portals         map[string]*portal
	cache           statementCache

	mu struct {
		sync.Mutex
		state     byte // as status, or 'A' while active
		statement string
		since     time.Time
		app       string
		rows      int64
	}
}

func newSession(ctx context.Context, srv *Server, start pgwire.Start, client pgwire.Client) (*session, error) {
	who := Principal{User: start.User, Authenticated: start.Authenticated}
	cat, err := srv.opts.Catalog(ctx, who)
	if err != nil {
		return nil, exec.DatabaseError(start.Database, err)
	}
	ss := &session{srv: srv, start: start, client: client, catalog: cat, vars: newVariables(), status: 'I',
		locks:      srv.locks.NewOwner(),
		memory:     srv.memory.NewSession(srv.opts.Memory.Session),
		statements: map[string]*prepared{}, portals: map[string]*portal{}}
	if ss.virtual = start.Database == systemDatabase; !ss.virtual {
		_, err := cat.Database(ctx, start.Database)
		ss.virtual = exec.KindOf(err) == exec.NotFound && slices.Contains(maintenance, start.Database)
		if err != nil && !ss.virtual {
			return nil, exec.DatabaseError(start.Database, err)
		}
	}
	ss.vars.value["session_authorization"], ss.vars.initial["session_authorization"] = start.User, start.User
	for name, value := range srv.fixedSettings(cat.Admin()) {
		ss.vars.value[name], ss.vars.initial[name] = value, value
	}
	for name, value := range start.Settings {
		v, err := ss.vars.check(name, value)
		if err != nil {
			return nil, err
		}
		ss.vars.value[name], ss.vars.initial[name] = v, v
		ss.applied(name)
	}
	ss.mu.state, ss.mu.since = 'I', start.Since
	return ss, nil
}

// applied carries a changed setting to where it has its effect.
func (ss *session) applied(name string) {
	switch name {
	case "timezone":
		ss.types.Location, _, _ = location(ss.vars.value[name])
	case "datestyle":
		ss.types.DateOrder = strings.TrimPrefix(ss.vars.value[name], "ISO, ")
	case "intervalstyle":
		ss.types.IntervalStyle = ss.vars.value[name]
	case "bytea_output":
		ss.types.ByteaEscape = ss.vars.value[name] == "escape"
	case "application_name":
		ss.mu.Lock()
		ss.mu.app = ss.vars.value[name]
		ss.mu.Unlock()
	}
}

// Parameters implements pgwire.Session.
func (ss *session) Parameters() []pgwire.Parameter {
	var out []pgwire.Parameter
	for i := range settings {
		if s := &settings[i]; s.report {
			ss.vars.reported[s.name] = ss.vars.value[s.name]
			out = append(out, pgwire.Parameter{Name: s.label(), Value: ss.vars.value[s.name]})
		}
	}
	return out
}

// Status implements pgwire.Session.
func (ss *session) Status() byte {
	if ss.status == 'I' {
		ss.commitVariables()
		ss.commitNotify()
		ss.locks.EndTransaction(0)
		ss.closePortals(notHeld)
		ss.beganAt = ss.opened
	}
	ss.implicit = false
	ss.report()
	ss.idles()
	ss.fresh = false
	ss.round++
	for _, p := range ss.portals {
		if r, running := p.rows.(*planRows); running {
			r.st.Pause()
		}
	}
	ss.mark(ss.status, "")
	return ss.status
}

// Fail implements pgwire.Session: a transaction block has failed. Its cursors wait for ROLLBACK or ROLLBACK TO a
// savepoint, which may be younger than they are.
func (ss *session) Fail() {
	switch ss.status {
	case 'T':
		ss.status = 'E'
		ss.ClosePortal("")
		mark := 0
		if n := len(ss.savepoints); n > 0 {
			mark = ss.savepoints[n-1].mark
		}
		ss.rollBackVariables(mark)
	case 'I':
		ss.rollBackVariables(0)
		ss.dropNotify(0)
		ss.locks.EndTransaction(0)
		ss.closePortals(func(p *portal) bool { return !p.hold || p.opened > ss.beganAt })
	}
}

// Sync implements pgwire.Session.
func (ss *session) Sync(context.Context) {
	if ss.status == 'I' {
		ss.closePortals(notHeld)
	}
}

// Grow implements pgwire.Session.
func (ss *session) Grow(n int64) error { return ss.memory.Grow(n) }

// Shrink implements pgwire.Session.
func (ss *session) Shrink(n int64) { ss.memory.Shrink(n) }

// Close implements pgwire.Session.
func (ss *session) Close() {
	ss.dropNotify(0)
	ss.unlisten("*")
	ss.locks.End()
	ss.closePortals(func(*portal) bool { return true })
	ss.endExports()
	ss.unpin()
	ss.memory.Close()
	ss.srv.forget(ss)
}

// notHeld is true of portals that end with their transaction, as all but cursors WITH HOLD do.
func notHeld(p *portal) bool { return !p.hold }

// closePortals closes the portals of which which is true.
func (ss *session) closePortals(which func(*portal) bool) {
	for name, p := range ss.portals {
		if which(p) {
			p.Close()
			delete(ss.portals, name)
		}
	}
}

// open gives a portal its name.
func (ss *session) open(name string, p *portal) {
	ss.opened++
	p.name, p.opened, p.at, p.text = name, ss.opened, time.Now(), cmp.Or(p.text, p.query)
	ss.portals[name] = p
}

// endTransaction is COMMIT, or ROLLBACK.
func (ss *session) endTransaction(commit bool) {
	ss.status, ss.savepoints = 'I', nil
	ss.locks.EndTransaction(0)
	if commit {
		ss.closePortals(notHeld)
	} else {
		ss.closePortals(func(p *portal) bool { return !p.hold || p.opened > ss.beganAt })
	}
	ss.beganAt = ss.opened
	ss.endExports()
	ss.unpin()
	if commit {
		ss.commitVariables()
		ss.commitNotify()
	} else {
		ss.rollBackVariables(0)
		ss.dropNotify(0)
	}
}

// mark notes for divan.sessions what the session is doing. A new statement sees a new catalogue.
func (ss *session) mark(state byte, statement string) {
	ss.snapshot = nil
	if state == 'A' {
		ss.works()
		ss.srv.opts.Turns.Arrive()
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.mu.state = state
	if statement != "" {
		ss.mu.statement = types.Truncate(statement, 1024)
		ss.mu.since = time.Now()
	}
}

func (ss *session) describe() Session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	state := map[byte]string{'A': "active", 'I': "idle", 'T': "idle in transaction", 'E': "idle in transaction (aborted)"}[ss.mu.state]
	return Session{PID: ss.start.PID, User: ss.start.User, Database: ss.start.Database, Application: ss.mu.app,
		Remote: ss.start.Remote.String(), TLS: ss.start.TLS, Since: ss.start.Since, State: state,
		Statement: ss.mu.statement, StatementSince: ss.mu.since, Rows: ss.mu.rows}
}

// Split implements pgwire.Session.
func (ss *session) Split(ctx context.Context, query string) ([]pgwire.Piece, error) {
	ctx, stop := ss.timed(ctx)
	defer stop()
	w := ss.work(ctx)
	defer w.Close()
	texts, offsets, err := parse.Split(w, query)
	if err != nil {
		return nil, located(err, query, 0)
	}
	// A simple query replaces what has no name.
	ss.CloseStatement("")
	ss.ClosePortal("")
	ss.implicit = len(texts) > 1
	pieces := make([]pgwire.Piece, len(texts))
	for i := range texts {
		pieces[i] = pgwire.Piece{Text: texts[i], Query: query, Offset: offsets[i]}
	}
	return pieces, nil
}

// Simple implements pgwire.Session.
func (ss *session) Simple(ctx context.Context, piece pgwire.Piece) (pgwire.Portal, error) {
	ss.mark('A', piece.Text)
	began := time.Now()
	preparing, stop := ss.timed(ctx)
	defer stop()
	w := ss.work(preparing)
	st, err := ss.prepare(w, piece.Text, nil)
	w.Pause() // the portal works by itself
	if err == nil && len(st.params) > 0 {
		number, at := parse.FirstParam(w, piece.Text)
		err = sqlstate.New(sqlstate.UndefinedParameter, "there is no parameter $%s", number).At(at)
	}
	var p *portal
	if err == nil {
		p, err = ss.portal(st, nil, nil)
	}
	if err != nil {
		w.Close()
		return nil, located(err, piece.Query, piece.Offset)
	}
	p.query, p.offset, p.prepared, p.began = piece.Query, piece.Offset, w, began
	return p, nil
}

// work starts a piece of work of this session.
func (ss *session) work(ctx context.Context) *work.Work {
	return work.New(ctx, ss.memory, ss.srv.opts.Memory.Statement, ss.srv.opts.Turns)
}

// timed ends a context after statement_timeout.
func (ss *session) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	if d := ss.vars.statementTimeout(); d > 0 {
		return context.WithTimeoutCause(ctx, d, errTimeout)
	}
	return ctx, func() {}
}

var errTimeout = sqlstate.New(sqlstate.QueryCanceled, "canceling statement due to statement timeout")

// located turns the position of an error, which is a byte offset in a statement, into a character's number in the whole query.
func located(err error, query string, offset int) error {
	e := sqlstate.From(err)
	if e.Pos == 0 {
		return err
	}
	c := *e
	at := min(e.Pos-1+offset, len(query))
	c.Pos = utf8.RuneCountInString(query[:at]) + 1
	return &c
}

// The rest makes session an exec.Session.

func (ss *session) User() string     { return ss.start.User }
func (ss *session) Database() string { return ss.start.Database }
func (ss *session) PID() uint32      { return ss.start.PID }

// Seed is where setseed keeps its state.
func (ss *session) Seed() **funcs.Seed { return &ss.seed }

func (ss *session) Started() time.Time { return ss.start.Since }

func (ss *session) Remote() (string, int) {
	host, port, err := net.SplitHostPort(ss.start.Remote.String())
	if err != nil {
		return "", 0
	}
	n, _ := strconv.Atoi(port)
	return host, n
}

func (ss *session) Setting(name string) (string, bool) {
	name = strings.ToLower(name)
	if name == isolationSetting && ss.status == 'I' {
		name = "default_" + name
	}
	return ss.vars.get(name)
}

// isolationSetting is the isolation level of the transaction.
const isolationSetting = "transaction_isolation"

func (ss *session) SetSetting(name, value string, local bool) error {
	if name = strings.ToLower(name); name == isolationSetting {
		return ss.setIsolation(value)
	}
	return ss.setVariable(name, &value, local)
}

// Cancel implements exec.Session.
func (ss *session) Cancel(ctx context.Context, pid uint32) (bool, error) {
	if err := ss.maySignal(ctx, pid, "must be a superuser to cancel superuser query",
		"must be a member of the role whose query is being canceled or member of pg_signal_backend"); err != nil {
		return false, err
	}
	return ss.signalled(pid, ss.srv.wire.Cancel(pid)), nil
}

// Terminate implements exec.Session.
func (ss *session) Terminate(ctx context.Context, pid uint32) (bool, error) {
	if err := ss.maySignal(ctx, pid, "must be a superuser to terminate superuser process",
		"must be a member of the role whose process is being terminated or member of pg_signal_backend"); err != nil {
		return false, err
	}
	return ss.signalled(pid, ss.srv.wire.Terminate(pid)), nil
}

// signalled warns of a process id that nobody has.
func (ss *session) signalled(pid uint32, found bool) bool {
	if !found {
		ss.notice(sqlstate.New(sqlstate.Warning, "PID %d is not a PostgreSQL backend process", int32(pid)))
	}
	return found
}

// maySignal fails where a session is somebody else's and the user is no admin. The words are PostgreSQL's (signalfuncs.c).
func (ss *session) maySignal(ctx context.Context, pid uint32, admins, others string) error {
	target := ss.srv.session(pid)
	mine, err := ss.allowed(ctx)
	if err != nil || target == nil || mine.Admin() || ss.owns(target.start.User) {
		return err
	}
	cat, err := ss.srv.opts.Catalog(ctx, target.principal())
	if err == nil && cat.Admin() {
		return sqlstate.New(sqlstate.InsufficientPrivilege, "%s", admins)
	}
	return sqlstate.New(sqlstate.InsufficientPrivilege, "%s", others)
}

// notice tells the client something, unless client_min_messages is above it.
func (ss *session) notice(n *sqlstate.Error) {
	if ss.vars.value["client_min_messages"] != "error" {
		ss.client.Notice(n)
	}
}

// owns says that a session of a user is the own user's.
func (ss *session) owns(user string) bool { return user == ss.start.User }

func (ss *session) principal() Principal {
	return Principal{User: ss.start.User, Authenticated: ss.start.Authenticated}
}

// allowed is what the user may see now. It is asked once for what the client sends up to the next ReadyForQuery.
func (ss *session) allowed(ctx context.Context) (exec.Catalog, error) {
	if !ss.fresh {
		cat, err := ss.srv.opts.Catalog(ctx, ss.principal())
		if err != nil {
			return nil, exec.StoreError(err)
		}
		ss.catalog, ss.fresh = cat, true
	}
	return ss.catalog, nil
}

// recheck fails where a result that is being read may not be read any more.
func (ss *session) recheck(ctx context.Context) error {
	ss.fresh = false
	_, err := (&resolver{ss: ss}).Database(ctx)
	return err
}
