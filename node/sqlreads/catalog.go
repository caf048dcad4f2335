// Package sqlreads implements the reads and writes of package query on the layer. It checks permissions and turns what
// a plan asks for into calls of the layer. Package query decides what SQL means and which reads answer a statement.
package sqlreads

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/auth"
	"github.com/divandb/divan/node/docids"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/badvalues"
)

// Source is where reads come from. The node fills it. It is safe for concurrent use.
type Source struct {
	Store *layer.Store
	// Ensure brings an index up to date as mode asks. Only exec.UpdateTrue blocks.
	Ensure func(ctx context.Context, db *layer.Database, design *layer.Design, mode exec.UpdateMode) error
	// Listen is actors.System's: woken receives after commits in the shards.
	Listen func(db *layer.Database, shards ...layer.ShardID) (woken <-chan struct{}, cancel func())
	// ShardOwner returns the node that the actor of a current shard is placed on.
	ShardOwner func(db *layer.Database, shard layer.ShardID) string
	// IDs chooses the ids of documents that are written without one.
	IDs *docids.IDs
	// BadValues are the values that typed columns have shown as NULL.
	BadValues *badvalues.Counts
	// System lists the relations of schema divan.
	System []Table
}

// Table is a relation of schema divan. Rows are produced on demand, limited to what the user may see.
type Table struct {
	exec.SystemTable
	Rows func(ctx context.Context, scope Scope) iter.Seq2[[]any, error]
	// rowsOfOne, instead of Rows, gives yield the rows of one database, until it returns false. It is called for the
	// session's database, or for all if ofAll is set or the session's is divan.
	rowsOfOne func(ctx context.Context, db named, yield func(row ...any) bool) error
	ofAll     bool
	// few is set if a database has few rows, so that those of several may be in memory.
	few bool
}

// named is a database with its name.
type named struct {
	*layer.Database
	name string
}

// Scope is the user who asks for rows of a relation, and the session's database ("divan" means none).
type Scope struct {
	Catalog  *Catalog
	Database string
}

// Catalog implements exec.Catalog for one user.
type Catalog struct {
	source *Source
	user   layer.UserCtx
	// renew looks the user up again during long reads; nil if no login is required
	renew func(ctx context.Context) (layer.UserCtx, error)
}

// Catalog returns a user's catalog. renew looks the user up again and may be nil.
func (s *Source) Catalog(user layer.UserCtx, renew func(ctx context.Context) (layer.UserCtx, error)) *Catalog {
	return &Catalog{source: s, user: user, renew: renew}
}

// again returns an error if the user may no longer read a database.
func (c *Catalog) again(ctx context.Context, name string) error {
	now := *c
	if c.renew != nil {
		user, err := c.renew(ctx)
		if err != nil {
			return err
		}
		now.user = user
	}
	_, err := now.open(ctx, name)
	return err
}

// Admin implements exec.Catalog.
func (c *Catalog) Admin() bool { return c.IsAdmin() }

// IsAdmin reports whether the user is a server admin.
func (c *Catalog) IsAdmin() bool { return slices.Contains(c.user.Roles, auth.AdminRole) }

// Databases implements exec.Catalog.
func (c *Catalog) Databases(ctx context.Context) ([]string, error) {
	names := []string{}
	for name, err := range c.source.Store.Names(ctx, layer.NamesOptions{Limit: -1}) {
		if err != nil {
			return nil, Error(err)
		}
		_, err := c.open(ctx, name)
		var re *exec.ReadError
		switch {
		case err == nil:
			names = append(names, name)
		// deleted meanwhile, or not readable by this user
		case errors.As(err, &re) && (re.Kind == exec.NotFound || re.Kind == exec.Forbidden):
		default:
			return nil, err
		}
	}
	return names, nil
}

// Database implements exec.Catalog.
func (c *Catalog) Database(ctx context.Context, name string) (exec.Database, error) {
	db, err := c.open(ctx, name)
	if err != nil {
		return nil, err
	}
	return &database{source: c.source, db: db, catalog: c, name: name}, nil
}

// open opens a database that the user may read. Documents of users and of replications are only for server admins: over
// HTTP other users see only parts of single documents, which SQL cannot express.
func (c *Catalog) open(ctx context.Context, name string) (*layer.Database, error) {
	db, err := c.source.Store.Database(ctx, name)
	if is(err, layer.NotFound) {
		return nil, &exec.ReadError{Kind: exec.NotFound, Message: fmt.Sprintf("database %q does not exist", name),
			Err: err}
	}
	if err != nil {
		return nil, Error(err)
	}
	if c.IsAdmin() {
		return db, nil
	}
	object, err := db.Security(ctx)
	if err != nil {
		return nil, Error(err)
	}
	if sec := layer.ParseSecurity(object); !sec.IsMember(c.user) || auth.ForServerAdmins(name) ||
		auth.ListedForServerAdmins(name) {
		return nil, &exec.ReadError{Kind: exec.Forbidden,
			Message: fmt.Sprintf("permission denied for database %q", name)}
	}
	return db, nil
}

// SystemTables implements exec.Catalog.
func (c *Catalog) SystemTables() []exec.SystemTable {
	tables := make([]exec.SystemTable, len(c.source.System))
	for i, t := range c.source.System {
		tables[i] = t.SystemTable
	}
	return tables
}

// systemTable returns a relation of schema divan; nil if there is none of that name.
func (c *Catalog) systemTable(name string) *Table {
	for i := range c.source.System {
		if t := &c.source.System[i]; t.Name == name {
			return t
		}
	}
	return nil
}

// SystemRows implements exec.Catalog.
func (c *Catalog) SystemRows(ctx context.Context, table, database string) iter.Seq2[[]any, error] {
	t := c.systemTable(table)
	switch {
	case t == nil:
		return fail(&exec.ReadError{Kind: exec.NotFound,
			Message: fmt.Sprintf("relation divan.%s does not exist", table)})
	case t.rowsOfOne == nil:
		return t.Rows(ctx, Scope{Catalog: c, Database: database})
	case c.PartColumn(table, database) != "":
		return c.allParts(ctx, table)
	}
	db, err := c.open(ctx, database)
	if err != nil {
		return fail(err)
	}
	return t.rowsOf(ctx, named{db, database})
}

// rowsOf returns the rows of one database.
func (t *Table) rowsOf(ctx context.Context, db named) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		more := true
		err := t.rowsOfOne(ctx, db, func(row ...any) bool {
			more = yield(row, nil)
			return more
		})
		if err != nil && more {
			yield(nil, Error(err))
		}
	}
}

// fail returns a sequence that yields only err.
func fail(err error) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) { yield(nil, err) }
}
