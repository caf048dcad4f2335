package exec

import (
	"strconv"
	"strings"

	"github.com/divandb/divan/query/exec/badvalues"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Expr is a typed expression. It is immutable and safe for concurrent use.
type Expr interface {
	// Type returns the type of the value.
	Type() types.OID
	// Eval computes the value for the current row.
	Eval(*Env) (types.Datum, error)
	// String returns SQL for EXPLAIN.
	String() string
}

// Const is a constant.
type Const struct {
	D   types.Datum
	Typ types.OID
	Mod int32 // type modifier plus one; 0 for none
	// Typed is set if the statement gives the type; otherwise it was chosen for an open literal.
	Typed bool
	// Of is what was folded if it calls a stable function, such as now(): PostgreSQL's planner does not compute it. It
	// is nil otherwise.
	Of Expr
}

// NullOf returns the NULL of a type.
func NullOf(t types.OID) *Const { return &Const{Typ: t} }

func (c *Const) Type() types.OID                { return c.Typ }
func (c *Const) Eval(*Env) (types.Datum, error) { return c.D, nil }
func (c *Const) String() string {
	if c.D.IsNull() {
		return "NULL"
	}
	text := types.TextOf(c.D, c.Typ, nil)
	switch c.D.K {
	case types.KInt, types.KNumeric, types.KFloat:
		if c.D.S == "" {
			return text
		}
	case types.KBool:
		return map[string]string{"t": "true", "f": "false"}[text]
	}
	quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if c.Typ == types.Unknown || c.Typ == types.Text {
		return quoted
	}
	return quoted + "::" + types.NameOf(c.Typ)
}

// Param is $n.
type Param struct {
	Index int // from 0
	Typ   types.OID
}

func (p *Param) Type() types.OID { return p.Typ }
func (p *Param) Eval(env *Env) (types.Datum, error) {
	if p.Index >= len(env.Params) {
		return types.Null, sqlstate.New(sqlstate.UndefinedParameter, "no value found for parameter %d", p.Index+1)
	}
	d := env.Params[p.Index]
	if types.IsReg(p.Typ) && d.K == types.KInt && d.S == "" {
		return RegDatum(env, p.Typ, d.I) // from the binary form, which has no name
	}
	return d, nil
}
func (p *Param) String() string { return "$" + strconv.Itoa(p.Index+1) }

// Col is a column of the row of this query (Depth 0) or of an enclosing query.
type Col struct {
	Depth, Index int
	Typ          types.OID
	Name         string // as shown by EXPLAIN
	// Collation is the collation that the column got in a sub-query; nil for the default.
	Collation *types.Collation
}

func (c *Col) Type() types.OID { return c.Typ }
func (c *Col) Eval(env *Env) (types.Datum, error) {
	for range c.Depth {
		env = env.Outer
	}
	return env.Row[c.Index], nil
}
func (c *Col) String() string { return c.Name }

// Call applies a function or an operator.
type Call struct {
	Func *Func
	Args []Expr
	Typ  types.OID
	Off  int // offset in the statement, for errors
	// Op is the symbol of an operator, "" for a function call.
	Op string
	// Hidden calls, which the user did not write, are left out by EXPLAIN. They have one argument.
	Hidden bool
	// Subscript is set if the user wrote x[i], for which PostgreSQL calls no function.
	Subscript bool
}

func (c *Call) Type() types.OID { return c.Typ }

func (c *Call) Eval(env *Env) (types.Datum, error) {
	switch {
	case c.Func.Member != NoMember:
		return c.member(env)
	case c.Func.Direct != nil:
		return c.direct(env)
	}
	from := len(env.args)
	for _, a := range c.Args {
		d, err := a.Eval(env)
		if err != nil || d.IsNull() && !c.Func.NullArgs {
			env.args = env.args[:from]
			return types.Null, err
		}
		env.args = append(env.args, d)
	}
	return c.apply(env, from)
}

// direct is Eval for a function that has a Direct form.
func (c *Call) direct(env *Env) (types.Datum, error) {
	a, err := operand(c.Args[0], env)
	if err != nil || a.K == types.KNull {
		return types.Null, err
	}
	b, err := operand(c.Args[1], env)
	if err != nil || b.K == types.KNull {
		return types.Null, err
	}
	if d, ok := c.Func.Direct(env.State, a, b); ok {
		return d, nil
	}
	return c.applyTo(env, a, b)
}

// member is Eval for an operator that has a Member form.
func (c *Call) member(env *Env) (types.Datum, error) {
	doc, err := operand(c.Args[0], env)
	if err != nil || doc.K == types.KNull {
		return types.Null, err
	}
	name, err := operand(c.Args[1], env)
	if err != nil || name.K == types.KNull {
		return types.Null, err
	}
	if len(doc.S) >= DirectLength {
		return c.applyTo(env, doc, name)
	}
	var d types.Datum
	if c.Func.Member == MemberValue {
		if value, found := env.JSON.Field(doc.S, name.S); found {
			d = types.NewJSONText(value)
		}
		return d, nil
	}
	if text, found := env.JSON.Text(doc.S, name.S, c.Func.Member == MemberTextB); found {
		if d = types.NewText(text); len(text) >= DirectLength { // a number, printed with all its digits
			if err := env.Count(d); err != nil {
				return types.Null, sqlstate.Locate(err, c.Off)
			}
		}
	}
	return d, nil
}

// operand is e.Eval, without the call for what most operands are.
func operand(e Expr, env *Env) (types.Datum, error) {
	switch n := e.(type) {
	case *Col:
		if n.Depth == 0 {
			return env.Row[n.Index], nil
		}
	case *Const:
		return n.D, nil
	}
	return e.Eval(env)
}

// applyTo is apply for two arguments.
func (c *Call) applyTo(env *Env, a, b types.Datum) (types.Datum, error) {
	from := len(env.args)
	env.args = append(env.args, a, b)
	return c.apply(env, from)
}

// apply calls the function with the arguments that are in env.args, from from on.
func (c *Call) apply(env *Env, from int) (types.Datum, error) {
	args := env.args[from:]
	err := env.read(args)
	var d types.Datum
	if err == nil {
		call := env.calling()
		call.Env, call.Call = env, c
		d, err = call.Apply(args)
		env.called(call)
	}
	env.args = env.args[:from]
	if err == nil {
		err = env.Count(d)
	}
	if err != nil {
		return types.Null, sqlstate.Locate(err, c.Off)
	}
	return d, nil
}

func (c *Call) String() string {
	if c.Hidden {
		return c.Args[0].String()
	}
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		args[i] = a.String()
	}
	if c.Op == "" {
		return c.Func.Name + "(" + strings.Join(args, ", ") + ")"
	}
	if len(args) == 1 {
		return "(" + c.Op + " " + args[0] + ")"
	}
	return "(" + args[0] + " " + c.Op + " " + args[1] + ")"
}

