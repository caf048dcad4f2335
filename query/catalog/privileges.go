package catalog

import (
	"errors"
	"slices"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// securable is a kind of objects that have privileges (PostgreSQL 15, section 9.26, "Access Privilege Inquiry
// Functions"). Privileges are not granted here: every connected user holds those that can be used at all, and admins
// hold no others, as GRANT, CREATE and TRUNCATE are refused to everyone.
type securable struct {
	// known lists the privileges that the kind has in PostgreSQL.
	known []string
	// find returns the OID of an object by its name, or an error if there is none.
	find func(s *Snapshot, name string) (int64, error)
	// exists reports whether there is an object with this OID. It may also return an error.
	exists func(s *Snapshot, oid int64) (bool, error)
	// held reports whether connected users hold a privilege on an object.
	held func(s *Snapshot, oid int64, privilege string) bool
}

var securables = map[string]securable{
	"table": {words("SELECT INSERT UPDATE DELETE TRUNCATE REFERENCES TRIGGER RULE"), findRelation, isRelation,
		holdsOnTable},
	"any_column": {words("SELECT INSERT UPDATE REFERENCES"), findRelation, isRelation, holdsOnTable},
	"sequence":   {words("USAGE SELECT UPDATE"), findSequence, isSequence, never},
	"schema": {words("CREATE USAGE"), func(s *Snapshot, name string) (int64, error) {
		if n := s.schemaByName[name]; n != nil {
			return n.OID, nil
		}
		return 0, sqlstate.New(sqlstate.InvalidSchemaName, `schema "%s" does not exist`, name)
	}, func(s *Snapshot, oid int64) (bool, error) { return s.schemaByOID[oid] != nil, nil }, only("USAGE")},
	"database": {words("CREATE TEMPORARY TEMP CONNECT"), findDatabase,
		func(s *Snapshot, oid int64) (bool, error) { return databaseName(s, oid) != "", nil }, only("CONNECT")},
	"function": {words("EXECUTE"), findFunction, func(_ *Snapshot, oid int64) (bool, error) {
		return procName(oid) != "" && oid != 0, nil
	}, only("EXECUTE")},
	"language": {words("USAGE"), findIn("language", map[string]int64{"internal": oidInternal, "sql": oidSQL}),
		isOneOf(oidInternal, oidSQL), only("USAGE")},
	"tablespace": {words("CREATE"), findIn("tablespace",
		map[string]int64{"pg_default": oidDefaultSpace, "pg_global": oidGlobalSpace}),
		isOneOf(oidDefaultSpace, oidGlobalSpace), never},
	"type": {words("USAGE"), findType, func(s *Snapshot, oid int64) (bool, error) {
		_, ok := s.Name(types.RegType, oid)
		return ok, nil
	}, only("USAGE")},
	"server":               {words("USAGE"), findIn("server", nil), isOneOf(), never},
	"foreign_data_wrapper": {words("USAGE"), findIn("foreign-data wrapper", nil), isOneOf(), never},
}

func words(s string) []string { return strings.Fields(s) }

func only(privilege string) func(*Snapshot, int64, string) bool {
	return func(_ *Snapshot, _ int64, p string) bool { return p == privilege }
}

func never(*Snapshot, int64, string) bool { return false }

// holdsOnTable reports whether connected users may do something with a relation: read any, write docs.
func holdsOnTable(s *Snapshot, oid int64, privilege string) bool {
	switch privilege {
	case "SELECT":
		return true
	case "INSERT", "UPDATE", "DELETE":
		return s.writable(oid)
	}
	return false
}

func findIn(kind string, all map[string]int64) func(*Snapshot, string) (int64, error) {
	return func(_ *Snapshot, name string) (int64, error) {
		if oid, ok := all[name]; ok {
			return oid, nil
		}
		return 0, sqlstate.New(sqlstate.UndefinedObject, `%s "%s" does not exist`, kind, name)
	}
}

func isOneOf(oids ...int64) func(*Snapshot, int64) (bool, error) {
	return func(_ *Snapshot, oid int64) (bool, error) { return slices.Contains(oids, oid), nil }
}

func findRelation(s *Snapshot, name string) (int64, error) {
	oid, ok, err := s.OID(types.RegClass, name)
	var e *sqlstate.Error
	if err != nil && !(errors.As(err, &e) && e.Code == sqlstate.InvalidSchemaName) {
		return 0, err
	}
	if !ok {
		return 0, sqlstate.New(sqlstate.UndefinedTable, `relation "%s" does not exist`, name)
	}
	return oid, nil
}

func isRelation(s *Snapshot, oid int64) (bool, error) { return s.classByOID[oid] != nil, nil }

// findSequence finds none: there are no sequences.
func findSequence(s *Snapshot, name string) (int64, error) {
	oid, err := findRelation(s, name)
	if err == nil {
		_, err = isSequence(s, oid)
	}
	return 0, err
}

func isSequence(s *Snapshot, oid int64) (bool, error) {
	if c := s.classByOID[oid]; c != nil {
		return false, sqlstate.New(sqlstate.WrongObjectType, `"%s" is not a sequence`, c.Name)
	}
	return false, nil
}

func findFunction(s *Snapshot, name string) (int64, error) {
	oid, ok, err := s.OID(types.RegProcedur, name)
	if err == nil && !ok {
		err = sqlstate.New(sqlstate.UndefinedFunction, `function "%s" does not exist`, name)
	}
	return oid, err
}

func findType(s *Snapshot, name string) (int64, error) {
	oid, ok, err := s.OID(types.RegType, name)
	if err == nil && !ok {
		err = sqlstate.New(sqlstate.UndefinedObject, `type "%s" does not exist`, name)
	}
	return oid, err
}

func findDatabase(s *Snapshot, name string) (int64, error) {
	if oid := s.databaseOID(name); oid != 0 {
		return oid, nil
	}
	return 0, sqlstate.New(sqlstate.InvalidCatalogName, `database "%s" does not exist`, name)
}

func databaseName(s *Snapshot, oid int64) string {
	for _, d := range s.DBs {
		if d.OID == oid {
			return d.Name
		}
	}
	return ""
}

// parsePrivileges splits a list of privileges into those without and those with grant option, which nobody has.
func parsePrivileges(list string, known []string, options ...string) (plain []string, err error) {
	for _, p := range strings.Split(list, ",") {
		p = strings.Trim(p, " \t\n\r\v\f")
		name, grant := strings.ToUpper(p), false
		for _, o := range append(options, "GRANT") {
			if n, ok := strings.CutSuffix(name, " WITH "+o+" OPTION"); ok {
				name, grant = n, true
			}
		}
		if !slices.Contains(known, name) {
			return nil, sqlstate.New(sqlstate.InvalidParameterValue, `unrecognized privilege type: "%s"`, p)
		}
		if !grant {
			plain = append(plain, name)
		}
	}
	return plain, nil
}

// has implements the functions has_..._privilege. object is an OID or a name. The result is NULL for an OID without an
// object.
func has(s *Snapshot, kind string, object types.Datum, list string) (types.Datum, error) {
	k := securables[kind]
	oid := object.I
	if object.K == types.KText {
		var err error
		if oid, err = k.find(s, object.S); err != nil {
			return types.Null, err
		}
	}
	privileges, err := parsePrivileges(list, k.known)
	if err != nil {
		return types.Null, err
	}
	if ok, err := k.exists(s, oid); err != nil || !ok {
		return types.Null, err
	}
	return types.NewBool(slices.ContainsFunc(privileges, func(p string) bool { return k.held(s, oid, p) })), nil
}

// hasOnColumn implements has_column_privilege. A column is a name or a number.
func hasOnColumn(s *Snapshot, table, column types.Datum, list string) (types.Datum, error) {
	oid := table.I
	if table.K == types.KText {
		var err error
		if oid, err = findRelation(s, table.S); err != nil {
			return types.Null, err
		}
	}
	c := s.classByOID[oid]
	at := int(column.I) - 1
	if column.K == types.KText && c != nil {
		at = slices.IndexFunc(c.Columns, func(a Attribute) bool { return a.Name == column.S })
		if at < 0 {
			return types.Null, sqlstate.New(sqlstate.UndefinedColumn, `column "%s" of relation "%s" does not exist`,
				column.S, c.Name)
		}
	}
	privileges, err := parsePrivileges(list, securables["any_column"].known)
	if err != nil || c == nil || at < 0 || at >= len(c.Columns) {
		return types.Null, err
	}
	return types.NewBool(slices.ContainsFunc(privileges, func(p string) bool { return holdsOnTable(s, oid, p) })), nil
}

// privileges registers the functions.
func privileges() {
	users := []types.OID{0, types.Name, types.Oid} // 0 is the current user
	object := []types.OID{types.Text, types.Oid}
	add := func(name string, user types.OID, f func(*Snapshot, []types.Datum) (types.Datum, error), args ...types.OID) {
		if user != 0 {
			args = append([]types.OID{user}, args...)
		}
		register(name, types.Bool, withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
			if user != 0 {
				if err := mustBeRole(s, a[0], true); err != nil {
					return types.Null, err
				}
				a = a[1:]
			}
			return f(s, a)
		}), args...)
	}
	for _, user := range users {
		for _, o := range object {
			for kind := range securables {
				add("has_"+kind+"_privilege", user, func(s *Snapshot, a []types.Datum) (types.Datum, error) {
					return has(s, kind, a[0], a[1].S)
				}, o, types.Text)
			}
			for _, column := range []types.OID{types.Text, types.Int2} {
				add("has_column_privilege", user, func(s *Snapshot, a []types.Datum) (types.Datum, error) {
					return hasOnColumn(s, a[0], a[1], a[2].S)
				}, o, column, types.Text)
			}
		}
		add("has_parameter_privilege", user, hasOnParameter, types.Text, types.Text)
		for _, role := range users[1:] {
			args := []types.OID{role, types.Text}
			if user != 0 {
				args = append([]types.OID{user}, args...)
			}
			register("pg_has_role", types.Bool, withSnapshot(hasRole), args...)
		}
	}
}

// hasOnParameter implements has_parameter_privilege: whether the user may SET a setting. Custom settings, which need no
// declaration, have a prefix.
func hasOnParameter(s *Snapshot, a []types.Datum) (types.Datum, error) {
	privileges, err := parsePrivileges(a[1].S, []string{"SET", "ALTER SYSTEM"})
	if err != nil || !slices.Contains(privileges, "SET") {
		return types.NewBool(false), err
	}
	for _, x := range now(s.Settings) {
		if strings.EqualFold(x.Name, a[0].S) {
			return types.NewBool(x.Context == "user" || x.Context == "superuser"), nil
		}
	}
	return types.NewBool(strings.Contains(a[0].S, ".")), nil
}
