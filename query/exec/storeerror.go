package exec

import (
	"errors"

	"github.com/divandb/divan/query/sqlstate"
)

// StoreError maps the error of a read to an SQLSTATE. All errors of a Database or a Catalog pass through it.
func StoreError(err error) error {
	var re *ReadError
	if !errors.As(err, &re) {
		return err
	}
	code := map[Kind]sqlstate.Code{Internal: sqlstate.InternalError, NotFound: sqlstate.UndefinedTable,
		Forbidden: sqlstate.InsufficientPrivilege,
		Invalid:   sqlstate.InvalidParameterValue, Timeout: sqlstate.QueryCanceled,
		Unavailable: sqlstate.CannotConnectNow,
		TooLarge:    sqlstate.ProgramLimitExceeded, Unsupported: sqlstate.FeatureNotSupported, Full: sqlstate.DiskFull,
		Stale: sqlstate.SerializationFailure, Expired: sqlstate.SnapshotTooOld, Exists: sqlstate.UniqueViolation,
		Refused: sqlstate.CheckViolation, Overdue: sqlstate.TransactionTimeout,
		Irreducible: sqlstate.InvalidParameterValue, Unknown: sqlstate.CommitUnknown}[re.Kind]
	e := &sqlstate.Error{Code: code, Message: re.Error(), Hint: re.Hint, Err: err}
	switch re.Kind {
	case Exists:
		return sqlstate.Duplicate(re.Message)
	case Overdue:
		e.Hint = "Nothing has been written. Write sooner after the first read of the transaction, or less."
	case Unknown:
		e.Hint = "Read the documents before writing them again."
	case Expired:
		e.Hint = "The store keeps a snapshot for a few seconds (FoundationDB for five). Begin a new transaction that " +
			"reads less, or one that is READ COMMITTED."
	}
	return e
}

// DatabaseError is StoreError for opening a database, where NotFound means the database.
func DatabaseError(name string, err error) error {
	switch KindOf(err) {
	case NotFound:
		return sqlstate.New(sqlstate.InvalidCatalogName, `database "%s" does not exist`, name)
	case Forbidden:
		return sqlstate.New(sqlstate.InsufficientPrivilege, `permission denied for database "%s"`, name)
	}
	return StoreError(err)
}
