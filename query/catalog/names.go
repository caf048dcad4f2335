package catalog

import (
	"strings"

	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// OID resolves a name as the input of regclass, regtype, regnamespace, regrole or regproc does.
func (s *Snapshot) OID(kind types.OID, name string) (int64, bool, error) {
	switch kind {
	case types.RegProcedur:
		return s.signedOID(name)
	case types.RegOper, types.RegOperator:
		return s.operatorOID(kind, name)
	}
	if kind == types.RegType {
		if err := typeSyntax(name); err != nil {
			return 0, false, err
		}
	}
	parts, err := splitName(name)
	if err != nil {
		return 0, false, err
	}
	if len(parts) > 1 && (kind == types.RegNS || kind == types.RegRole) {
		return 0, false, sqlstate.New(sqlstate.InvalidName, "invalid name syntax")
	}
	last := parts[len(parts)-1]
	schema := ""
	switch len(parts) {
	case 1:
	case 2:
		schema = parts[0]
	case 3:
		if parts[0] != s.Database {
			return 0, false, sqlstate.New(sqlstate.FeatureNotSupported,
				"cross-database references are not implemented: %s", name)
		}
		schema = parts[1]
	default:
		return 0, false, sqlstate.New(sqlstate.InvalidName, "improper relation name (too many dotted names): %s", name)
	}
	if schema != "" && s.schemaByName[schema] == nil {
		return 0, false, sqlstate.New(sqlstate.InvalidSchemaName, `schema "%s" does not exist`, schema)
	}
	switch kind {
	case types.RegClass:
		c := s.lookup(schema, last)
		if c == nil {
			return 0, false, nil
		}
		return c.OID, true, nil
	case types.RegNS:
		n := s.schemaByName[last]
		if n == nil {
			return 0, false, nil
		}
		return n.OID, true, nil
	case types.RegRole:
		for _, r := range s.Roles {
			if r.Name == last {
				return r.OID, true, nil
			}
		}
		return 0, false, nil
	case types.RegColl:
		for _, c := range types.Collations() {
			if c.Name == last {
				return int64(c.OID), true, nil
			}
		}
		return 0, false, nil
	case types.RegProc:
		return procOID(last)
	}
	return s.typeOID(schema, last, name)
}

// typeOID finds a type by any of its names, also followed by [], or the row type of a relation.
func (s *Snapshot) typeOID(schema, last, whole string) (int64, bool, error) {
	base, array := strings.CutSuffix(last, "[]")
	if schema == "" || schema == "pg_catalog" {
		// Names of several words are compared as a whole.
		if schema == "" {
			base, array = strings.CutSuffix(strings.ToLower(strings.Join(strings.Fields(whole), " ")), "[]")
			base = strings.Trim(base, `"`)
		}
		base, _, _ = strings.Cut(base, "(")
		if oid, ok := types.ByName(base); ok {
			if array {
				oid = types.ArrayOf(oid)
			}
			return int64(oid), oid != 0, nil
		}
	}
	if c := s.lookup(schema, last); c != nil && !c.builtin {
		return rowType(c), true, nil
	}
	return 0, false, nil
}

// quote returns a name as SQL reads it, always in quotes with quote_all_identifiers.
func (s *Snapshot) quote(name string) string {
	if s.QuoteAll != nil && s.QuoteAll() {
		return keyword.InQuotes(name)
	}
	return keyword.Quote(name)
}

// typeName returns a type's name in SQL. Those that only SQL's grammar knows are never quoted.
func typeName(s *Snapshot, t *types.Info) string {
	switch e := types.Lookup(t.Elem); {
	case e != nil && t.Name[0] == '_':
		return typeName(s, e) + "[]"
	case t.SQLName != t.Name, t.OID == types.Numeric, t.OID == types.Interval:
		return t.SQLName
	}
	return s.quote(t.Name)
}

// Name is the inverse of OID: it returns what regclass and the other reg types show.
func (s *Snapshot) Name(kind types.OID, oid int64) (string, bool) {
	switch kind {
	case types.RegClass:
		if c := s.classByOID[oid]; c != nil {
			return s.display(c), true
		}
	case types.RegNS:
		if n := s.schemaByOID[oid]; n != nil {
			return s.quote(n.Name), true
		}
	case types.RegRole:
		if name, ok := s.role(oid); ok {
			return s.quote(name), true
		}
	case types.RegType:
		if t := types.Lookup(types.OID(oid)); t != nil {
			return typeName(s, t), true
		}
		if c := s.classByOID[oid&^0x80000000]; c != nil {
			return s.display(c), true
		}
	case types.RegColl:
		for _, c := range types.Collations() {
			if int64(c.OID) == oid {
				return s.quote(c.Name), true
			}
		}
	case types.RegProc:
		_, names := procs()
		name, ok := names[oid]
		if ok {
			name = s.quote(name)
		}
		return name, ok
	case types.RegProcedur, types.RegOper, types.RegOperator:
		return signedName(s, kind, oid)
	}
	return "", false
}

// display returns a relation's name, with its schema if the unqualified name would refer to something else.
func (s *Snapshot) display(c *Class) string {
	if s.visible(c) {
		return s.quote(c.Name)
	}
	return s.quote(c.Schema.Name) + "." + s.quote(c.Name)
}

// typeSyntax returns an error for what cannot be the name of a type.
func typeSyntax(name string) error {
	if strings.TrimSpace(name) == "" {
		return sqlstate.New(sqlstate.SyntaxError, `invalid type name "%s"`, name)
	}
	if strings.Count(name, `"`)%2 != 0 {
		return sqlstate.New(sqlstate.SyntaxError, `unterminated quoted identifier at or near "%s"`,
			name[strings.LastIndexByte(name, '"'):])
	}
	return nil
}

// splitName splits a.b."C d" into its parts and folds unquoted ones.
func splitName(name string) ([]string, error) {
	bad := func() ([]string, error) {
		return nil, sqlstate.New(sqlstate.InvalidName, "invalid name syntax")
	}
	var parts []string
	s := strings.TrimSpace(name)
	for {
		if s == "" {
			return bad()
		}
		var part string
		if s[0] == '"' {
			var b strings.Builder
			i := 1
			for ; i < len(s); i++ {
				if s[i] == '"' {
					if i+1 < len(s) && s[i+1] == '"' {
						i++
					} else {
						break
					}
				}
				b.WriteByte(s[i])
			}
			if i >= len(s) || b.Len() == 0 {
				return bad()
			}
			part, s = b.String(), s[i+1:]
		} else {
			i := strings.IndexByte(s, '.')
			if i < 0 {
				i = len(s)
			}
			part, s = keyword.Fold(strings.TrimSpace(s[:i])), s[i:]
			if part == "" {
				return bad()
			}
		}
		parts = append(parts, part)
		if s = strings.TrimSpace(s); s == "" {
			return parts, nil
		}
		if s[0] != '.' {
			return bad()
		}
		s = strings.TrimSpace(s[1:])
	}
}
