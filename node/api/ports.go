package api

import (
	"net"
	"net/http"

	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/conns"
	"github.com/divandb/divan/node/api/internal/docs"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/feeds"
	"github.com/divandb/divan/node/api/internal/replications"
	"github.com/divandb/divan/node/api/internal/rows"
	"github.com/divandb/divan/node/api/internal/server"
	"github.com/divandb/divan/node/api/internal/settings"
)

// Authenticator is implemented by node/auth.
type Authenticator interface {
	// Authenticate determines who sent r, by cookie or Authorization header, and may set a renewed cookie in h, the
	// response's header. Wrong credentials are a layer.Error of kind Unauthorized (reason "Name or password is
	// incorrect."). Empty or odd credentials, which PouchDB sends, are anonymous and not an error.
	Authenticate(r *http.Request, h http.Header) (User, error)

	// Admit returns an error for an anonymous request if users are required.
	Admit(r *http.Request, u User) error

	// HasAdmins reports whether any admin is configured. If so, new databases are for admins only (CouchDB's
	// default_security = admin_local).
	HasAdmins() bool

	Sessions
}

// The API declares what it needs of the rest of the node where it uses it. The node provides the implementations, which
// must be safe for concurrent use.
type (
	Users       = docs.Users
	Feeds       = feeds.Feeds
	Indexer     = rows.Indexer
	Admins      = settings.Admins
	Sessions    = server.Sessions
	Members     = server.Members
	Others      = server.Others
	NodeRequest = server.NodeRequest
	NodeAnswer  = server.NodeAnswer
	Actors      = server.Actors
	Tasks       = server.Tasks
	Health      = server.Health
	Backups     = server.Backups

	Replicator      = replications.Replicator
	ReplicationDocs = docs.ReplicationDocs
)

// Types of their arguments and results.
type (
	User       = call.User
	Member     = server.Member
	Counters   = server.Counters
	UpdateMode = rows.UpdateMode
)

// The update modes.
const (
	UpdateTrue  = rows.UpdateTrue
	UpdateFalse = rows.UpdateFalse
	UpdateLazy  = rows.UpdateLazy
)

// StoreSilent is the reason of requests that fail because the store does not answer.
const StoreSilent = fault.StoreSilent

// Settings are the CouchDB options that clients read and set.
type Settings = settings.Settings

// NewSettings returns settings with initial values by section and key, which override CouchDB's defaults.
func NewSettings(initial map[string]map[string]string) *Settings { return settings.New(initial) }

// Listener bounds the connections of an HTTP server by ConnLimits.
type (
	Listener   = conns.Listener
	ConnLimits = conns.Limits
)

// NewListener bounds the connections of l. Pass it to http.Server.Serve, ConnState and ConnContext.
func NewListener(l net.Listener, limits ConnLimits) *Listener { return conns.NewListener(l, limits) }
