package query

import (
	"maps"
	"slices"
	"strings"

	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
)

func (e *execution) set(s *ast.Set) error {
	value := strings.Join(s.Values, ", ")
	if s.Name == "search_path" {
		// Names given one by one are quoted where they need it, so that the list reads back.
		quoted := make([]string, len(s.Values))
		for i, v := range s.Values {
			if quoted[i] = v; v != strings.ToLower(v) || strings.ContainsAny(v, `,"`) {
				quoted[i] = `"` + strings.ReplaceAll(v, `"`, `""`) + `"`
			}
		}
		value = strings.Join(quoted, ", ")
	}
	if s.Local && e.ss.tx.status != 'T' && !e.ss.tx.implicit {
		e.ss.notice(sqlstate.New(sqlstate.NoActiveTransaction, "SET LOCAL can only be used in transaction blocks"))
	}
	switch {
	case s.Name == "catalog":
		return sqlstate.Unsupported(s.Pos(), "Connect to the other database.", "current database cannot be changed")
	case s.Name == isolationSetting:
		return e.ss.tx.setIsolation(value)
	case s.Default:
		return e.ss.tx.set(s.Name, nil, s.Local)
	}
	return e.ss.tx.set(s.Name, &value, s.Local)
}

// setConstraints is SET CONSTRAINTS. There are none.
func (e *execution) setConstraints() error {
	if e.ss.tx.status != 'T' {
		e.ss.notice(sqlstate.New(sqlstate.NoActiveTransaction,
			"SET CONSTRAINTS can only be used in transaction blocks"))
	}
	return nil
}

func (e *execution) reset(s *ast.Reset) error {
	if s.Name != "all" {
		return e.ss.tx.set(s.Name, nil, false)
	}
	for _, name := range slices.Sorted(maps.Keys(e.ss.vars.value)) {
		if name == isolationSetting {
			continue // the transaction's, not the session's
		}
		if err := e.ss.tx.set(name, nil, false); err != nil {
			return err
		}
	}
	return nil
}