// CallEnv is the environment of a function call. It is valid until the function returns.
type CallEnv struct {
	*Env
	Call *Call
	made int64    // bytes reserved by Making
	next *CallEnv // in State.calls
}

// calling returns memory for the environment of a call, and called takes it back. A statement makes some calls for each
// row, and allocating their environments and arguments would take longer than most functions do.
func (s *State) calling() *CallEnv {
	c := s.calls
	if c == nil {
		return &CallEnv{}
	}
	s.calls = c.next
	return c
}

func (s *State) called(c *CallEnv) {
	*c = CallEnv{next: s.calls}
	s.calls = c
}

// Apply calls the function.
func (c *CallEnv) Apply(args []types.Datum) (types.Datum, error) {
	d, err := c.Call.Func.Eval(c, args)
	c.Release(c.made)
	c.made = 0
	return d, err
}

// Making reserves memory for the value that the call is making: n bytes in total so far. The memory is released after
// the call, when the value itself is counted. Functions whose value is much longer than their arguments call it first.
func (c *CallEnv) Making(n int64) error {
	if n <= c.made {
		return nil
	}
	if err := c.Hold(n - c.made); err != nil {
		return err
	}
	c.made = n
	return nil
}

// ArgType returns the type of argument i.
func (c *CallEnv) ArgType(i int) types.OID { return c.Call.Args[i].Type() }

// CastExpr casts a value to a type.
type CastExpr struct {
	X   Expr
	To  types.OID
	Mod int32 // -1 for none
	Off int
	// Hidden casts, which the user did not write, are left out by EXPLAIN.
	Hidden bool
	// Try makes values that cannot be cast NULL, and counts them.
	Try bool
}

func (c *CastExpr) Type() types.OID { return c.To }

