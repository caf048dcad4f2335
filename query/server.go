// Package query is the SQL side of a node: a PostgreSQL server over the reads that package exec declares. It connects
// pgwire (the protocol), sql/parse, bind and plan (from statements to plans), exec (from plans to rows) and catalog
// (the system catalogue), and owns the sessions. docs/sql.md describes the statements, and
// docs/guides/analysts.md what to do with them.
package query

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/divandb/divan/query/advisory"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/badvalues"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/notify"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/work"
)

// Principal is the user that a session acts for.
type Principal struct {
	User string
	// Authenticated is false if the server has no credentials to check. The node then lets everyone act as admin.
	Authenticated bool
}

// Options configure a Server. Catalog is required.
type Options struct {
	// Catalog returns what a user may see. It is called at login and for every message that runs a statement. It may
	// return a *exec.ReadError, of kind Forbidden if the user no longer exists.
	Catalog func(ctx context.Context, who Principal) (exec.Catalog, error)
	// Credentials are the users who may log in by SCRAM-SHA-256. nil accepts everyone.
	Credentials pgwire.Credentials
	// SetPassword sets a user's password, given as a text or as a SCRAM-SHA-256 verifier in PostgreSQL's notation. It
	// checks that who may do that. If it changes nothing it returns ErrNoUser, ErrNotYours, ErrBadSecret,
	// ErrUncheckable, ErrChangedMeanwhile or an *exec.ReadError. nil refuses ALTER USER.
	SetPassword func(ctx context.Context, who Principal, user, secret string) error
	// TLS, if not nil, is offered; RequireTLS requires it.
	TLS        *tls.Config
	RequireTLS bool
	// MaxSessions limits the sessions; further ones get 53300. 0 means 256. The last few are reserved for admins.
	MaxSessions int
	// Memory limits the memory of statements. Beyond it they fail with 53200.
	Memory work.Limits
	// Temp is the space for temporary files. nil: statements that do not fit into memory fail with 53200.
	Temp *spill.Space
	// BadValues counts the values that typed columns show as NULL; nil counts nothing.
	BadValues *badvalues.Counts
	// Turns shares the processors between long statements; nil creates one for this server alone.
	Turns *work.Turns
	Log   *slog.Logger
	// Signal, if not nil, cancels the statement of a session of another node, or ends the session, for a user. It
	// reports whether there is such a session. The error is a reason why the user may not.
	Signal func(ctx context.Context, user string, admin bool, pid uint32, terminate bool) (bool, error)
	// Signalled, if not nil, is called after a user has done that to another session of this node.
	Signalled func(user string, pid uint32, terminate bool)
	// SignalRefused, if not nil, is called after a user has tried that without the right to do it.
	SignalRefused func(user string, pid uint32, terminate bool)
	// Observe, if not nil, is called at the end of each message that ran a statement, or a part of one. It is called
	// with a lock of the session, and must not block.
	Observe func(Ended)
	// Slow is how long a query takes whose plan is in Ended; 0 means that none is.
	Slow time.Duration
	// Trace, if not nil, is called when a statement begins. query is the message that has it, with all comments. It
	// must not block.
	Trace func(database, statement, query string) Trace
	// SnapshotIdle is how long a REPEATABLE READ transaction keeps its snapshot without a message; 0 means 5 minutes.
	SnapshotIdle time.Duration
}

// Server serves SQL sessions.
type Server struct {
	opts Options
	wire *pgwire.Server
	log  *slog.Logger
	// snapshots are the snapshots of transactions.
	snapshots heldSnapshots
	// locks are the advisory locks of all sessions.
	locks *advisory.Locks
	// notes passes notifications between sessions.
	notes notify.Hub
	// memory is the memory of all sessions.
	memory *work.Memory

	mu struct {
		sync.Mutex
		sessions map[*session]struct{}
	}
}

// NewServer returns a server that is not listening yet.
func NewServer(opts Options) *Server {
	opts.Memory = opts.Memory.WithDefaults()
	if opts.Turns == nil {
		opts.Turns = work.NewTurns(nil)
	}
	s := &Server{locks: advisory.New(), opts: opts, log: opts.Log, memory: work.NewNode(opts.Memory.Node)}
	if s.log == nil {
		s.log = slog.Default()
	}
	s.mu.sessions = map[*session]struct{}{}
	s.wire = pgwire.NewServer(pgwire.Options{Handler: s, Credentials: opts.Credentials, TLS: opts.TLS,
		RequireTLS:     opts.RequireTLS,
		MaxConnections: opts.MaxSessions, Log: s.log})
	return s
}

