package node

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"

	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

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
		return errors.New("the node is starting")
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
	err := n.sql.Wire().Run(ctx, who, s.SQL, sqlResults{to})
	var failed *sqlstate.Error
	if errors.As(err, &failed) {
		return sqlError(failed)
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
