package query

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/divandb/divan/query/advisory"
	"github.com/divandb/divan/query/charset"
	"github.com/divandb/divan/query/notify"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/plan"
	"github.com/divandb/divan/query/settings"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
	"github.com/divandb/divan/query/zones"
)

// session is the state of one client. Only the connection's goroutine uses it, except for mu. Its methods handle the
// client's messages.
type session struct {
	srv    *Server
	start  pgwire.Start
	client pgwire.Client
	// memory is the memory of the session's statements, portals and messages.
	memory *work.Memory
	types  types.Env

	access     *access
	vars       *settings.Values
	locks      *advisory.Owner
	notes      *notify.Session
	reads      *reads
	portals    *portals
	tx         *transaction
	names      *resolver
	statements *statements
	host       host
	traced     *traced
	slow       shownPlan       // of the current statement, when it has ended
	failed     *sqlstate.Error // of the current statement
	pieces     int64           // memory held for the statements of the current simple query
	*storeWriter

	mu struct {
		sync.Mutex
		state     byte // status of the transaction, or 'A' while active
		statement string
		since     time.Time
		app       string
		// rowsBefore is rows when the current statement began.
		rowsBefore int64
		running    shownPlan // of the current statement, while it runs
	}
	rows atomic.Int64 // that were returned to the client
}

func newSession(ctx context.Context, srv *Server, start pgwire.Start, client pgwire.Client) (*session, error) {
	access, err := newAccess(ctx, srv, Principal{User: start.User, Authenticated: start.Authenticated}, start.Database)
	if err != nil {
		return nil, err
	}
	ss := &session{srv: srv, start: start, client: client, access: access, locks: srv.locks.NewOwner(),
		memory: srv.memory.NewSession(srv.opts.Memory.Session)}
	ss.host.ss = ss
	ss.vars = settings.New(start.User, ss.memory, ss.applied, ss.notice)
	ss.portals = &portals{byName: map[string]*portal{}}
	ss.locks.PID = int64(start.PID)
	o := notify.Options{Hub: &srv.notes, Client: client, PID: start.PID, Database: access.database, Log: srv.log,
		Notice: ss.notice, Newest: plan.Newest}
	if !access.virtual {
		o.Open, o.Follow = access.open, access.reopen
	}
	ss.notes = notify.New(o)
	ss.reads = &reads{access: access, vars: ss.vars, held: &srv.snapshots, idle: srv.opts.SnapshotIdle}
	ss.tx = &transaction{status: 'I', vars: ss.vars, locks: ss.locks, notes: ss.notes, portals: ss.portals,
		reads: ss.reads, notice: ss.notice}
	ss.traced = &traced{begin: srv.opts.Trace}
	ss.storeWriter = &storeWriter{access: access, vars: ss.vars, reads: ss.reads, tx: ss.tx, traced: ss.traced}
	ss.reads.readOnly = ss.tx.readOnly
	ss.tx.commit = ss.storeWriter.commit
	ss.names = &resolver{access: access, vars: ss.vars, srv: srv}
	ss.statements = &statements{byName: map[string]*prepared{}, memory: ss.memory, node: srv.memory, names: ss.names,
		tx: ss.tx, portals: ss.portals}
	ss.vars.Init("session_authorization", start.User)
	for name, value := range srv.fixedSettings(access.catalog.Admin()) {
		ss.vars.Init(name, value)
	}
	for _, name := range slices.Sorted(maps.Keys(start.Settings)) {
		if err := ss.vars.Begin(name, start.Settings[name]); err != nil {
			return nil, err
		}
	}
	ss.mu.state, ss.mu.since = 'I', start.Since
	return ss, nil
}

// applied puts a changed setting into effect.
func (ss *session) applied(name string) {
	switch name {
	case "client_encoding":
		ss.types.Charset = nil
		var e pgwire.Encoding
		if c, _ := charset.Find(ss.vars.Value(name)); c.Converts() {
			ss.types.Charset, e = c, c
		}
		ss.client.SetEncoding(e)
	case "timezone":
		ss.types.Location, _, _ = zones.Location(ss.vars.Value(name))
	case "datestyle":
		ss.types.DateOrder = strings.TrimPrefix(ss.vars.Value(name), "ISO, ")
	case "intervalstyle":
		ss.types.IntervalStyle = ss.vars.Value(name)
	case "bytea_output":
		ss.types.ByteaEscape = ss.vars.Value(name) == "escape"
	case "quote_all_identifiers":
		ss.types.QuoteAll = ss.vars.Value(name) == "on"
	case "application_name":
		ss.mu.Lock()
		ss.mu.app = ss.vars.Value(name)
		ss.mu.Unlock()
	}
}

// Parameters implements pgwire.Session.
func (ss *session) Parameters() []pgwire.Parameter { return ss.vars.Parameters() }

// Notifications implements pgwire.Session.
func (ss *session) Notifications() []pgwire.Notification { return ss.notes.Take() }

// Status implements pgwire.Session.
func (ss *session) Status() byte {
	ss.memory.Shrink(ss.pieces)
	ss.pieces = 0
	ss.tx.settle()
	ss.vars.Report(ss.client)
	ss.reads.idles()
	ss.access.fresh = false
	ss.statements.round++
	ss.portals.pause()
	ss.mark(ss.tx.status, "")
	ss.traced.follow("", "", "", ss.rows.Load())
	return ss.tx.status
}

// IdleTimeout implements pgwire.Session.
func (ss *session) IdleTimeout() time.Duration {
	if ss.tx.status == 'I' {
		return 0
	}
	return settings.Duration(ss.vars.Value("idle_in_transaction_session_timeout"))
}

