package query

import (
	"context"
	"slices"

	"github.com/divandb/divan/query/exec"
)

// systemDatabase is the virtual database that always exists and holds only the system schemas.
const systemDatabase = "divan"

// maintenance are names under which tools look for a database that is always there, and that is no template. Where
// there is no database of such a name it is another name of the virtual one.
var maintenance = []string{"postgres", "template1"}

// access is what the user of a session may see.
type access struct {
	who      Principal
	database string
	// virtual says that the database is the virtual one.
	virtual bool
	// of is Options.Catalog.
	of      func(ctx context.Context, who Principal) (exec.Catalog, error)
	catalog exec.Catalog
	// fresh says that catalog is of this round of messages. Statements use allowed, which sees to it; descriptions need
	// not.
	fresh bool
}

// newAccess fails where there is no such database.
func newAccess(ctx context.Context, srv *Server, who Principal, database string) (*access, error) {
	a := &access{who: who, database: database, of: srv.opts.Catalog}
	var err error
	if a.catalog, err = a.of(ctx, who); err != nil {
		return nil, exec.DatabaseError(database, err)
	}
	if a.virtual = database == systemDatabase; !a.virtual {
		_, err := a.catalog.Database(ctx, database)
		a.virtual = exec.KindOf(err) == exec.NotFound && slices.Contains(maintenance, database)
		if err != nil && !a.virtual {
			return nil, exec.DatabaseError(database, err)
		}
	}
	return a, nil
}

// allowed is what the user may see now. It is asked once for what the client sends up to the next ReadyForQuery.
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

// recheck fails where a result that is being read may not be read any more.
func (a *access) recheck(ctx context.Context) error {
	a.fresh = false
	_, err := a.open(ctx)
	return err
}
