package catalog

import (
	"errors"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// The functions that clients apply to the catalogue (PostgreSQL 15, section 9.26, "System Catalog Information
// Functions" and "Access Privilege Inquiry Functions").

type evalFunc = func(env *exec.CallEnv, a []types.Datum) (types.Datum, error)

var family = funcs.NewFamily("System catalogue", "9.26", exec.Stable)

func register(name string, ret types.OID, f evalFunc, args ...types.OID) *exec.Func {
	return family.Add(&exec.Func{Name: name, Args: args, Ret: ret, Eval: f})
}

// withSnapshot returns a function that uses the statement's snapshot.
func withSnapshot(f func(s *Snapshot, a []types.Datum) (types.Datum, error)) evalFunc {
	return func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		s, err := SnapshotOf(env.State)
		if err != nil {
			return types.Null, err
		}
		return f(s, a)
	}
}

func constant(d types.Datum) evalFunc {
	return func(*exec.CallEnv, []types.Datum) (types.Datum, error) { return d, nil }
}

func init() {
	oidNames()
	visibility()
	definitions()
	comments()
	privileges()
	lists()
	sizes()
	schemas()
}

// oidNames adds functions that convert between OIDs and names.
func oidNames() {
	f := register("format_type", types.Text, withSnapshot(formatType), types.Oid, types.Int4)
	f.NullArgs = true
	register("pg_get_userbyid", types.Name, withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
		if name, ok := s.role(a[0].I); ok {
			return types.NewText(name), nil
		}
		return types.NewText("unknown (OID=" + strconv.FormatInt(a[0].I, 10) + ")"), nil
	}), types.Oid)
	encodingNames()
	register("parse_ident", types.TextArray, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return parseIdent(a[0].S, true)
	}, types.Text)
	strict := register("parse_ident", types.TextArray, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return parseIdent(a[0].S, a[1].True())
	}, types.Text, types.Bool)
	strict.Names, strict.Defaults = []string{"str", "strict"}, []types.Datum{types.NewBool(true)}
	register("getdatabaseencoding", types.Name, constant(types.NewText("UTF8")))
	for name, kind := range map[string]types.OID{"to_regclass": types.RegClass, "to_regtype": types.RegType,
		"to_regnamespace": types.RegNS,
		"to_regrole":      types.RegRole, "to_regproc": types.RegProc, "to_regprocedure": types.RegProcedur,
		"to_regcollation": types.RegColl,
		"to_regoper":      types.RegOper, "to_regoperator": types.RegOperator} {
		register(name, kind, withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
			oid, ok, err := s.OID(kind, a[0].S)
			var e *sqlstate.Error
			if errors.As(err, &e) && (e.Code == sqlstate.InvalidSchemaName || e.Code == sqlstate.AmbiguousFunction) {
				return types.Null, nil
			}
			if err != nil || !ok {
				return types.Null, err
			}
			d := types.NewInt(oid)
			d.S, _ = s.Name(kind, oid)
			return d, nil
		}), types.Text)
	}
}

func visibility() {
	register("pg_table_is_visible", types.Bool, withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
		c := s.classByOID[a[0].I]
		if c == nil {
			return types.Null, nil
		}
		return types.NewBool(s.listed(c)), nil
	}), types.Oid)
	for _, name := range []string{"pg_type_is_visible", "pg_function_is_visible", "pg_operator_is_visible",
		"pg_opclass_is_visible",
		"pg_opfamily_is_visible", "pg_conversion_is_visible", "pg_collation_is_visible", "pg_ts_config_is_visible",
		"pg_ts_dict_is_visible",
		"pg_ts_parser_is_visible", "pg_ts_template_is_visible", "pg_statistics_obj_is_visible"} {
		register(name, types.Bool, constant(types.NewBool(true)), types.Oid)
	}
}

