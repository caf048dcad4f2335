package query

import (
	"context"
	"errors"
	"strings"

	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
)

// What Options.SetPassword may answer, beside errors of the store.
var (
	// ErrNoUser says that there is no user of that name.
	ErrNoUser = errors.New("no such user")
	// ErrNotYours says that the password is another user's, which only an admin may change.
	ErrNotYours = errors.New("not your password")
	// ErrBadSecret says that what was given is no password and no verifier.
	ErrBadSecret = errors.New("neither a password nor a SCRAM-SHA-256 verifier")
	// ErrChangedMeanwhile says that somebody else has changed the user.
	ErrChangedMeanwhile = errors.New("the user has been changed meanwhile")
)

// alterPassword is ALTER USER ... PASSWORD. It is not undone by ROLLBACK, and so refused in a transaction block.
func (e *execution) alterPassword(ctx context.Context, s *ast.AlterPassword) error {
	ss := e.ss
	// The statement is shown to admins while it runs, and after.
	ss.mark('A', "ALTER USER ... PASSWORD")
	user := s.User
	if user == "" {
		user = ss.start.User
	}
	switch {
	case ss.srv.opts.SetPassword == nil:
		return refuse.User("alter", "user", s.Pos())
	case ss.tx.inBlock():
		return sqlstate.New(sqlstate.ActiveTransaction, "ALTER USER ... PASSWORD cannot run inside a transaction block")
	case s.Secret == "" || strings.HasPrefix(s.Secret, "md5") && len(s.Secret) == 35:
		return sqlstate.New(sqlstate.InvalidParameterValue, "the password must be a text or a SCRAM-SHA-256 verifier").
			WithHint("Empty passwords and MD5 are not supported.")
	}
	err := ss.srv.opts.SetPassword(ctx, ss.access.who, user, s.Secret)
	switch {
	case errors.Is(err, ErrNoUser):
		return sqlstate.New(sqlstate.UndefinedObject, "role %q does not exist", user).At(s.Pos())
	case errors.Is(err, ErrNotYours):
		return sqlstate.New(sqlstate.InsufficientPrivilege, "permission denied")
	case errors.Is(err, ErrBadSecret):
		return sqlstate.New(sqlstate.InvalidParameterValue, "the password begins like a verifier and is none")
	case errors.Is(err, ErrChangedMeanwhile):
		return sqlstate.New(sqlstate.SerializationFailure, "the user %q has been changed meanwhile", user).
			WithHint("Try again.")
	}
	return err
}
