package query

import (
	"context"
	"errors"
	"strings"

	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
)

// The errors of Options.SetPassword, besides those of the store.
var (
	// ErrNoUser means that there is no user of that name.
	ErrNoUser = errors.New("no such user")
	// ErrNotYours means that the password belongs to another user, and only an admin may change it.
	ErrNotYours = errors.New("not your password")
	// ErrBadSecret means that the secret is neither a password nor a verifier.
	ErrBadSecret = errors.New("neither a password nor a SCRAM-SHA-256 verifier")
	// ErrUncheckable means that the secret is a verifier, of which nobody can tell whether its password keeps the rules
	// that there are for passwords.
	ErrUncheckable = errors.New("a verifier cannot be checked by the rules for passwords")
	// ErrChangedMeanwhile means that the user was changed concurrently.
	ErrChangedMeanwhile = errors.New("the user was changed concurrently")
)

// alterPassword is ALTER USER ... PASSWORD. ROLLBACK cannot undo it, so it is refused in a transaction block.
func (e *execution) alterPassword(ctx context.Context, s *ast.AlterPassword) error {
	ss := e.ss
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
		return sqlstate.New(sqlstate.UndefinedObject, `role "%s" does not exist`, user).At(s.Pos())
	case errors.Is(err, ErrNotYours):
		return sqlstate.New(sqlstate.InsufficientPrivilege, "permission denied")
	case errors.Is(err, ErrBadSecret):
		return sqlstate.New(sqlstate.InvalidParameterValue, "the password looks like a SCRAM verifier but is not valid")
	case errors.Is(err, ErrUncheckable):
		return sqlstate.New(sqlstate.InvalidParameterValue,
			"a SCRAM-SHA-256 verifier is refused while there are rules for passwords").
			WithHint("Send the password as it is, over TLS: ALTER USER name PASSWORD 'text'.")
	case errors.Is(err, ErrChangedMeanwhile):
		return sqlstate.New(sqlstate.SerializationFailure, `the user "%s" was changed concurrently`, user).
			WithHint("Try again.")
	}
	return exec.StoreError(err)
}
