package catalog

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// identity tells what an object is, as pg_identify_object and its family do.
type identity struct {
	kind   string // such as "table column"
	schema string // "" for objects without one
	name   string // "" where it is not unique in its schema
	whole  string // with what is needed to tell it from all others; "" if there is no such object
	// names and args are its address.
	names, args []string
}

func init() {
	family.AddTable(&exec.TableFunc{Name: "pg_identify_object", Args: []types.OID{types.Oid, types.Oid, types.Int4},
		Columns: textColumns("type", "schema", "name", "identity"),
		Rows: identified(func(i *identity) []types.Datum {
			return []types.Datum{textOrNull(i.kind), textOrNull(i.schema), textOrNull(i.name), textOrNull(i.whole)}
		})})
	family.AddTable(&exec.TableFunc{Name: "pg_identify_object_as_address",
		Args: []types.OID{types.Oid, types.Oid, types.Int4},
		Columns: func(given []types.OID) []exec.Column {
			cols := textColumns("type", "object_names", "object_args")(given)
			cols[1].Type, cols[2].Type = types.TextArray, types.TextArray
			return cols
		},
		Rows: identified(func(i *identity) []types.Datum {
			if i.whole == "" {
				return []types.Datum{textOrNull(i.kind), types.Null, types.Null}
			}
			return []types.Datum{textOrNull(i.kind), texts(i.names), texts(i.args)}
		})})
	indexProperties()
}

func textColumns(names ...string) func([]types.OID) []exec.Column {
	return func([]types.OID) []exec.Column {
		cols := make([]exec.Column, len(names))
		for i, n := range names {
			cols[i] = exec.Column{Name: n, Type: types.Text, Mod: -1}
		}
		return cols
	}
}

func textOrNull(s string) types.Datum {
	if s == "" {
		return types.Null
	}
	return types.NewText(s)
}

func texts(list []string) types.Datum {
	items := make([]types.Datum, len(list))
	for i, s := range list {
		items[i] = types.NewText(s)
	}
	return types.NewArray(types.Text, items)
}

type rowsFunc = func(*exec.Env, []types.OID, []types.Datum) ([][]types.Datum, error)

// identified returns the function that computes a row about an object, whose catalogue, OID and column are given.
func identified(row func(*identity) []types.Datum) rowsFunc {
	return func(env *exec.Env, _ []types.OID, a []types.Datum) ([][]types.Datum, error) {
		s, err := SnapshotOf(env.State)
		if err != nil || slices.ContainsFunc(a, types.Datum.IsNull) {
			return nil, err
		}
		i, err := identify(s, a[0].I, a[1].I, a[2].I)
		if err != nil {
			return nil, err
		}
		return [][]types.Datum{row(i)}, nil
	}
}

// identify returns what an object of a catalogue is.
func identify(s *Snapshot, class, oid, column int64) (*identity, error) {
	name := ""
	if c := s.classByOID[class]; c != nil && c.Schema.OID == oidPgCatalog {
		name = c.Name
	}
	switch name {
	case "pg_class":
		return identifyClass(s, oid, column), nil
	case "pg_type":
		return identifyType(s, types.OID(oid)), nil
	case "pg_proc":
		return identifyProc(s, oid), nil
	case "pg_constraint":
		return identifyConstraint(s, oid), nil
	case "pg_namespace":
		i := &identity{kind: "schema"}
		if n := s.schemaByOID[oid]; n != nil {
			i.single(s, n.Name)
		}
		return i, nil
	case "pg_database":
		i := &identity{kind: "database"}
		if at := slices.IndexFunc(s.DBs, func(d Database) bool { return d.OID == oid }); at >= 0 {
			i.single(s, s.DBs[at].Name)
		}
		return i, nil
	case "pg_authid":
		i := &identity{kind: "role"}
		if role, ok := s.role(oid); ok {
			i.single(s, role)
		}
		return i, nil
	}
	return nil, sqlstate.New(sqlstate.UndefinedObject, "unrecognized object class: %d", class)
}

// single completes the identity of an object that is not in a schema.
func (i *identity) single(s *Snapshot, name string) {
	i.name, i.whole, i.names = s.quote(name), s.quote(name), []string{name}
}

func identifyClass(s *Snapshot, oid, column int64) *identity {
	c := s.classByOID[oid]
	i := &identity{kind: "relation"}
	if c != nil {
		i.kind = map[string]string{"r": "table", "v": "view", "i": "index"}[c.Kind]
		i.schema, i.name = s.quote(c.Schema.Name), s.quote(c.Name)
		i.whole = i.schema + "." + i.name
		i.names = []string{c.Schema.Name, c.Name}
	}
	switch {
	case column == 0:
	case c == nil || column < 0 || int(column) > len(c.Columns):
		*i = identity{kind: i.kind + " column"}
	default:
		name := c.Columns[column-1].Name
		i.kind += " column"
		i.whole += "." + s.quote(name)
		i.names = append(i.names, name)
	}
	return i
}

