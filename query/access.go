package query

import (
	"context"
	"slices"

	"github.com/divandb/divan/query/exec"
)

// maintenance lists database names to which tools connect because they always exist in PostgreSQL (except templates). A
// name that is not a database here refers to the virtual one.
var maintenance = []string{"postgres", "template1"}

// access is what the user of a session may see.
type access struct {
	who      Principal
	database string
	// virtual reports whether the database is the virtual one.
	virtual bool
	// of is Options.Catalog.
	of      func(ctx context.Context, who Principal) (exec.Catalog, error)
	catalog exec.Catalog
	// fresh reports whether catalog is of the current round of messages. Statements call allowed, which renews it;
	// descriptions need not.
	fresh bool
}

// newAccess returns an error if there is no such database.
func newAccess(ctx context.Context, srv *Server, who Principal, database string) (*access, error) {
	a := &access{who: who, database: database, of: srv.opts.Catalog}
	var err error
	if a.catalog, err = a.of(ctx, who); err != nil {
		return nil, exec.DatabaseError(database, err)
	}
	if a.virtual = database == exec.SystemDatabase; !a.virtual {
		_, err := a.catalog.Database(ctx, database)
		a.virtual = exec.KindOf(err) == exec.NotFound && slices.Contains(maintenance, database)
		if err != nil && !a.virtual {
			return nil, exec.DatabaseError(database, err)
		}
	}
	return a, nil
}

// allowed returns what the user may see now. It asks once for all messages up to the next ReadyForQuery.
func (a *access) allowed(ctx context.Context) (exec.Catalog, error) {
	if !a.fresh {
		cat, err := a.of(ctx, a.who)
		if err != nil {
			return nil, exec.StoreError(err)
		}
		a.catalog, a.fresh = cat, true
	}
	return a.catalog, nil
}

// open opens the database; nil for the virtual one.
func (a *access) open(ctx context.Context) (exec.Database, error) {
	if a.virtual {
		return nil, nil
	}
	cat, err := a.allowed(ctx)
	if err != nil {
		return nil, err
	}
	db, err := cat.Database(ctx, a.database)
	if err != nil {
		return nil, exec.DatabaseError(a.database, err)
	}
	return db, nil
}

// reopen opens the database anew, for a read that does not belong to a statement.
func (a *access) reopen(ctx context.Context) (exec.Database, error) {
	cat, err := a.of(ctx, a.who)
	if err != nil {
		return nil, err
	}
	return cat.Database(ctx, a.database)
}

// recheck returns an error if the user may no longer read the database, while a result is being read.
func (a *access) recheck(ctx context.Context) error {
	a.fresh = false
	_, err := a.open(ctx)
	return err
}
