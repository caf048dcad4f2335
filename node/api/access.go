package api

import (
	"net/http"

	"github.com/divandb/divan/layer"
)

// Who may ask what (chttpd_auth_request). Every endpoint names one of these; those under /{db} also open the database, which is where an unknown one
// becomes a 404.

type access func(q *request) error

func anyone(*request) error { return nil }

func serverAdmin(q *request) error {
	if !q.user.IsAdmin() {
		return unauthorized("You are not a server admin.")
	}
	return nil
}

func metricsReader(q *request) error {
	if !q.user.IsAdmin() && !q.user.has("_metrics") {
		return unauthorized("You are not a server admin or read-only metrics user")
	}
	return nil
}

// databaseLister is who may list databases: admins, or everyone where the setting says so.
func databaseLister(q *request) error {
	if q.srv.o.Settings.IsTrue("chttpd", "admin_only_all_dbs") {
		return serverAdmin(q)
	}
	return nil
}

// databaseMember opens the database for its members and admins.
func databaseMember(q *request) error {
	if q.path[0][0] == '_' && q.path[0] != usersDatabase && q.path[0] != replicatorDatabase {
		if err := serverAdmin(q); err != nil {
			return err
		}
	}
	if err := q.open(); err != nil || q.user.IsAdmin() {
		return err
	}
	if systemFeed(q) {
		return serverAdmin(q)
	}
	sec, err := q.databaseSecurity()
	if err != nil {
		return err
	}
	if !sec.IsMember(*q.userCtx()) {
		return q.refuse("You are not authorized to access this db.", "You are not allowed to access this db.")
	}
	return nil
}

// systemFeed reports whether the request lists users or replications, which only server admins may.
func systemFeed(q *request) bool {
	listed := q.part(1) == "_all_docs" || q.part(1) == "_changes"
	return listed && (q.part(0) == usersDatabase || q.part(0) == replicatorDatabase)
}

// databaseAdmin opens the database for its admins.
func databaseAdmin(q *request) error {
	if err := q.open(); err != nil {
		return err
	}
	admin, err := q.isDatabaseAdmin()
	if err == nil && !admin {
		err = unauthorized("You are not a server or db admin.")
	}
	return err
}

// adminOfServer opens the database for server admins.
func adminOfServer(q *request) error {
	if err := serverAdmin(q); err != nil {
		return err
	}
	return q.open()
}

// open finds the database that the path names. The first user that an admin makes makes the database of users.
func (q *request) open() (err error) {
	q.db, err = q.srv.o.Store.Database(q.ctx(), q.path[0])
	if err != nil && layer.KindOf(err) == layer.NotFound && q.path[0] == usersDatabase && q.user.IsAdmin() &&
		(q.method == http.MethodPut || q.method == http.MethodPost) {
		q.db, err = q.srv.o.Store.Create(q.ctx(), usersDatabase, layer.CreateOptions{Security: []byte(adminsOnly)})
		if layer.KindOf(err) == layer.Exists && err != nil { // somebody else was first
			q.db, err = q.srv.o.Store.Database(q.ctx(), usersDatabase)
		}
	}
	return err
}

// refuse is 401 for who might log in, 403 for who has.
func (q *request) refuse(anonymous, named string) error {
	if q.user.Name == "" {
		return unauthorized(anonymous)
	}
	return forbidden(named)
}

// requireDatabaseAdmin is for the few writes of the members' endpoints that only admins may do: design documents, _security, _revs_limit.
func (q *request) requireDatabaseAdmin() error {
	admin, err := q.isDatabaseAdmin()
	if err == nil && !admin {
		const reason = "You are not a db or server admin."
		err = q.refuse(reason, reason)
	}
	return err
}

func (q *request) isDatabaseAdmin() (bool, error) {
	if q.user.IsAdmin() {
		return true, nil
	}
	sec, err := q.databaseSecurity()
	if err != nil {
		return false, err
	}
	return sec.IsAdmin(*q.userCtx()), nil
}

// databaseSecurity reads the security object once per request.
func (q *request) databaseSecurity() (*layer.Security, error) {
	if q.security == nil {
		object, err := q.db.Security(q.ctx())
		if err != nil {
			return nil, err
		}
		sec := layer.ParseSecurity(object)
		q.security = &sec
	}
	return q.security, nil
}
