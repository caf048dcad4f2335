package catalog

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/window"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/types"
)

// proc is a row of pg_proc: a function of Divan, or an input or output function that pg_type refers to.
type proc struct {
	oid        int64
	name       string
	args       []types.OID
	ret        types.OID
	kind       string
	variadic   bool
	set        bool
	strict     bool // returns NULL for a NULL argument
	volatility exec.Volatility
}

// procBase is the first OID of functions: above PostgreSQL's own and below user objects.
const procBase = 13500

var procs = sync.OnceValues(func() ([]proc, map[int64]string) {
	var all []proc
	add := func(p proc) { all = append(all, p) }
	for _, name := range slices.Sorted(maps.Keys(funcs.Functions)) {
		for _, f := range funcs.Functions[name] {
			ret := f.Ret
			if ret == 0 && f.RetOf != nil && (slices.Contains(f.Args, types.AnyArray) ||
				slices.Contains(f.Args, exec.AnyCompatibleArray)) {
				ret = f.RetOf(f.Args)
			}
			add(proc{name: name, args: f.Args, ret: ret, kind: "f", variadic: f.Variadic, volatility: f.Volatility,
				strict: !f.NullArgs})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(funcs.TableFuncs)) {
		for _, f := range funcs.TableFuncs[name] {
			add(proc{name: name, args: f.Args, ret: rowOf(f), kind: "f", set: true})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(funcs.Aggregates)) {
		for _, a := range funcs.Aggregates[name] {
			add(proc{name: name, args: a.Args, ret: a.Ret, kind: "a"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(window.Funcs)) {
		for _, f := range window.Funcs[name] {
			add(proc{name: name, args: f.Args, ret: f.Ret, kind: "w"})
		}
	}
	for _, o := range typing.PgOperators() {
		if f := o.Func; funcs.Functions[f.Name] == nil && !slices.ContainsFunc(all, func(p proc) bool {
			return p.name == f.Name && slices.Equal(p.args, f.Args)
		}) {
			add(proc{name: f.Name, args: f.Args, ret: f.Ret, kind: "f", volatility: f.Volatility})
		}
	}
	io := map[string]proc{}
	for _, t := range types.All() {
		for _, p := range ioProcs(&t) {
			if _, shared := io[p.name]; !shared {
				io[p.name] = p
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(io)) {
		add(io[name])
	}
	names := map[int64]string{}
	for i := range all {
		all[i].oid = procBase + int64(i)
		if all[i].oid >= firstOID {
			panic("catalog: more functions than there are OIDs for them")
		}
		names[all[i].oid] = all[i].name
	}
	return all, names
})

// rowOf returns the type of a function's rows: that of its column, or record if it has several.
func rowOf(f *exec.TableFunc) types.OID {
	if slices.Contains(f.Args, types.AnyArray) && f.Variadic {
		return exec.AnyElement
	}
	if cols := f.Columns(f.Args); len(cols) == 1 {
		return cols[0].Type
	}
	return types.Record
}

func ioNamesOf(t *types.Info) []string {
	base := t.Name
	if t.Kind == types.KArray && t.OID != types.Int2Vector && t.OID != types.OidVector {
		base = "array"
	}
	sep := ""
	switch t.OID {
	case types.Numeric, types.Date, types.Timestamp, types.TimestampTZ, types.Interval, types.JSON, types.JSONB,
		types.Record, types.UUID, types.PgNodeTree:
		sep = "_"
	}
	if base == "array" {
		sep = "_"
	}
	return []string{base + sep + "in", base + sep + "out", base + sep + "recv", base + sep + "send"}
}

// The types of pg_proc that no value has.
const (
	cstring  types.OID = 2275
	internal types.OID = 2281
)

// ioProcs returns a type's input, output, receive and send functions, as in pg_proc.dat of PostgreSQL 15. Those that
// read a value also take the type of its elements and its modifier, if it has such.
func ioProcs(t *types.Info) [4]proc {
	of, modifiers := t.OID, []types.OID(nil)
	switch {
	case t.Kind == types.KArray && t.OID != types.Int2Vector && t.OID != types.OidVector:
		of, modifiers = types.AnyArray, []types.OID{types.Oid, types.Int4}
	case slices.Contains([]types.OID{types.Numeric, types.Timestamp, types.TimestampTZ, types.Time, types.Interval,
		types.Record, types.VarChar, types.BPChar}, t.OID):
		modifiers = []types.OID{types.Oid, types.Int4}
	}
	names := ioNamesOf(t)
	reads := func(from types.OID) []types.OID { return append([]types.OID{from}, modifiers...) }
	return [4]proc{
		{name: names[0], args: reads(cstring), ret: of, kind: "f"},
		{name: names[1], args: []types.OID{of}, ret: cstring, kind: "f"},
		{name: names[2], args: reads(internal), ret: of, kind: "f"},
		{name: names[3], args: []types.OID{of}, ret: types.Bytea, kind: "f"},
	}
}

// typeProcs returns the OIDs of a type's input, output, receive and send functions.
func typeProcs(t *types.Info) [4]int64 {
	var out [4]int64
	for i, name := range ioNamesOf(t) {
		out[i] = procByName(name)
	}
	return out
}

var procIndex = sync.OnceValue(func() map[string]int64 {
	all, _ := procs()
	m := map[string]int64{}
	for _, p := range all {
		if _, dup := m[p.name]; !dup {
			m[p.name] = p.oid
		}
	}
	return m
})

func procByName(name string) int64 { return procIndex()[name] }

// procName returns the text of a regproc.
func procName(oid int64) string {
	if oid == 0 {
		return "-"
	}
	_, names := procs()
	return names[oid]
}

func init() {
	fillers["pg_catalog.pg_proc"] = func(_ *Snapshot, b *rows) {
		all, _ := procs()
		for _, p := range all {
			args := make([]types.Datum, len(p.args))
			for i, a := range p.args {
				args[i] = types.NewInt(int64(a))
			}
			variadic := types.OID(0)
			if p.variadic {
				variadic = p.args[len(p.args)-1]
			}
			b.add(v{"oid": p.oid, "proname": p.name, "pronamespace": oidPgCatalog, "proowner": oidOwner, "prolang": 12,
				"procost":     1,
				"provariadic": variadic, "prokind": p.kind, "proretset": p.set, "proisstrict": p.strict,
				"provolatile": []string{"i", "s", "v"}[p.volatility], "proparallel": "s", "pronargs": len(p.args),
				"prorettype": cmp.Or(p.ret, exec.AnyElement), "proargtypes": types.NewVector(types.Oid, args),
				"prosrc": p.name})
		}
	}
	fillers["pg_catalog.pg_aggregate"] = func(_ *Snapshot, b *rows) {
		all, _ := procs()
		for _, p := range all {
			if p.kind != "a" {
				continue
			}
			row := v{"aggfnoid": p.oid, "aggkind": "n", "aggfinalmodify": "r", "aggmfinalmodify": "r"}
			switch p.name {
			case "percentile_cont", "percentile_disc":
				row["aggkind"], row["aggnumdirectargs"] = "o", 1
			case "rank", "dense_rank", "percent_rank", "cume_dist":
				row["aggkind"], row["aggnumdirectargs"] = "h", 1
			case "mode":
				row["aggkind"] = "o"
			}
			b.add(row)
		}
	}
}