// definitions adds functions for objects that do not exist here: triggers, rules, user-defined functions.
func definitions() {
	null := func(name string, args ...types.OID) { register(name, types.Text, constant(types.Null), args...) }
	for _, name := range []string{"pg_get_triggerdef", "pg_get_ruledef", "pg_get_partkeydef",
		"pg_get_statisticsobjdef_columns", "pg_get_statisticsobjdef", "pg_get_functiondef", "pg_get_function_sqlbody",
		"pg_get_partition_constraintdef"} {
		null(name, types.Oid)
	}
	for _, name := range []string{"pg_get_triggerdef", "pg_get_ruledef"} {
		null(name, types.Oid, types.Bool)
	}
	register("pg_tablespace_location", types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		switch a[0].I {
		case 0, oidDefaultSpace, oidGlobalSpace: // 0 is the database's
			return types.NewText(""), nil
		}
		return types.Null, nil
	}, types.Oid)
	keyDefinitions()
	for _, args := range [][]types.OID{{types.PgNodeTree, types.Oid}, {types.PgNodeTree, types.Oid, types.Bool}} {
		null("pg_get_expr", args...)
	}
	null("pg_get_serial_sequence", types.Text, types.Text)
	view := withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
		if c := s.classByOID[a[0].I]; c != nil && c.Definition != "" {
			return types.NewText(c.Definition), nil
		}
		return types.Null, nil
	})
	register("pg_get_viewdef", types.Text, view, types.Oid)
	register("pg_get_viewdef", types.Text, view, types.Oid, types.Bool)
	register("pg_get_viewdef", types.Text, view, types.Oid, types.Int4)
	signature := func(result bool) evalFunc {
		return func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			all, _ := procs()
			i := a[0].I - procBase
			if i < 0 || i >= int64(len(all)) {
				return types.Null, nil
			}
			if result {
				return types.NewText(types.NameOf(all[i].ret)), nil
			}
			names := make([]string, len(all[i].args))
			for j, t := range all[i].args {
				names[j] = argName(t)
			}
			return types.NewText(strings.Join(names, ", ")), nil
		}
	}
	register("pg_get_function_result", types.Text, signature(true), types.Oid)
	register("pg_get_function_arguments", types.Text, signature(false), types.Oid)
	register("pg_get_function_identity_arguments", types.Text, signature(false), types.Oid)
	register("pg_relation_is_publishable", types.Bool, constant(types.NewBool(false)), types.RegClass)
	register("pg_relation_is_updatable", types.Int4,
		withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
			if s.writable(a[0].I) {
				return types.NewInt(updatable), nil
			}
			return types.NewInt(0), nil
		}), types.RegClass, types.Bool)
	register("pg_column_is_updatable", types.Bool,
		withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
			return types.NewBool(s.writable(a[0].I) && a[1].I > 0), nil
		}), types.RegClass, types.Int2, types.Bool)
	register("pg_blocking_pids", types.Int4Array, withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
		var pids []types.Datum
		for _, pid := range blocking(s.Locks(), a[0].I) {
			pids = append(pids, types.NewInt(pid))
		}
		return types.NewArray(types.Int4, pids), nil
	}), types.Int4)
	register("row_security_active", types.Bool, constant(types.NewBool(false)), types.Oid)
	register("row_security_active", types.Bool, withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
		_, ok, err := s.OID(types.RegClass, a[0].S)
		if err == nil && !ok {
			err = sqlstate.New(sqlstate.UndefinedTable, "relation \"%s\" does not exist", a[0].S)
		}
		return types.NewBool(false), err
	}), types.Text)
	// No serializable transaction waits for another to begin.
	register("pg_safe_snapshot_blocking_pids", types.Int4Array, constant(types.NewArray(types.Int4, nil)), types.Int4)
	register("pg_my_temp_schema", types.Oid, constant(types.NewInt(0)))
	register("pg_is_other_temp_schema", types.Bool, constant(types.NewBool(false)), types.Oid)
	register("_pg_truetypid", types.Oid, constant(types.Null), exec.AnyValue, exec.AnyValue)
}

func argName(t types.OID) string {
	switch t {
	case exec.AnyElement:
		return "anyelement"
	case exec.AnyValue:
		return `"any"`
	}
	return types.NameOf(t)
}

func comments() {
	describe := func(s *Snapshot, oid int64, class string) types.Datum {
		if class == "pg_class" || class == "" {
			if c := s.classByOID[oid]; c != nil && c.Comment != "" {
				return types.NewText(c.Comment)
			}
		}
		if class == "pg_namespace" || class == "" {
			if n := s.schemaByOID[oid]; n != nil && n.Comment != "" {
				return types.NewText(n.Comment)
			}
		}
		return types.Null
	}
	register("obj_description", types.Text, withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
		return describe(s, a[0].I, a[1].S), nil
	}), types.Oid, types.Name)
	register("obj_description", types.Text, withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
		return describe(s, a[0].I, ""), nil
	}), types.Oid)
	register("col_description", types.Text, withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
		if c := s.classByOID[a[0].I]; c != nil && a[1].I > 0 && a[1].I <= int64(len(c.Columns)) {
			if comment := c.Columns[a[1].I-1].Comment; comment != "" {
				return types.NewText(comment), nil
			}
		}
		return types.Null, nil
	}), types.Oid, types.Int4)
	register("shobj_description", types.Text, constant(types.Null), types.Oid, types.Name)
}