// qualifiedType returns the name of a type that means the same whatever the search path is.
func qualifiedType(s *Snapshot, t *types.Info) string {
	if t.Elem != 0 && t.Name[0] == '_' {
		if e := types.Lookup(t.Elem); e != nil {
			return qualifiedType(s, e) + "[]"
		}
	}
	if t.SQLName != t.Name && t.SQLName[0] != '"' {
		return t.SQLName // by the SQL standard
	}
	return s.quote("pg_catalog") + "." + typeName(s, t)
}

func identifyType(s *Snapshot, oid types.OID) *identity {
	i := &identity{kind: "type"}
	if t := types.Lookup(oid); t != nil {
		i.schema, i.name, i.whole = s.quote("pg_catalog"), s.quote(t.Name), qualifiedType(s, t)
		i.names = []string{i.whole}
	} else if c := s.classByOID[int64(oid)&^0x80000000]; c != nil && int64(oid) != c.OID {
		i.schema, i.name = s.quote(c.Schema.Name), s.quote(c.Name)
		i.whole = i.schema + "." + i.name
		i.names = []string{i.whole}
	}
	return i
}

func identifyProc(s *Snapshot, oid int64) *identity {
	i := &identity{kind: "function"}
	all, _ := procs()
	at := slices.IndexFunc(all, func(p proc) bool { return p.oid == oid })
	if at < 0 {
		i.kind = "routine"
		return i
	}
	p := all[at]
	if p.kind == "a" {
		i.kind = "aggregate"
	}
	i.args = make([]string, len(p.args))
	for j, t := range p.args {
		i.args[j] = types.NameOf(t)
		if info := types.Lookup(t); info != nil {
			i.args[j] = qualifiedType(s, info)
		}
	}
	i.schema, i.names = s.quote("pg_catalog"), []string{"pg_catalog", p.name}
	i.whole = s.quote("pg_catalog") + "." + s.quote(p.name) + "(" + strings.Join(i.args, ",") + ")"
	return i
}

func identifyConstraint(s *Snapshot, oid int64) *identity {
	i := &identity{kind: "constraint"}
	if k := keyOf(s, func(k *Key) bool { return k.Constraint == oid }); k != nil {
		table := identifyClass(s, k.Table.OID, 0)
		i.kind, i.schema = "table constraint", table.schema
		i.whole, i.names = s.quote(k.Name)+" on "+table.whole, append(table.names, k.Name)
	}
	return i
}

// keyOf returns a primary key, or nil.
func keyOf(s *Snapshot, is func(*Key) bool) *Key {
	if i := slices.IndexFunc(s.Keys, is); i >= 0 {
		return s.Keys[i]
	}
	return nil
}

// indexProperties adds functions about the abilities of indexes. Those of primary keys are btrees.
func indexProperties() {
	column := map[string]bool{"asc": true, "desc": false, "nulls_first": false, "nulls_last": true, "orderable": true,
		"distance_orderable": false, "returnable": true, "search_array": true, "search_nulls": true}
	index := map[string]bool{"clusterable": true, "index_scan": true, "bitmap_scan": true, "backward_scan": true}
	method := map[string]bool{"can_order": true, "can_unique": true, "can_multi_col": true, "can_exclude": true,
		"can_include": true}
	answer := func(known map[string]bool, there bool, name string) (types.Datum, error) {
		value, ok := known[strings.ToLower(name)]
		if !ok || !there {
			return types.Null, nil
		}
		return types.NewBool(value), nil
	}
	register("pg_index_column_has_property", types.Bool,
		withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
			k := keyOf(s, func(k *Key) bool { return k.Index == a[0].I })
			return answer(column, k != nil && a[1].I == 1, a[2].S)
		}), types.RegClass, types.Int4, types.Text)
	register("pg_index_has_property", types.Bool,
		withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
			return answer(index, keyOf(s, func(k *Key) bool { return k.Index == a[0].I }) != nil, a[1].S)
		}), types.RegClass, types.Text)
	register("pg_indexam_has_property", types.Bool, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return answer(method, a[0].I == oidBtree, a[1].S)
	}, types.Oid, types.Text)
	register("pg_get_replica_identity_index", types.RegClass,
		withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
			if k := keyOf(s, func(k *Key) bool { return k.Table.OID == a[0].I }); k != nil {
				return types.NewInt(k.Index), nil
			}
			if k := keyOf(s, func(k *Key) bool { return k.Index == a[0].I }); k != nil {
				return types.Null, sqlstate.New(sqlstate.WrongObjectType, `"%s" is an index`, k.Name)
			}
			return types.Null, nil
		}), types.RegClass)
}
