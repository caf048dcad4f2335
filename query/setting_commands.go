package query

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/settings"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/sqlstate"
)

// listSettings are the settings whose value is a list.
var listSettings = []string{"search_path", "datestyle", "temp_tablespaces", "session_preload_libraries",
	"local_preload_libraries"}

func (e *execution) set(s *ast.Set) error {
	value := strings.Join(s.Values, ", ")
	if len(s.Values) > 1 && !slices.Contains(listSettings, s.Name) {
		return sqlstate.New(sqlstate.InvalidParameterValue, "SET %s takes only one argument", s.Name)
	}
	if s.Name == "search_path" {
		// Quote names given one by one as quote_identifier does, so that the list can be read back.
		quoted := make([]string, len(s.Values))
		for i, v := range s.Values {
			quoted[i] = keyword.Quote(v)
		}
		value = strings.Join(quoted, ", ")
	}
	if s.Local && e.ss.tx.status != 'T' && !e.ss.tx.implicit {
		e.ss.notice(sqlstate.New(sqlstate.NoActiveTransaction, "SET LOCAL can only be used in transaction blocks"))
	}
	switch {
	case s.Name == "catalog":
		return sqlstate.Unsupported(s.Pos(), "Connect to the other database.", "current database cannot be changed")
	case s.Name == settings.Isolation:
		return e.ss.tx.setIsolation(value)
	case s.Name == settings.ReadOnly && !s.Default:
		return e.ss.tx.setAccess(value)
	case s.Default:
		return e.ss.tx.set(s.Name, nil, s.Local)
	}
	return e.ss.tx.set(s.Name, &value, s.Local)
}

// setConstraints is SET CONSTRAINTS. There are no constraints.
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
	for _, name := range e.ss.vars.Changeable() {
		if name == settings.Isolation || name == settings.ReadOnly {
			continue // of the transaction, not of the session
		}
		if err := e.ss.tx.set(name, nil, false); err != nil {
			return err
		}
	}
	return nil
}