// lists adds functions that return rows.
func lists() {
	family.AddTable(&exec.TableFunc{Name: "aclexplode", Args: []types.OID{types.AclItemArray},
		Columns: func([]types.OID) []exec.Column {
			return []exec.Column{{Name: "grantor", Type: types.Oid, Mod: -1},
				{Name: "grantee", Type: types.Oid, Mod: -1},
				{Name: "privilege_type", Type: types.Text, Mod: -1}, {Name: "is_grantable", Type: types.Bool, Mod: -1}}
		},
		Rows: noRows})
	register("acldefault", types.AclItemArray, constant(types.NewArray(types.AclItem, nil)), types.Char, types.Oid)
	family.AddTable(&exec.TableFunc{Name: "pg_options_to_table", Args: []types.OID{types.TextArray},
		Columns: func([]types.OID) []exec.Column {
			return []exec.Column{{Name: "option_name", Type: types.Text, Mod: -1},
				{Name: "option_value", Type: types.Text, Mod: -1}}
		}, Rows: noRows})
	family.AddTable(&exec.TableFunc{Name: "pg_get_keywords", Columns: func([]types.OID) []exec.Column {
		return []exec.Column{{Name: "word", Type: types.Text, Mod: -1}, {Name: "catcode", Type: types.Char, Mod: -1},
			{Name: "barelabel", Type: types.Bool, Mod: -1}, {Name: "catdesc", Type: types.Text, Mod: -1},
			{Name: "baredesc", Type: types.Text, Mod: -1}}
	}, Rows: keywords})
}

func noRows(*exec.Env, []types.OID, []types.Datum) ([][]types.Datum, error) { return nil, nil }

func keywords(*exec.Env, []types.OID, []types.Datum) ([][]types.Datum, error) {
	var out [][]types.Datum
	categories := map[keyword.Category][2]string{keyword.Unreserved: {"U", "unreserved"},
		keyword.ColumnName:       {"C", "unreserved (cannot be function or type name)"},
		keyword.TypeFunctionName: {"T", "reserved (can be function or type name)"}, keyword.Reserved: {"R", "reserved"}}
	for _, w := range keyword.All() {
		c, bare := keyword.Lookup(w)
		label := "requires AS"
		if bare {
			label = "can be bare label"
		}
		out = append(out, []types.Datum{types.NewText(w), types.NewText(categories[c][0]), types.NewBool(bare),
			types.NewText(categories[c][1]), types.NewText(label)})
	}
	return out, nil
}

func schemas() {
	register("current_schema", types.Name, withSnapshot(func(s *Snapshot, _ []types.Datum) (types.Datum, error) {
		for _, n := range s.SearchPath {
			if s.schemaByName[n] != nil {
				return types.NewText(n), nil
			}
		}
		return types.Null, nil
	}))
	register("current_schemas", types.NameArray, withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
		path := s.SearchPath
		if a[0].True() {
			path = s.path()
		}
		var items []types.Datum
		for _, n := range path {
			if s.schemaByName[n] != nil {
				items = append(items, types.NewText(n))
			}
		}
		return types.NewArray(types.Name, items), nil
	}), types.Bool)
}

// parseIdent splits a.b."C d" as parse_ident does. Unless strict, anything may follow the last name.
func parseIdent(text string, strict bool) (types.Datum, error) {
	bad := func(detail string) (types.Datum, error) {
		e := sqlstate.New(sqlstate.InvalidParameterValue, "string is not a valid identifier: \"%s\"", text)
		e.Detail = detail
		return types.Null, e
	}
	const space = " \t\n\r\f\v"
	var items []types.Datum
	after := false // a period
	for s := strings.TrimLeft(text, space); ; after = true {
		var name string
		switch n := identEnd(s); {
		case strings.HasPrefix(s, `"`):
			end := 1
			for end < len(s) && (s[end] != '"' || strings.HasPrefix(s[end:], `""`)) {
				if end++; s[end-1] == '"' {
					end++
				}
			}
			if end >= len(s) {
				return bad("String has unclosed double quotes.")
			}
			if name = strings.ReplaceAll(s[1:end], `""`, `"`); name == "" {
				return bad("Quoted identifier must not be empty.")
			}
			s = s[end+1:]
		case n > 0:
			name, s = keyword.Fold(s[:n]), s[n:]
		case strings.HasPrefix(s, "."):
			return bad(`No valid identifier before ".".`)
		case after:
			return bad(`No valid identifier after ".".`)
		default:
			return bad("")
		}
		items = append(items, types.NewText(name))
		rest, more := strings.CutPrefix(strings.TrimLeft(s, space), ".")
		switch {
		case more:
			s = strings.TrimLeft(rest, space)
			continue
		case rest != "" && strict:
			return bad("")
		}
		return types.NewArray(types.Text, items), nil
	}
}

// identEnd returns the length of the unquoted name that s begins with.
func identEnd(s string) int {
	for i, c := range s {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
		if !letter && (i == 0 || c != '$' && (c < '0' || c > '9')) {
			return i
		}
	}
	return len(s)
}
