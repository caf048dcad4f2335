package call

import (
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/fault"
)

// Refuse is 401 for who might log in, 403 for who has.
func (q *Request) Refuse(anonymous, named string) error {
	if q.User.Name == "" {
		return fault.Unauthorized(anonymous)
	}
	return fault.Forbidden(named)
}

// RequireDatabaseAdmin is for the few writes of the members' endpoints that only admins may do: design documents,
// _security, _revs_limit.
func (q *Request) RequireDatabaseAdmin() error {
	admin, err := q.IsDatabaseAdmin()
	if err == nil && !admin {
		const reason = "You are not a db or server admin."
		err = q.Refuse(reason, reason)
	}
	return err
}

// IsDatabaseAdmin reports whether the user administers the server or the database.
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

// DatabaseSecurity reads the security object once per request.
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
