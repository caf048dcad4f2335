package call

import (
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/fault"
)

// Refuse returns 401 for an anonymous user and 403 for any other.
func (q *Request) Refuse(anonymous, named string) error {
	if q.User.Name == "" {
		return fault.Unauthorized(anonymous)
	}
	return fault.Forbidden(named)
}

// RequireDatabaseAdmin is for those writes at members' endpoints that only admins may make: design documents,
// _security, _revs_limit.
func (q *Request) RequireDatabaseAdmin() error {
	admin, err := q.IsDatabaseAdmin()
	if err == nil && !admin {
		const reason = "You are not a db or server admin."
		err = q.Refuse(reason, reason)
	}
	return err
}

// IsDatabaseAdmin reports whether the user is an admin of the server or the database.
func (q *Request) IsDatabaseAdmin() (bool, error) {
	if q.User.IsAdmin() {
		return true, nil
	}
	sec, err := q.DatabaseSecurity()
	if err != nil {
		return false, err
	}
	return sec.IsAdmin(*q.UserCtx()), nil
}

// DatabaseSecurity returns the security object, which it reads once per request.
func (q *Request) DatabaseSecurity() (*layer.Security, error) {
	if q.security == nil {
		object, err := q.DB.Security(q.Ctx())
		if err != nil {
			return nil, err
		}
		sec := layer.ParseSecurity(object)
		q.security = &sec
	}
	return q.security, nil
}
