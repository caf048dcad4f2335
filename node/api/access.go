package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/auth"
	"github.com/divandb/divan/node/couchopts"
)

// The access rules (chttpd_auth_request). Every endpoint names one of these functions. Those for paths under /{db} also
// open the database, which returns 404 if it does not exist.

type access func(q *call.Request) error

// gate opens databases for the users who may use them.
type gate struct {
	store    *layer.Store
	settings *Settings
	// create creates and opens a system database (databases.Handlers.CreateSystem).
	create func(ctx context.Context, name string, bare bool) (*layer.Database, error)
}

func anyone(*call.Request) error { return nil }

const notServerAdmin = "You are not a server admin."

func serverAdmin(q *call.Request) error {
	if !q.User.IsAdmin() {
		return fault.Unauthorized(notServerAdmin)
	}
	return nil
}

// metricsRole is the role of users who may only read metrics.
const metricsRole = "_metrics"

func metricsReader(q *call.Request) error {
	if !q.User.IsAdmin() && !slices.Contains(q.User.Roles, metricsRole) {
		return fault.Unauthorized("You are not a server admin or read-only metrics user")
	}
	return nil
}

// databaseLister allows admins to list databases, or everyone if the setting says so.
func (g *gate) databaseLister(q *call.Request) error {
	if g.settings.IsTrue("chttpd", "admin_only_all_dbs") {
		return serverAdmin(q)
	}
	return nil
}

// databaseMember opens the database for its members and admins.
func (g *gate) databaseMember(q *call.Request) error {
	if auth.ForServerAdmins(q.Path[0]) {
		if err := serverAdmin(q); err != nil {
			return err
		}
	}
	if err := g.open(q); err != nil || q.User.IsAdmin() {
		return err
	}
	system := auth.ListedForServerAdmins(q.Path[0])
	if system && (q.Part(1) == "_all_docs" || q.Part(1) == "_changes") && !g.listsPublic(q) {
		return serverAdmin(q)
	}
	sec, err := q.DatabaseSecurity()
	if err != nil {
		return err
	}
	if !sec.IsMember(*q.UserCtx()) {
		return q.Refuse("You are not authorized to access this db.", "You are not allowed to access this db.")
	}
	if system && lists(q) {
		return notAdmin(q, notServerAdmin)
	}
	return nil
}

// lists reports whether the request lists documents otherwise than _all_docs and _changes do. For users and
// replications that is only for server admins: unlike single documents, listed ones are not screened for passwords.
func lists(q *call.Request) bool {
	switch q.Part(1) {
	case "_design_docs", "_find":
		return true
	case "_design":
		return q.Part(3) == "_view" || q.Part(3) == "_list"
	}
	return false
}

// listsPublic reports whether the request lists user documents of which only public members are shown
// (users_db_public).
func (g *gate) listsPublic(q *call.Request) bool {
	fields, _ := g.settings.Get("chttpd_auth", "public_fields")
	if q.Part(1) != "_all_docs" || fields == "" || !g.settings.IsTrue("chttpd_auth", "users_db_public") {
		return false
	}
	if users, ok := g.settings.Get("chttpd_auth", "authentication_db"); q.Path[0] != auth.UsersDatabase &&
		(!ok || q.Path[0] != users) {
		return false
	}
	q.Public = couchopts.Members(fields)
	return true
}

// databaseAdmin opens the database for its admins.
func (g *gate) databaseAdmin(q *call.Request) error {
	if err := g.systemMember(q); err != nil {
		return err
	}
	if err := g.open(q); err != nil {
		return err
	}
	admin, err := q.IsDatabaseAdmin()
	if err == nil && !admin {
		err = notAdmin(q, "You are not a server or db admin.")
	}
	return err
}

// adminOfServer opens the database for server admins.
func (g *gate) adminOfServer(q *call.Request) error {
	if err := g.systemMember(q); err != nil {
		return err
	}
	if !q.User.IsAdmin() {
		return notAdmin(q, notServerAdmin)
	}
	return g.open(q)
}

// systemMember refuses requests for a database of users or replications to those who are not its members, as CouchDB
// does before it looks for an admin.
func (g *gate) systemMember(q *call.Request) error {
	if !auth.ListedForServerAdmins(q.Path[0]) {
		return nil
	}
	return g.databaseMember(q)
}

// notAdmin refuses what only admins may do. CouchDB lets members of a database of users or replications do it; there,
// users who are logged in get 403, with which clients do not ask for a login again.
func notAdmin(q *call.Request, reason string) error {
	if auth.ListedForServerAdmins(q.Path[0]) {
		return q.Refuse(reason, reason)
	}
	return fault.Unauthorized(reason)
}

var errNoUpdates = fault.NotFound("Database does not exist. Create `_global_changes`: what happens to databases is " +
	"recorded from then on.")

// updatesReader opens the database of what happens to databases for server admins.
func (g *gate) updatesReader(q *call.Request) (err error) {
	if err := serverAdmin(q); err != nil {
		return err
	}
	if q.Method == http.MethodGet || q.Method == http.MethodHead {
		q.DB, err = g.store.Database(q.Ctx(), layer.GlobalChangesDatabase)
	}
	if err != nil && layer.KindOf(err) == layer.NotFound {
		return errNoUpdates
	}
	return err
}

// databaseAccess allows only server admins to create and delete databases.
func (g *gate) databaseAccess(q *call.Request) error {
	if q.Method == http.MethodPut || q.Method == http.MethodDelete {
		return serverAdmin(q)
	}
	return g.databaseMember(q)
}

// open opens the database that the path names. When an admin writes the first user or the first replication, open
// creates its database, which a CouchDB has from its set-up.
func (g *gate) open(q *call.Request) (err error) {
	name := q.Path[0]
	q.DB, err = g.store.Database(q.Ctx(), name)
	if err != nil && layer.KindOf(err) == layer.NotFound && q.User.IsAdmin() && writes(q) &&
		(name == auth.UsersDatabase || name == auth.ReplicatorDatabase) {
		q.DB, err = g.create(q.Ctx(), name, strings.Join(q.Path[1:], "/") == auth.UserDesign)
	}
	return err
}

// writes reports whether a request writes documents or settings of a database.
func writes(q *call.Request) bool {
	switch q.Method {
	case http.MethodPut:
		return true
	case http.MethodPost: // most others are queries with a body
		return len(q.Path) == 1 || q.Path[1] == "_bulk_docs" || q.Path[1] == "_index"
	}
	return false
}
