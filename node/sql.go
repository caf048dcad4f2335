package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/node/auth"
	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/docids"
	"github.com/divandb/divan/node/machine"
	"github.com/divandb/divan/node/sqlreads"
	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// serveSQL starts serving the SQL port.
func (n *Node) serveSQL(context.Context) error {
	secure, err := tlsConfig("sql.tls", n.cfg.SQL.TLS)
	if err != nil {
		return err
	}
	temp, err := n.tempFiles()
	if err != nil {
		return err
	}
	_, most := machine.Connections(n.cfg)
	at := actorPorts{n.actors}
	source := &sqlreads.Source{Store: n.store, Ensure: at.ensureForSQL, Listen: at.Listen, ShardOwner: at.shardOwner,
		IDs: &docids.IDs{Option: n.settings.Get}, BadValues: n.badValues}
	server := query.NewServer(query.Options{
		Catalog: func(ctx context.Context, who query.Principal) (exec.Catalog, error) {
			return catalog(ctx, source, n.auth, who)
		},
		Credentials: sqlCredentials{n.auth}, SetPassword: passwords{n.store,
			n.auth}.set, TLS: secure, MaxSessions: most, Log: n.log,
		Turns: n.turns, Observe: n.statementEnded, Slow: slowFrom, Trace: n.traces.statement(),
		Signal:    n.console.Signal,
		Signalled: func(user string, pid uint32, terminate bool) { console.Signalled(n.console, user, pid, terminate) },
		SignalRefused: func(user string, pid uint32, terminate bool) {
			console.SignalRefused(n.console, n.name, user, pid, terminate)
		},
		Temp: temp, BadValues: n.badValues,
		Memory: work.Limits{Node: int64(n.cfg.SQL.Memory), Session: int64(n.cfg.SQL.SessionMemory),
			Statement: int64(n.cfg.SQL.StatementMemory)},
	})
	source.System = source.SystemTables(sqlreads.Node{
		Members: n.cluster.Members, Actors: n.console.EachActor, Sessions: n.console.EachSession,
		Tasks: n.console.Tasks, Events: n.console.All,
	})
	n.sql = server
	served := make(chan error, 1)
	go func() { served <- server.Serve(n.sqlListener) }()
	n.parts.add("sql", func(ctx context.Context) error {
		patience, cancel := context.WithTimeout(ctx, drain)
		defer cancel()
		err := server.Shutdown(patience)
		if errors.Is(err, context.DeadlineExceeded) { // the remaining sessions were cut off
			err = nil
		}
		if serveErr := <-served; !errors.Is(serveErr, pgwire.ErrServerClosed) {
			err = errors.Join(err, serveErr)
		}
		return err
	})
	return nil
}

// statementEnded counts a statement, and reports it if it was slow.
func (n *Node) statementEnded(s query.Ended) {
	n.measuring.statement(s)
	n.happened.statementEnded(s)
}

// tempDir is the directory of the temporary files of SQL, below the data directory.
const tempDir = "sql-temp"

// tempFiles returns the space for the temporary files of statements, or nil if there is to be none. It removes those
// that an earlier process has left.
func (n *Node) tempFiles() (*spill.Space, error) {
	if n.cfg.SQL.TempFiles == 0 || n.cfg.Data == "" {
		return nil, nil
	}
	space, err := spill.New(spill.Dir(filepath.Join(n.cfg.Data, tempDir)), int64(n.cfg.SQL.TempFiles))
	if err == nil {
		space.Spare = embedded.SpareBytes(n.engine) // the store is below the data directory, too
	}
	return space, err
}

// catalog returns what a session's user may read: everything if no login is required.
func catalog(ctx context.Context, source *sqlreads.Source, known *auth.Authenticator,
	who query.Principal) (exec.Catalog, error) {
	if !who.Authenticated {
		if !known.Open() {
			return nil, &exec.ReadError{Kind: exec.Forbidden,
				Message: "permission denied: an admin has been configured, log in"}
		}
		return source.Catalog(layer.UserCtx{Name: who.User, Roles: []string{auth.AdminRole}}, nil), nil
	}
	user := func(ctx context.Context) (layer.UserCtx, error) {
		u, err := known.User(ctx, who.User)
		if layer.KindOf(err) == layer.Unauthorized {
			err = &exec.ReadError{Kind: exec.Forbidden,
				Message: fmt.Sprintf("permission denied: user %q no longer exists", who.User), Err: err}
		}
		return u, err
	}
	now, err := user(ctx)
	if err != nil {
		return nil, err
	}
	return source.Catalog(now, user), nil
}

