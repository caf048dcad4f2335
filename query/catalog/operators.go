package catalog

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/types"
)

//go:embed casts.txt
var castsText string

// pgCast is a row of pg_cast. function is the name of the function that it calls, or "-".
type pgCast struct {
	oid                       int64
	source, target            types.OID
	context, method, function string
}

// casts returns PostgreSQL's casts between the types of Divan.
func casts() []pgCast {
	var all []pgCast
	for _, line := range strings.Split(strings.TrimSpace(castsText), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var c pgCast
		if _, err := fmt.Sscan(line, &c.oid, &c.source, &c.target, &c.context, &c.method, &c.function); err != nil {
			panic("catalog: casts.txt: " + line + ": " + err.Error())
		}
		all = append(all, c)
	}
	return all
}

func init() {
	fillers["pg_catalog.pg_operator"] = func(_ *Snapshot, b *rows) {
		all, _ := procs()
		for _, o := range typing.PgOperators() {
			kind, left, right := "b", types.OID(0), o.Func.Args[len(o.Func.Args)-1]
			if len(o.Func.Args) == 1 {
				kind = "l"
			} else {
				left = o.Func.Args[0]
			}
			code := procByName(o.Func.Name)
			if i := slices.IndexFunc(all, func(p proc) bool {
				return p.name == o.Func.Name && slices.Equal(p.args, o.Func.Args)
			}); i >= 0 {
				code = all[i].oid
			}
			b.add(v{"oid": o.OID, "oprname": o.Symbol, "oprnamespace": oidPgCatalog, "oprowner": oidOwner,
				"oprkind": kind, "oprcanmerge": o.Merge, "oprcanhash": o.Hash, "oprleft": left, "oprright": right,
				"oprresult": o.Func.Ret, "oprcom": o.Commutator, "oprnegate": o.Negator, "oprcode": code,
				"oprrest": 0, "oprjoin": 0})
		}
	}
	fillers["pg_catalog.pg_cast"] = func(_ *Snapshot, b *rows) {
		for _, c := range casts() {
			fn := int64(0)
			if c.function != "-" {
				fn = procByName(c.function)
			}
			b.add(v{"oid": c.oid, "castsource": c.source, "casttarget": c.target, "castfunc": fn,
				"castcontext": c.context, "castmethod": c.method})
		}
	}
}