// Serve accepts connections on l until Shutdown, and then returns pgwire.ErrServerClosed.
func (s *Server) Serve(l net.Listener) error { return s.wire.Serve(l) }

// Shutdown stops accepting, ends the sessions with 57P01, and waits for them. If ctx ends first it closes their
// connections.
func (s *Server) Shutdown(ctx context.Context) error { return s.wire.Shutdown(ctx) }

// Session describes a session for divan.sessions and the dashboard.
type Session struct {
	PID         uint32
	User        string
	Database    string
	Application string
	Remote      string
	TLS         bool
	Since       time.Time
	State       string // "active", "idle", "idle in transaction", "idle in transaction (aborted)"
	// Statement is the current or the last statement, cut to 1 KB. StatementSince is when it began.
	Statement      string
	StatementSince time.Time
	// Rows is the number of rows sent in total, and Returned how many of them are of the statement that runs.
	Rows, Returned int64
	// Plan is what EXPLAIN (ANALYZE) shows of a query that has run for a second and still runs, and Examined how many
	// rows its reads have examined. Both are renewed every second, as long as the query does not wait.
	Plan     string
	Examined int64
}

// Ended is a statement, or a part of one, that has ended: a client may ask for the rows of a statement in parts.
type Ended struct {
	PID                         uint32
	User, Database, Application string
	Statement                   string // cut to 1 KB
	Took                        time.Duration
	Rows                        int64 // sent
	// Failed is the error that the client was sent, or nil. Cut reports that the session ended before the statement: it
	// was terminated, or its client is gone.
	Failed *sqlstate.Error
	Cut    bool
	// Plan is what EXPLAIN (ANALYZE) shows of a query that took longer than Options.Slow, and Examined how many rows
	// its reads have examined; otherwise empty.
	Plan     string
	Examined int64
}

// Sessions lists the sessions of this node, oldest first.
func (s *Server) Sessions() []Session {
	s.mu.Lock()
	list := make([]*session, 0, len(s.mu.sessions))
	for ss := range s.mu.sessions {
		list = append(list, ss)
	}
	s.mu.Unlock()
	out := make([]Session, len(list))
	for i, ss := range list {
		out[i] = ss.describe()
	}
	slices.SortFunc(out, func(a, b Session) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.PID, b.PID)) })
	return out
}

// Memory returns the memory in bytes that statements, cursors and prepared statements of all sessions hold now, the
// highest value so far, and the limit.
func (s *Server) Memory() (now, peak, limit int64) {
	now, peak = s.memory.Used()
	return now, peak, s.memory.Limit()
}

// TempFiles returns the bytes of temporary files now, the highest value so far, and the limit, 0 if there are none.
func (s *Server) TempFiles() (now, peak, limit int64) { return s.opts.Temp.Used() }

// Spilled returns how many statements have written temporary files.
func (s *Server) Spilled() int64 { return s.opts.Temp.Spilled() }

// Wire returns the server of the connections, which can end them and their statements, and run SQL inside the node.
func (s *Server) Wire() *pgwire.Server { return s.wire }

// session returns a session by its process id; nil if there is none.
func (s *Server) session(pid uint32) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ss := range s.mu.sessions {
		if ss.start.PID == pid {
			return ss
		}
	}
	return nil
}

// Open implements pgwire.Handler.
func (s *Server) Open(ctx context.Context, start pgwire.Start, client pgwire.Client) (pgwire.Session, error) {
	ss, err := newSession(ctx, s, start, client)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.mu.sessions[ss] = struct{}{}
	s.mu.Unlock()
	return ss, nil
}

func (s *Server) forget(ss *session) {
	s.mu.Lock()
	delete(s.mu.sessions, ss)
	s.mu.Unlock()
}

// fixedSettings are the settings that describe this server.
func (srv *Server) fixedSettings(admin bool) map[string]string {
	onOff := func(on bool) string {
		if on {
			return "on"
		}
		return "off"
	}
	return map[string]string{
		"is_superuser": onOff(admin), "ssl": onOff(srv.opts.TLS != nil),
		"max_connections":                strconv.Itoa(pgwire.MaxConnections(srv.opts.MaxSessions)),
		"superuser_reserved_connections": strconv.Itoa(pgwire.AdminConnections),
	}
}