// sqlCredentials implements pgwire.Credentials with auth.
type sqlCredentials struct{ auth *auth.Authenticator }

// Required implements pgwire.Credentials.
func (c sqlCredentials) Required() bool { return !c.auth.Open() }

// Verifier implements pgwire.Credentials. Names that cannot log in get keys too, which no password matches, so that
// clients cannot tell which names exist.
func (c sqlCredentials) Verifier(ctx context.Context, user string, remote net.Addr) (pgwire.Verifier, bool, error) {
	s, err := c.auth.SCRAM(ctx, user, remote)
	var refused *layer.Error
	if errors.As(err, &refused) && refused.Kind == layer.Forbidden {
		return pgwire.Verifier{}, false, sqlstate.New(sqlstate.InvalidAuthorization, "%s", refused.Reason)
	}
	return pgwire.Verifier{
		Salt: s.Salt, Iterations: s.Iterations, StoredKey: s.StoredKey, ServerKey: s.ServerKey,
		Admin: s.Admin, Succeeded: s.Succeeded, Failed: s.Failed,
	}, true, err
}

// consoleUser is the user of SQL sessions of the console while nobody has to log in.
const consoleUser = "console"

// cameBy is the connection by which a request to the console came.
type cameBy struct {
	remote, local net.Addr
	tls           *tls.ConnectionState
}

type cameByKey struct{}

// withConnection keeps the connection of a request for runSQL.
func withConnection(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by := cameBy{tls: r.TLS}
		by.local, _ = r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if at, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
			by.remote = net.TCPAddrFromAddrPort(at)
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), cameByKey{}, by)))
	})
}

// runSQL runs a statement of the console in an SQL session of its own, as the user who is logged in.
func (n *Node) runSQL(ctx context.Context, s console.Statement, to console.Results) error {
	if n.running.Load() == nil || n.sql == nil {
		return &state.SQLError{Code: string(sqlstate.CannotConnectNow), Message: "the node is starting"}
	}
	by, _ := ctx.Value(cameByKey{}).(cameBy)
	who := pgwire.Inside{User: s.User, Authenticated: !n.auth.Open(), Admin: true, Database: s.Database,
		Remote: by.remote, Local: by.local, TLS: by.tls != nil,
		Settings: map[string]string{"application_name": "console", "client_encoding": "UTF8"}}
	if who.User == "" {
		who.User = consoleUser
	}
	if who.Remote == nil {
		who.Remote = n.httpListener.Addr()
	}
	if who.Local == nil {
		who.Local = n.httpListener.Addr()
	}
	text, prefix := s.SQL, 0
	var err error
	if s.Explain != "" {
		text, prefix, err = query.Explaining(ctx, s.SQL, s.Explain == console.PlanAndRun)
	}
	if err == nil {
		err = n.sql.Wire().Run(ctx, who, text, sqlResults{to})
	}
	var failed *sqlstate.Error
	if errors.As(err, &failed) {
		told := sqlError(failed)
		told.Position = max(0, told.Position-prefix) // in what the user wrote
		return told
	}
	return err
}

// sqlResults passes results on to the console.
type sqlResults struct{ console.Results }

// Columns implements pgwire.Results.
func (r sqlResults) Columns(list []pgwire.Column) error {
	columns := make([]state.SQLColumn, len(list))
	for i, c := range list {
		columns[i] = state.SQLColumn{Name: c.Name, Type: types.NameOf(types.OID(c.OID))}
	}
	return r.Results.Columns(columns)
}

// Notice implements pgwire.Results.
func (r sqlResults) Notice(e *sqlstate.Error) error { return r.Results.Notice(sqlError(e)) }

func sqlError(e *sqlstate.Error) *state.SQLError {
	return &state.SQLError{Code: string(e.Code), Message: e.Message, Detail: e.Detail, Hint: e.Hint, Position: e.Pos}
}