func (c *CastExpr) Eval(env *Env) (types.Datum, error) {
	d, err := c.X.Eval(env)
	if err != nil || d.IsNull() {
		return d, err
	}
	if len(d.S) > 4096 && types.ElemOf(c.To) != 0 {
		if err := env.Fits(int64(strings.Count(d.S, ",")) * (DatumSize + 16)); err != nil {
			return types.Null, err
		}
	}
	if types.IsString(c.To) && d.K != types.KText {
		if err := env.Room(types.TextSize(d)); err != nil {
			return types.Null, sqlstate.Locate(err, c.Off)
		}
	}
	if n := d.Large(); n > 0 {
		if err := env.Bytes(int(n)); err != nil {
			return types.Null, err
		}
	}
	if c.To == types.Bytea && d.K == types.KText {
		// The bytes while they are read, and their copy.
		need := 2 * int64(len(d.S))
		if err := env.Hold(need); err != nil {
			return types.Null, sqlstate.Locate(err, c.Off)
		}
		defer env.Release(need)
	}
	was := d
	d, err = CastDatum(env, d, c.X.Type(), c.To, c.Mod)
	if err == nil {
		err = env.Count(d)
	}
	if err != nil && c.Try && badvalues.Is(err) {
		env.Bad.Add(env.Session.Database(), c.X.String()+"::"+types.NameOf(c.To), was.S)
		return types.Null, nil
	}
	if err != nil {
		return types.Null, sqlstate.Locate(err, c.Off)
	}
	return d, nil
}

func (c *CastExpr) String() string {
	if c.Hidden {
		return c.X.String()
	}
	return c.X.String() + "::" + types.NameOf(c.To)
}

// CastDatum is types.Cast with the casts that need the catalogue: between names and the reg types, such as regclass.
func CastDatum(env *Env, d types.Datum, from, to types.OID, mod int32) (types.Datum, error) {
	switch {
	case d.IsNull():
		return d, nil
	case types.IsReg(to) && d.K == types.KText:
		name := strings.TrimSpace(d.S)
		if v, err := strconv.ParseUint(name, 10, 32); err == nil {
			return RegDatum(env, to, int64(v))
		}
		if name == "-" && to != types.RegOper && to != types.RegOperator {
			return RegDatum(env, to, 0)
		}
		oid, ok, err := env.Session.ObjectOID(env.Ctx, to, name)
		if err != nil {
			return types.Null, err
		}
		if !ok {
			return types.Null, noSuchObject(to, name)
		}
		return RegDatum(env, to, oid)
	case types.IsReg(to) && d.K == types.KInt && from != to:
		if c, err := types.Cast(d, from, types.Oid, -1, env.Types); err != nil {
			return c, err
		}
		return RegDatum(env, to, int64(uint32(d.I)))
	case to == types.Oid && d.K == types.KInt:
		d.S = ""
	case types.IsNumber(to) && d.K == types.KInt:
		d.S = ""
	}
	if elem := types.ElemOf(to); elem != 0 && types.IsOid(elem) && d.K == types.KArray && d.Array().Elem != elem {
		items := make([]types.Datum, len(d.Array().Items))
		for i, it := range d.Array().Items {
			var err error
			if items[i], err = CastDatum(env, it, d.Array().Elem, elem, -1); err != nil {
				return types.Null, err
			}
		}
		return types.NewArray(elem, items), nil
	}
	return types.Cast(d, from, to, mod, env.Types)
}

// RegDatum returns an OID with the name by which it is shown.
func RegDatum(env *Env, kind types.OID, oid int64) (types.Datum, error) {
	d := types.NewInt(oid)
	if oid == 0 {
		if d.S = "-"; kind == types.RegOper || kind == types.RegOperator {
			d.S = "0"
		}
		return d, nil
	}
	name, ok, err := env.Session.ObjectName(env.Ctx, kind, oid)
	if err != nil {
		return d, err
	}
	if d.S = name; !ok {
		d.S = strconv.FormatInt(oid, 10)
	}
	return d, nil
}

func noSuchObject(kind types.OID, name string) error {
	switch kind {
	case types.RegType:
		return sqlstate.New(sqlstate.UndefinedObject, `type "%s" does not exist`, name)
	case types.RegNS:
		return sqlstate.New(sqlstate.InvalidSchemaName, `schema "%s" does not exist`, name)
	case types.RegProc, types.RegProcedur:
		return sqlstate.New(sqlstate.UndefinedFunction, `function "%s" does not exist`, name)
	case types.RegOper, types.RegOperator:
		return sqlstate.New(sqlstate.UndefinedFunction, "operator does not exist: %s", name)
	case types.RegColl:
		return sqlstate.New(sqlstate.UndefinedObject, `collation "%s" for encoding "UTF8" does not exist`, name)
	case types.RegRole:
		return sqlstate.New(sqlstate.UndefinedObject, `role "%s" does not exist`, name)
	}
	return sqlstate.New(sqlstate.UndefinedTable, `relation "%s" does not exist`, name)
}