// Fail implements pgwire.Session. A statement, or the transaction block, has failed.
func (ss *session) Fail(e *sqlstate.Error) {
	ss.traced.failed, ss.failed = true, e
	ss.tx.fail()
}

// Sync implements pgwire.Session.
func (ss *session) Sync(ctx context.Context) error {
	if ss.tx.status != 'I' {
		return nil
	}
	ss.portals.closeThose(notHeld)
	return ss.Commit(ctx)
}

// Grow implements pgwire.Session.
func (ss *session) Grow(n int64) error { return ss.memory.Grow(n) }

// Shrink implements pgwire.Session.
func (ss *session) Shrink(n int64) { ss.memory.Shrink(n) }

// Close implements pgwire.Session.
func (ss *session) Close() {
	ss.notes.Drop(0)
	ss.notes.Unlisten("*")
	ss.locks.End()
	ss.portals.closeThose(func(*portal) bool { return true })
	ss.reads.end()
	ss.mu.Lock()
	if ss.mu.state == 'A' {
		observe(ss, true)
	}
	ss.mu.Unlock()
	ss.traced.follow("", "", "", ss.rows.Load())
	ss.memory.Close()
	ss.srv.forget(ss)
}

// withPassword matches statements that contain a password.
var withPassword = regexp.MustCompile(`(?is)\b(alter|create)\b.*\b(user|role)\b.*\bpassword\b`)

// mayHavePassword tells, much faster than withPassword, that most statements do not match it.
func mayHavePassword(statement string) bool {
	const word = "password"
	for i := range len(statement) {
		if c := statement[i]; c >= utf8.RuneSelf ||
			c|' ' == word[0] && len(statement)-i >= len(word) && strings.EqualFold(statement[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

// longestShown is how many bytes of a statement others see, and isCut ends a longer one: its beginning alone may do
// something else.
const (
	longestShown = 1024
	isCut        = "… (cut)"
)

// mark records for divan.sessions what the session is doing. A new statement gets a new view of the catalogue.
func (ss *session) mark(state byte, statement string) {
	ss.host.snapshot = nil
	if state == 'A' {
		ss.reads.works()
		ss.srv.opts.Turns.Arrive()
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	switch {
	case state != 'A':
	case ss.tx.status == 'T':
		ss.types.Now = ss.tx.began
	case ss.mu.state != 'A':
		// The statements up to the next Sync are one transaction.
		ss.types.Now = time.Now().Truncate(time.Microsecond)
	}
	if ss.mu.state == 'A' && (state != 'A' || statement != "") {
		observe(ss, false)
	}
	ss.mu.state = state
	if statement != "" {
		ss.failed = nil
		if len(statement) > longestShown {
			statement = types.Truncate(statement, longestShown-len(isCut)) + isCut
		}
		if statement != ss.mu.statement {
			if mayHavePassword(statement) && withPassword.MatchString(statement) {
				// Admins and the log see the text, also of a statement that is not valid.
				statement = "ALTER USER ... PASSWORD"
			}
			ss.mu.statement = strings.Clone(statement)
		}
		ss.mu.since = time.Now()
	}
	ss.mu.rowsBefore, ss.mu.running = ss.rows.Load(), shownPlan{}
}

// observe reports that a session's current statement has ended. The caller holds the lock.
func observe(ss *session, cut bool) {
	if ss.srv.opts.Observe != nil {
		ss.srv.opts.Observe(Ended{PID: ss.start.PID, User: ss.start.User, Database: ss.start.Database,
			Application: ss.mu.app, Statement: ss.mu.statement, Took: time.Since(ss.mu.since),
			Failed: ss.failed, Cut: cut, Rows: ss.rows.Load() - ss.mu.rowsBefore, Plan: ss.slow.text,
			Examined: ss.slow.examined})
	}
	ss.slow, ss.failed = shownPlan{}, nil
}

func (ss *session) describe() Session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	state := map[byte]string{'A': "active", 'I': "idle", 'T': "idle in transaction",
		'E': "idle in transaction (aborted)"}[ss.mu.state]
	s := Session{PID: ss.start.PID, User: ss.start.User, Database: ss.start.Database, Application: ss.mu.app,
		Remote: ss.start.Remote.String(), TLS: ss.start.TLS, Since: ss.start.Since, State: state,
		Statement: ss.mu.statement, StatementSince: ss.mu.since, Rows: ss.rows.Load()}
	if ss.mu.state == 'A' {
		s.Returned, s.Examined, s.Plan = s.Rows-ss.mu.rowsBefore, ss.mu.running.examined, ss.mu.running.text
	}
	return s
}

// work returns a Work of this session.
func (ss *session) work(ctx context.Context) *work.Work {
	return work.New(ctx, ss.memory, ss.srv.opts.Memory.Statement, ss.srv.opts.Turns)
}

// timed adds statement_timeout to a context.
func (ss *session) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	if d := ss.vars.StatementTimeout(); d > 0 {
		return context.WithTimeoutCause(ctx, d, errTimeout)
	}
	return ctx, func() {}
}

var errTimeout = sqlstate.New(sqlstate.QueryCanceled, "canceling statement due to statement timeout")

// located converts the position of an error from a byte offset in a statement to a character number in the whole query.
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

// notice sends a notice to the client, unless client_min_messages is above it.
func (ss *session) notice(n *sqlstate.Error) {
	if ss.vars.Value("client_min_messages") != "error" {
		ss.client.Notice(n)
	}
}

// execution begins an execution of a statement.
func (ss *session) execution(st *prepared, params []types.Datum) *execution {
	return &execution{ss: ss, st: st, params: params}
}
