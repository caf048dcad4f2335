// Package funcs holds the functions, operators and aggregates of SQL, in families as in PostgreSQL's manual. Each is an
// entry with its name, argument types, result type, volatility and implementation. Package bind finds them by name,
// package catalog shows them in pg_proc, and docs/sql.md lists them. Functions of numbers, arrays and the session are
// here; the packages below have the other families and register them in their init functions.
package funcs

import (
	"maps"
	"slices"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/window"
	"github.com/divandb/divan/query/types"
)

// Functions maps names to scalar functions, Operators maps symbols to operators (prefix operators have one argument),
// TableFuncs maps names to functions that return rows, and Aggregates maps names to aggregates. They are filled by init
// functions and not changed afterwards.
var (
	Functions  = map[string][]*exec.Func{}
	Operators  = map[string][]*exec.Func{}
	TableFuncs = map[string][]*exec.TableFunc{}
	Aggregates = map[string][]*exec.Aggregate{}
)

// Family is a table of functions of one kind.
type Family struct {
	Title string
	// Section is the section of PostgreSQL 15's manual.
	Section string
	// Volatility is the default volatility of the family's functions.
	Volatility exec.Volatility

	Functions  []*exec.Func
	Operators  []*exec.Func
	Tables     []*exec.TableFunc
	Aggregates []*exec.Aggregate
	Windows    []*window.Func
}

// Families lists all families in the order of the manual.
var Families []*Family

// NewFamily creates a family. Other packages call it when they are initialized.
func NewFamily(title, section string, v exec.Volatility) *Family {
	f := &Family{Title: title, Section: section, Volatility: v}
	Families = append(Families, f)
	return f
}

var (
	ArithmeticFamily = NewFamily("Operators of numbers and times", "9.3, 9.9", exec.Immutable)
	mathFamily       = NewFamily("Mathematics", "9.3", exec.Immutable)
	TextFamily       = NewFamily("Text", "9.4, 9.7", exec.Immutable)
	TimeFamily       = NewFamily("Dates and times", "9.9", exec.Immutable)
	JsonFamily       = NewFamily("JSON", "9.16", exec.Immutable)
	ArrayFamily      = NewFamily("Arrays", "9.19", exec.Immutable)
	hashFamily       = NewFamily("Hashes", "not described there", exec.Immutable)
	AggregateFamily  = NewFamily("Aggregates", "9.21", exec.Immutable)
	windowFamily     = NewFamily("Window functions", "9.22", exec.Immutable)
	SessionFamily    = NewFamily("Session and server", "9.26, 9.27", exec.Stable)
)

func init() {
	for _, name := range slices.Sorted(maps.Keys(window.Funcs)) {
		windowFamily.Windows = append(windowFamily.Windows, window.Funcs[name]...)
	}
}

type EvalFunc = func(*exec.CallEnv, []types.Datum) (types.Datum, error)

// Function adds a scalar function.
func (f *Family) Function(name string, ret types.OID, eval EvalFunc, args ...types.OID) *exec.Func {
	return f.Add(&exec.Func{Name: name, Args: args, Ret: ret, Eval: eval})
}

// Operator adds an operator with one or two arguments.
func (f *Family) Operator(symbol string, ret types.OID, eval EvalFunc, args ...types.OID) *exec.Func {
	return f.addOperator(&exec.Func{Name: symbol, Args: args, Ret: ret, Eval: eval})
}

// Add adds a scalar function and returns it.
func (f *Family) Add(fn *exec.Func) *exec.Func {
	fn.Volatility = max(fn.Volatility, f.Volatility)
	printing(fn)
	inRange(fn)
	f.Functions, Functions[fn.Name] = append(f.Functions, fn), append(Functions[fn.Name], fn)
	return fn
}

func (f *Family) addOperator(fn *exec.Func) *exec.Func {
	printing(fn)
	inRange(fn)
	f.Operators, Operators[fn.Name] = append(f.Operators, fn), append(Operators[fn.Name], fn)
	return fn
}

// inRange makes a function return an error instead of a numeric that is out of range.
func inRange(fn *exec.Func) {
	if fn.Ret != types.Numeric {
		return
	}
	eval := fn.Eval
	fn.Eval = func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		d, err := eval(env, a)
		if err == nil && d.K == types.KNumeric {
			_, err = d.Decimal().InRange()
		}
		return d, err
	}
}

// AddTable adds a function that returns rows.
func (f *Family) AddTable(fn *exec.TableFunc) {
	f.Tables, TableFuncs[fn.Name] = append(f.Tables, fn), append(TableFuncs[fn.Name], fn)
}

func (f *Family) Aggregate(a *exec.Aggregate) {
	f.Aggregates, Aggregates[a.Name] = append(f.Aggregates, a), append(Aggregates[a.Name], a)
}
