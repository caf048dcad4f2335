package api

import (
	"net"
	"net/http"

	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/conns"
	"github.com/divandb/divan/node/api/internal/docs"
	"github.com/divandb/divan/node/api/internal/feeds"
	"github.com/divandb/divan/node/api/internal/rows"
	"github.com/divandb/divan/node/api/internal/server"
	"github.com/divandb/divan/node/api/internal/settings"
)

// Authenticator is node/auth.
type Authenticator interface {
	// Authenticate finds out who sends r, by cookie or Authorization header, and may set a renewed cookie in h, the
	// response's header. Wrong credentials are a layer.Error of kind Unauthorized (reason "Name or password is
	// incorrect."); an empty or odd credential is anonymous, not an error (PouchDB sends such).
	Authenticate(r *http.Request, h http.Header) (User, error)

	// HasAdmins reports whether any admin is configured: new databases are then for admins only (CouchDB's
	// default_security = admin_local).
	HasAdmins() bool

	Sessions
}

// What the HTTP side needs of the rest of the node is declared where it is used. node wires these; each may be called
// from any goroutine.
type (
	Users    = docs.Users
	Feeds    = feeds.Feeds
	Indexer  = rows.Indexer
	Admins   = settings.Admins
	Sessions = server.Sessions
	Members  = server.Members
	Actors   = server.Actors
	Tasks    = server.Tasks
	Health   = server.Health
	Backups  = server.Backups
)

// The words that these speak in.
type (
	User       = call.User
	Member     = server.Member
	UpdateMode = rows.UpdateMode
)

// The modes.
const (
	UpdateTrue  = rows.UpdateTrue
	UpdateFalse = rows.UpdateFalse
	UpdateLazy  = rows.UpdateLazy
)

// Settings are the CouchDB-style options that clients read and set.
type Settings = settings.Settings

// NewSettings takes initial values by section and key, over CouchDB's defaults for what this server knows.
func NewSettings(initial map[string]map[string]string) *Settings { return settings.New(initial) }

// Listener bounds the connections of an HTTP server, by ConnLimits.
type (
	Listener   = conns.Listener
	ConnLimits = conns.Limits
)

// NewListener bounds the connections of l. Give it to http.Server.Serve, ConnState and ConnContext.
func NewListener(l net.Listener, limits ConnLimits) *Listener { return conns.NewListener(l, limits) }
