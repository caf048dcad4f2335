package catalog

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// privilegesOf has the privileges on each kind of object. The first ones, up to the bar, are those that connected users
// have: they may read everything and write nothing.
var privilegesOf = map[string]string{
	"table":                "SELECT | INSERT UPDATE DELETE TRUNCATE REFERENCES TRIGGER RULE",
	"column":               "SELECT | INSERT UPDATE REFERENCES",
	"any_column":           "SELECT | INSERT UPDATE REFERENCES",
	"schema":               "USAGE | CREATE",
	"database":             "CONNECT | CREATE TEMPORARY TEMP",
	"function":             "EXECUTE |",
	"language":             "USAGE |",
	"sequence":             "USAGE SELECT | UPDATE",
	"server":               "USAGE |",
	"tablespace":           "| CREATE",
	"type":                 "USAGE |",
	"foreign_data_wrapper": "USAGE |",
}

// may reports whether a user has one of the privileges in a list on an object, which is an OID or a name. It returns an
// error for a relation, schema or database that does not exist, and for an unknown privilege.
func (s *Snapshot) may(kind string, object types.Datum, list string) (types.Datum, error) {
	if object.K == types.KText {
		if err := s.mustExist(kind, object.S); err != nil {
			return types.Null, err
		}
	}
	yes, no, _ := strings.Cut(privilegesOf[kind], "|")
	has := false
	for _, p := range strings.Split(list, ",") {
		p = strings.TrimSpace(p)
		name, grant := strings.CutSuffix(strings.ToUpper(p), " WITH GRANT OPTION")
		switch {
		case slices.Contains(strings.Fields(yes), name):
			has = has || !grant
		case !slices.Contains(strings.Fields(no), name):
			return types.Null, sqlstate.New(sqlstate.InvalidParameterValue, `unrecognized privilege type: "%s"`, p)
		}
	}
	return types.NewBool(has), nil
}

func (s *Snapshot) mustExist(kind, name string) error {
	switch kind {
	case "schema":
		if s.schemaByName[name] == nil {
			return sqlstate.New(sqlstate.InvalidSchemaName, `schema "%s" does not exist`, name)
		}
	case "table", "column", "any_column":
		if _, ok, err := s.OID(types.RegClass, name); err != nil || !ok {
			if err != nil {
				return err
			}
			return sqlstate.New(sqlstate.UndefinedTable, `relation "%s" does not exist`, name)
		}
	}
	return nil
}
