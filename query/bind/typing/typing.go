// Package typing resolves types: which of several functions fits its arguments, which type operands are cast to, and
// which type untyped literals and parameters get. Package types casts the values.
package typing

import (
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/datetime"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/funcs/jsons"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Open holds the literals and parameters of a statement. Their types are open until an operation requires one.
type Open struct {
	Params     []types.OID           // 0 while unknown
	Loose      []bool                // parameters compared with jsonb, whose values may be texts that are not JSON
	ParamNodes map[int][]*exec.Param // by index
	Literals   map[*exec.Const]int   // and their positions
}

// NewOpen returns an Open for a statement. given are the parameter types that the client has declared, 0 for open ones.
func NewOpen(given []types.OID) Open {
	return Open{Params: slices.Clone(given), ParamNodes: map[int][]*exec.Param{}, Literals: map[*exec.Const]int{}}
}

// OperandError returns PostgreSQL's error for an operator that does not exist for its operand types.
func OperandError(op string, off int, oids ...types.OID) *sqlstate.Error {
	names := make([]string, len(oids))
	for i, t := range oids {
		names[i] = types.NameOf(t)
	}
	text := op + " " + names[0]
	hint := "No operator matches the given name and argument type. You might need to add an explicit type cast."
	if len(names) == 2 {
		text = names[0] + " " + op + " " + names[1]
		hint = "No operator matches the given name and argument types. You might need to add explicit type casts."
	}
	e := sqlstate.New(sqlstate.UndefinedFunction, "operator does not exist: %s", text).At(off)
	e.Hint = hint
	return e
}

// ambiguousOperator returns PostgreSQL's error for an operator that several functions implement equally well.
func ambiguousOperator(op string, off int, oids ...types.OID) *sqlstate.Error {
	e := OperandError(op, off, oids...)
	e.Code, e.Message = sqlstate.AmbiguousFunction, strings.Replace(e.Message, "does not exist", "is not unique", 1)
	e.Hint = "Could not choose a best candidate operator. You might need to add explicit type casts."
	return e
}

// Untyped reports whether e is a literal or a parameter whose type is still open.
func Untyped(e exec.Expr) bool {
	switch n := e.(type) {
	case *exec.Const:
		return n.Typ == types.Unknown
	case *exec.Param:
		return n.Typ == types.Unknown
	}
	return false
}

// Coerce casts e to a type if the context allows it. Open literals and parameters get the type.
func (o *Open) Coerce(e exec.Expr, to types.OID, context types.Context, off int) (exec.Expr, error) {
	from := e.Type()
	if from == to || to == exec.AnyValue || to == exec.AnyElement {
		if from == types.Unknown && to != types.Unknown {
			return o.Coerce(e, types.Text, types.Implicit, off)
		}
		return e, nil
	}
	switch n := e.(type) {
	case *exec.Const:
		if n.Typ == types.Unknown {
			return o.Constant(n, to, -1, off)
		}
	case *exec.Param:
		if n.Typ == types.Unknown {
			return n, o.SetParam(n, to)
		}
	}
	if types.CastContext(from, to) > context {
		return nil, types.CannotCast(from, to).At(off)
	}
	return &exec.CastExpr{X: e, To: to, Mod: -1, Off: off, Hidden: true}, nil
}

// Constant reads an open literal as a type. Names of the catalogue and "now" are read at execution.
func (o *Open) Constant(n *exec.Const, to types.OID, mod int32, off int) (exec.Expr, error) {
	if n.D.IsNull() {
		return exec.NullOf(to), nil
	}
	switch {
	case to == types.Interval && strings.HasPrefix(strings.TrimSpace(n.D.S), "-"):
		// The session's style decides whether a leading sign applies to the whole interval, so read it at execution.
		return &exec.CastExpr{X: &exec.Const{D: n.D, Typ: types.Unknown}, To: to, Mod: mod,
			Off: o.LiteralOffset(n, off), Hidden: true}, nil
	case types.IsReg(to), types.IsReg(types.ElemOf(to)), isMoment(to), isMoment(types.ElemOf(to)):
		return &exec.CastExpr{X: &exec.Const{D: n.D, Typ: types.Text}, To: to, Mod: mod, Off: o.LiteralOffset(n, off),
			Hidden: true}, nil
	}
	d, err := types.Cast(n.D, types.Unknown, to, mod, nil)
	if err != nil {
		return nil, sqlstate.Locate(err, o.LiteralOffset(n, off))
	}
	return &exec.Const{D: d, Typ: to, Mod: mod + 1}, nil
}

// isMoment reports whether the text of a type may contain "now", or depend on the session's time zone.
func isMoment(t types.OID) bool {
	switch t {
	case types.Timestamp, types.TimestampTZ, types.Date, types.Time, types.TimeTZ:
		return true
	}
	return false
}

// LiteralOffset returns the position of the literal, or off if it is not known.
func (o *Open) LiteralOffset(n *exec.Const, off int) int {
	if at, ok := o.Literals[n]; ok {
		return at
	}
	return off
}

func (o *Open) SetParam(p *exec.Param, to types.OID) error {
	if to == types.Unknown {
		return nil
	}
	if have := o.Params[p.Index]; have != 0 && have != types.Unknown && have != to {
		return sqlstate.New(sqlstate.DatatypeMismatch, "inconsistent types deduced for parameter $%d: %s versus %s",
			p.Index+1, types.NameOf(have), types.NameOf(to))
	}
	o.Params[p.Index] = to
	for _, q := range o.ParamNodes[p.Index] {
		q.Typ = to
	}
	return nil
}

// NumericRank orders the numeric types by promotion.
var NumericRank = map[types.OID]int{types.Int2: 1, types.Int4: 2, types.Int8: 3, types.Numeric: 4, types.Float4: 5,
	types.Float8: 6}

// Compare binds x op y for the comparison operators.
func (o *Open) Compare(op string, x, y exec.Expr, off int) (exec.Expr, error) {
	x, y, err := o.Comparable(op, x, y, off)
	if err != nil {
		return nil, err
	}
	coll, err := collation.Comparison(op, off, x, y)
	if err != nil {
		return nil, err
	}
	fn := funcs.CollatedComparison(op, coll)
	if fn.Collation == nil {
		// A comparison by bytes may become a key range. Planning recognizes only plain columns, so remove COLLATE.
		x, y = collation.Without(x), collation.Without(y)
	}
	return &exec.Call{Func: fn, Args: []exec.Expr{x, y}, Typ: types.Bool, Off: off, Op: op}, nil
}

// Comparable casts two operands to a comparable type.
func (o *Open) Comparable(op string, x, y exec.Expr, off int) (exec.Expr, exec.Expr, error) {
	a, c := x.Type(), y.Type()
	if a == types.JSONB || c == types.JSONB {
		if collation.HasLocale(x) || collation.HasLocale(y) {
			return nil, nil, collation.Unsupported(off, "a comparison with jsonb")
		}
		var err error
		if x, err = o.AsJSON(x, op, c, off); err == nil {
			y, err = o.AsJSON(y, op, a, off)
		}
		return x, y, err
	}
	t := ComparedType(op, a, c)
	if t == 0 {
		return nil, nil, OperandError(op, off, a, c)
	}
	if a == types.Xid && t == types.Oid {
		x = &exec.CastExpr{X: x, To: t, Mod: -1, Off: off, Hidden: true}
	}
	var err error
	if a != types.VarChar || c != types.Unknown { // a column without a cast may become a range
		x, err = o.Coerce(x, t, types.Implicit, off)
	}
	if err == nil && (c != types.VarChar || a != types.Unknown) {
		y, err = o.Coerce(y, t, types.Implicit, off)
	}
	return x, y, err
}

// AsJSON converts an operand of a comparison with jsonb to jsonb. A literal or parameter that is valid JSON is that
// JSON. One that is not is the JSON string of its characters, where PostgreSQL reports an error. A computed text is a
// JSON string; numbers and booleans are themselves.
func (o *Open) AsJSON(e exec.Expr, op string, other types.OID, off int) (exec.Expr, error) {
	t := e.Type()
	switch n := e.(type) {
	case *exec.Const:
		if t == types.Unknown {
			return LooseConst(n, types.JSONB)
		}
	case *exec.Param:
		if t == types.Unknown {
			return n, o.LooseParam(n, types.JSONB)
		}
		if types.IsString(t) {
			return &exec.Call{Func: jsons.LooseJSON, Args: []exec.Expr{e}, Typ: types.JSONB, Off: off,
				Hidden: true}, nil
		}
	}
	switch {
	case t == types.JSONB:
		return e, nil
	case t == types.JSON:
		return &exec.CastExpr{X: e, To: types.JSONB, Mod: -1, Off: off, Hidden: true}, nil
	case types.IsString(t):
		x, err := o.Coerce(e, types.Text, types.Implicit, off)
		return &exec.Call{Func: jsons.JSONString, Args: []exec.Expr{x}, Typ: types.JSONB, Off: off, Hidden: true}, err
	case types.IsNumber(t), t == types.Bool:
		return &exec.Call{Func: jsons.JSONScalar, Args: []exec.Expr{e}, Typ: types.JSONB, Off: off, Hidden: true}, nil
	}
	return nil, OperandError(op, off, other, t)
}

// LooseConst reads a literal that is compared with jsonb, as a jsonb or as an array of jsonb.
func LooseConst(n *exec.Const, to types.OID) (exec.Expr, error) {
	if n.D.IsNull() {
		return exec.NullOf(to), nil
	}
	d, err := types.Cast(n.D, types.Unknown, to, -1, &types.Env{LooseJSON: true})
	return &exec.Const{D: d, Typ: to}, err
}

// LooseParam marks a parameter whose values are read as LooseConst reads literals.
func (o *Open) LooseParam(p *exec.Param, to types.OID) error {
	for len(o.Loose) <= p.Index {
		o.Loose = append(o.Loose, false)
	}
	o.Loose[p.Index] = true
	return o.SetParam(p, to)
}

// ResolveType returns the type and type modifier of a type name.
func ResolveType(n ast.TypeName) (types.OID, int32, error) {
	name := n.Parts[len(n.Parts)-1]
	if len(n.Parts) > 1 && n.Parts[0] != "pg_catalog" {
		return 0, 0, sqlstate.New(sqlstate.UndefinedObject, `type "%s" does not exist`,
			strings.Join(n.Parts, ".")).At(n.Pos())
	}
	oid, ok := types.ByName(name)
	if !ok && slices.Contains(unsupportedTypes, name) {
		return 0, 0, sqlstate.Unsupported(n.Pos(), "Use text, a number, bytea or jsonb.",
			"type %s is not supported", name)
	}
	if !ok {
		return 0, 0, sqlstate.New(sqlstate.UndefinedObject, `type "%s" does not exist`, name).At(n.Pos())
	}
	mod, err := typmod(oid, n)
	if err != nil {
		return 0, 0, err
	}
	if n.Array {
		if oid = types.ArrayOf(oid); oid == 0 {
			return 0, 0, sqlstate.New(sqlstate.UndefinedObject, "type %s[] does not exist", name).At(n.Pos())
		}
	}
	return oid, mod, nil
}

// unsupportedTypes are PostgreSQL's types that Divan does not have, by the names in pg_type and others.
var unsupportedTypes = strings.Fields(`bit varbit cidr circle datemultirange daterange gtsvector inet int4multirange
	int4range int8multirange int8range macaddr macaddr8 money nummultirange numrange path pg_snapshot polygon box
	line lseg point refcursor regdictionary tsmultirange tsquery tsrange tstzmultirange tstzrange tsvector txid_snapshot
	xml`)

// PostgreSQL's largest modifiers of char and varchar, and of numeric.
const (
	maxChars  = 10485760
	maxDigits = 1000
)

// typmod encodes the modifiers of a type as PostgreSQL does.
func typmod(oid types.OID, n ast.TypeName) (int32, error) {
	refuse := func(format string, args ...any) (int32, error) {
		return 0, sqlstate.New(sqlstate.InvalidParameterValue, format, args...).At(n.Pos())
	}
	bad := func() (int32, error) { return refuse("invalid type modifier") }
	values := make([]int64, len(n.Mods))
	for i, m := range n.Mods {
		v, err := strconv.ParseInt(m, 10, 32)
		if err != nil {
			return bad()
		}
		values[i] = v
	}
	switch {
	case len(values) == 0 && oid == types.Interval:
		return datetime.IntervalMod(n.Fields, -1), nil
	case len(values) == 0:
		return -1, nil
	case oid == types.VarChar || oid == types.BPChar:
		name := map[types.OID]string{types.VarChar: "varchar", types.BPChar: "char"}[oid]
		switch {
		case len(values) != 1:
			return bad()
		case values[0] < 1:
			return refuse("length for type %s must be at least 1", name)
		case values[0] > maxChars:
			return refuse("length for type %s cannot exceed %d", name, maxChars)
		}
		return int32(values[0]) + 4, nil
	case oid == types.Numeric:
		scale := int64(0)
		if len(values) > 1 {
			scale = values[1]
		}
		switch {
		case len(values) > 2:
			return bad()
		case values[0] < 1 || values[0] > maxDigits:
			return refuse("NUMERIC precision %d must be between 1 and %d", values[0], maxDigits)
		case scale < -maxDigits || scale > maxDigits:
			return refuse("NUMERIC scale %d must be between -%d and %d", scale, maxDigits, maxDigits)
		}
		return int32(values[0]<<16|scale&0x7ff) + 4, nil
	case oid == types.Timestamp || oid == types.TimestampTZ || oid == types.Interval || oid == types.Time ||
		oid == types.TimeTZ:
		if len(values) != 1 || values[0] < 0 {
			return bad()
		}
		values[0] = min(values[0], 6) // PostgreSQL warns
		if oid == types.Interval {
			return datetime.IntervalMod(n.Fields, int32(values[0])), nil
		}
		return int32(values[0]), nil
	}
	return 0, refuseModifier(oid, n.Pos())
}

func refuseModifier(oid types.OID, off int) error {
	return sqlstate.New(sqlstate.SyntaxError, `type modifier is not allowed for type "%s"`, types.Lookup(oid).Name).
		At(off)
}

// ParamTypes resolves the parameter types declared by PREPARE.
func ParamTypes(p *ast.Prepare) ([]types.OID, error) {
	out := make([]types.OID, len(p.Types))
	for i, t := range p.Types {
		var err error
		if out[i], _, err = ResolveType(t); err != nil {
			return nil, err
		}
	}
	return out, nil
}
