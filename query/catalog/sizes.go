package catalog

import (
	"context"
	"sync"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// The functions about sizes (PostgreSQL 15, section 9.27, "Database Object Size Functions"). The size of docs is that
// of all documents with their attachments, as stored, and the size of a view that of its rows. The other relations show
// the same documents and have no size, so that a database is as large as its relations together.

// Sizer is an optional interface of an exec.Database. It returns the bytes of all documents, design documents and
// attachments, as stored, and of the keys and values of the views that are built, by the names of the design document
// without "_design/" and of the view. It does not wait for any view.
type Sizer interface {
	Sizes(ctx context.Context) (documents int64, views map[[2]string]int64, err error)
}

// dbSizes are the sizes of a database, as returned by a Sizer.
type dbSizes struct {
	documents int64
	views     map[[2]string]int64
}

// memo keeps the sizes of databases during a statement, since lists ask for the size of each relation.
type memo struct {
	mu struct {
		sync.Mutex
		sizes map[string]dbSizes
	}
}

// sizesOf returns the sizes of a database. Those of one that was deleted meanwhile are zero.
func sizesOf(ctx context.Context, s *Snapshot, database string) (dbSizes, error) {
	s.memo.mu.Lock()
	defer s.memo.mu.Unlock()
	if known, ok := s.memo.mu.sizes[database]; ok || s.Open == nil {
		return known, nil
	}
	var found dbSizes
	db, err := s.Open(ctx, database)
	if sizer, ok := db.(Sizer); ok && err == nil {
		found.documents, found.views, err = sizer.Sizes(ctx)
	}
	if k := exec.KindOf(err); err != nil && k != exec.NotFound && k != exec.Forbidden {
		return dbSizes{}, exec.StoreError(err)
	}
	if s.memo.mu.sizes == nil {
		s.memo.mu.sizes = map[string]dbSizes{}
	}
	s.memo.mu.sizes[database] = found
	return found, nil
}

// relationSize returns the size of a relation of the session's database, and false if there is no relation.
func relationSize(ctx context.Context, s *Snapshot, oid int64) (int64, bool, error) {
	c := s.classByOID[oid]
	switch {
	case c == nil:
		return 0, false, nil
	case !c.view && !isDocs(c):
		return 0, true, nil
	}
	sizes, err := sizesOf(ctx, s, s.Database)
	if c.view {
		return sizes.views[[2]string{c.Schema.Name, c.Name}], true, err
	}
	return sizes.documents, true, err
}

// sizes registers the functions.
func sizes() {
	size := func(f func(ctx context.Context, s *Snapshot, a []types.Datum) (int64, bool, error)) evalFunc {
		return func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			s, err := SnapshotOf(env.State)
			if err != nil {
				return types.Null, err
			}
			n, ok, err := f(env.State.Ctx, s, a)
			if err != nil || !ok {
				return types.Null, err
			}
			return types.NewInt(n), nil
		}
	}
	relation := size(func(ctx context.Context, s *Snapshot, a []types.Datum) (int64, bool, error) {
		return relationSize(ctx, s, a[0].I)
	})
	for _, name := range []string{"pg_relation_size", "pg_total_relation_size", "pg_table_size"} {
		register(name, types.Int8, relation, types.RegClass)
	}
	register("pg_relation_size", types.Int8, size(forkSize), types.RegClass, types.Text)
	register("pg_indexes_size", types.Int8,
		size(func(_ context.Context, s *Snapshot, a []types.Datum) (int64, bool, error) {
			return 0, s.classByOID[a[0].I] != nil, nil
		}), types.RegClass)
	register("pg_database_size", types.Int8,
		size(func(ctx context.Context, s *Snapshot, a []types.Datum) (int64, bool, error) {
			return databaseSize(ctx, s, databaseName(s, a[0].I))
		}), types.Oid)
	register("pg_database_size", types.Int8,
		size(func(ctx context.Context, s *Snapshot, a []types.Datum) (int64, bool, error) {
			if _, err := findDatabase(s, a[0].S); err != nil {
				return 0, false, err
			}
			return databaseSize(ctx, s, a[0].S)
		}), types.Name)
	register("pg_tablespace_size", types.Int8,
		size(func(ctx context.Context, s *Snapshot, a []types.Datum) (int64, bool, error) {
			return tablespaceSize(ctx, s, a[0].I)
		}), types.Oid)
	register("pg_tablespace_size", types.Int8,
		size(func(ctx context.Context, s *Snapshot, a []types.Datum) (int64, bool, error) {
			oid, err := securables["tablespace"].find(s, a[0].S)
			if err != nil {
				return 0, false, err
			}
			return tablespaceSize(ctx, s, oid)
		}), types.Name)
	for _, name := range []string{"pg_stat_get_numscans", "pg_stat_get_live_tuples", "pg_stat_get_dead_tuples"} {
		register(name, types.Int8, constant(types.NewInt(0)), types.Oid)
	}
}

// forkSize implements pg_relation_size(relation, fork). Everything is in the main fork.
func forkSize(ctx context.Context, s *Snapshot, a []types.Datum) (int64, bool, error) {
	switch a[1].S {
	case "main":
		return relationSize(ctx, s, a[0].I)
	case "fsm", "vm", "init":
		return 0, s.classByOID[a[0].I] != nil, nil
	}
	return 0, false, sqlstate.New(sqlstate.InvalidParameterValue, "invalid fork name").
		WithHint(`Valid fork names are "main", "fsm", "vm", and "init".`)
}

func databaseSize(ctx context.Context, s *Snapshot, name string) (int64, bool, error) {
	if name == "" {
		return 0, false, nil
	}
	sizes, err := sizesOf(ctx, s, name)
	n := sizes.documents
	for _, view := range sizes.views {
		n += view
	}
	return n, true, err
}

// tablespaceSize returns the size of all databases that the user may read, which are in pg_default.
func tablespaceSize(ctx context.Context, s *Snapshot, oid int64) (int64, bool, error) {
	switch oid {
	case oidGlobalSpace:
		return 0, true, nil
	case oidDefaultSpace:
	default:
		return 0, false, nil
	}
	total := int64(0)
	for _, d := range s.DBs {
		n, _, err := databaseSize(ctx, s, d.Name)
		if err != nil {
			return 0, false, err
		}
		total += n
	}
	return total, true, nil
}
