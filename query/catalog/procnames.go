package catalog

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// overloaded are functions of which PostgreSQL has more than one, with types that Divan lacks, and alone those of which
// it has one, with defaults, where Divan has an entry for each number of arguments.
var (
	overloaded = strings.Fields(`array_agg bit_count char_length character_length generate_subscripts get_bit lower max
		min pg_size_pretty pg_tablespace_size quote_nullable row_security_active set_bit string_to_table unnest upper`)
	alone = strings.Fields(`is_normalized jsonb_insert jsonb_path_exists jsonb_path_exists_tz jsonb_path_match
		jsonb_path_match_tz jsonb_path_query jsonb_path_query_array jsonb_path_query_array_tz jsonb_path_query_first
		jsonb_path_query_first_tz jsonb_path_query_tz jsonb_set jsonb_set_lax make_interval normalize parse_ident
		pg_terminate_backend`)
)

// procOID resolves the text of a regproc.
func procOID(name string) (int64, bool, error) {
	all, _ := procs()
	var oid int64
	several := slices.Contains(overloaded, name)
	for _, p := range all {
		if p.name != name {
			continue
		}
		several = several || oid != 0 && !slices.Contains(alone, name)
		if oid == 0 {
			oid = p.oid
		}
	}
	if oid != 0 && several {
		return 0, false, sqlstate.New(sqlstate.AmbiguousFunction, `more than one function named "%s"`, name)
	}
	return oid, oid != 0, nil
}

// argTypes splits name(type, type), the text of a regprocedure or a regoperator. A type NONE is 0.
func (s *Snapshot) argTypes(text string) (name string, args []types.OID, err error) {
	bad := func(what string) (string, []types.OID, error) {
		return "", nil, sqlstate.New(sqlstate.InvalidTextRepresentation, "%s", what)
	}
	name, list, ok := strings.Cut(text, "(")
	if !ok {
		return bad("expected a left parenthesis")
	}
	list, ok = strings.CutSuffix(strings.TrimSpace(list), ")")
	if !ok {
		return bad("expected a right parenthesis")
	}
	if strings.TrimSpace(list) == "" {
		return strings.TrimSpace(name), nil, nil
	}
	for _, arg := range strings.Split(list, ",") {
		if arg = strings.TrimSpace(arg); arg == "" {
			return bad("expected a type name")
		}
		if strings.EqualFold(arg, "none") {
			args = append(args, 0)
			continue
		}
		if strings.EqualFold(arg, "internal") {
			args = append(args, internal) // it is in no list of types, since no value has it
			continue
		}
		oid, ok, err := s.typeOID("", arg, arg)
		if err != nil || !ok {
			return "", nil, sqlstate.New(sqlstate.UndefinedObject, `type "%s" does not exist`, arg)
		}
		args = append(args, types.OID(oid))
	}
	return strings.TrimSpace(name), args, nil
}

// signedOID resolves the text of a regprocedure.
func (s *Snapshot) signedOID(text string) (int64, bool, error) {
	name, args, err := s.argTypes(text)
	if err != nil {
		return 0, false, err
	}
	parts, err := splitName(name)
	if err != nil {
		return 0, false, err
	}
	if len(parts) > 1 && s.schemaByName[parts[0]] == nil {
		return 0, false, sqlstate.New(sqlstate.InvalidSchemaName, `schema "%s" does not exist`, parts[0])
	}
	all, _ := procs()
	for _, p := range all {
		if p.name == parts[len(parts)-1] && slices.Equal(p.args, args) {
			return p.oid, true, nil
		}
	}
	return 0, false, nil
}

// operatorOID resolves the text of a regoper or a regoperator.
func (s *Snapshot) operatorOID(kind types.OID, text string) (int64, bool, error) {
	symbol, args := strings.TrimSpace(text), []types.OID(nil)
	if kind == types.RegOperator {
		var err error
		if symbol, args, err = s.argTypes(text); err != nil {
			return 0, false, err
		}
		switch {
		case len(args) == 1:
			return 0, false, sqlstate.New(sqlstate.UndefinedParameter, "missing argument").
				WithHint("Use NONE to denote the missing argument of a unary operator.")
		case len(args) != 2:
			return 0, false, sqlstate.New(sqlstate.TooManyArguments, "too many arguments").
				WithHint("Provide two argument types for operator.")
		}
	}
	symbol = strings.TrimPrefix(symbol, "pg_catalog.")
	var found int64
	for _, o := range typing.PgOperators() {
		if o.Symbol != symbol || args != nil && !slices.Equal(operands(o), args) {
			continue
		}
		if found != 0 {
			return 0, false, sqlstate.New(sqlstate.AmbiguousFunction, "more than one operator named %s", symbol)
		}
		found = o.OID
	}
	return found, found != 0, nil
}

// operands returns the types of both operands; that of the left one is 0 for a prefix operator.
func operands(o typing.PgOperator) []types.OID {
	if len(o.Func.Args) == 1 {
		return []types.OID{0, o.Func.Args[0]}
	}
	return o.Func.Args
}

// signedName returns what a regprocedure, regoper or regoperator shows.
func signedName(s *Snapshot, kind types.OID, oid int64) (string, bool) {
	if kind == types.RegProcedur {
		all, _ := procs()
		for _, p := range all {
			if p.oid == oid {
				return s.quote(p.name) + "(" + typeList(s, p.args) + ")", true
			}
		}
		return "", false
	}
	for _, o := range typing.PgOperators() {
		if o.OID != oid {
			continue
		}
		if kind == types.RegOperator {
			return o.Symbol + "(" + typeList(s, operands(o)) + ")", true
		}
		if _, _, err := (&Snapshot{}).operatorOID(types.RegOper, o.Symbol); err != nil {
			return "pg_catalog." + o.Symbol, true
		}
		return o.Symbol, true
	}
	return "", false
}

func typeList(s *Snapshot, oids []types.OID) string {
	names := make([]string, len(oids))
	for i, t := range oids {
		switch t {
		case 0:
			names[i] = "NONE"
		case internal:
			names[i] = "internal"
		default:
			names[i] = types.NameOf(t)
			if info := types.Lookup(t); info != nil {
				names[i] = typeName(s, info)
			}
		}
	}
	return strings.Join(names, ",")
}
