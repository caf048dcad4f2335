package query

import (
	"context"
	"strings"

	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// lock is LOCK TABLE IN ACCESS SHARE MODE, as pg_dump uses it. It excludes statements that alter or drop a relation,
// which SQL here does not have.
func (e *execution) lock(ctx context.Context, s *ast.LockTable) error {
	if e.ss.tx.status != 'T' {
		return sqlstate.New(sqlstate.NoActiveTransaction, "LOCK TABLE can only be used in transaction blocks")
	}
	for i, name := range s.Tables {
		quoted := make([]string, len(name))
		for j, part := range name {
			quoted[j] = keyword.Quote(part)
		}
		_, ok, err := e.ss.host.ObjectOID(ctx, types.RegClass, strings.Join(quoted, "."))
		if err != nil {
			return err
		}
		if !ok {
			return sqlstate.New(sqlstate.UndefinedTable, `relation "%s" does not exist`,
				strings.Join(name, ".")).At(s.Places[i].Pos())
		}
	}
	return refuse.Lock(s)
}
