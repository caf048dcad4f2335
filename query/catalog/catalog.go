// Package catalog describes databases, design documents and views as PostgreSQL describes tables: the relations of
// pg_catalog and information_schema, with rows computed from what the session may see, and the functions that clients
// apply to them. It has no special cases for particular clients: their statements run through the same planner and
// joins as any other.
package catalog

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // relations.txt
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// Source is the session, as seen by the catalogue.
type Source interface {
	exec.Session
	// CatalogSnapshot returns the catalogue as it is during this statement.
	CatalogSnapshot(ctx context.Context) (*Snapshot, error)
}

// relationsText lists the relations of PostgreSQL 15's pg_catalog and information_schema, one per line: name, OID,
// relkind, then column:type pairs, with ! for NOT NULL. Types that Divan does not have are text, and domains their base
// types, except yes_or_no, which has a modifier. It was generated from a server of that version.
//
//go:embed relations.txt
var relationsText []byte

// relation is one of these relations.
type relation struct {
	schema, name string
	oid          int64
	kind         string
	cols         []exec.Column
	notNull      []bool
	index        map[string]int
}

var load = sync.OnceValue(func() map[string]*relation {
	all := map[string]*relation{}
	lines := bufio.NewScanner(bytes.NewReader(relationsText))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		schema, name, _ := strings.Cut(words[0], ".")
		r := &relation{schema: schema, name: name, kind: words[2], index: map[string]int{}}
		r.oid, _ = strconv.ParseInt(words[1], 10, 64)
		for i, w := range words[3:] {
			col, typ, _ := strings.Cut(w, ":")
			typ, notNull := strings.CutSuffix(typ, "!")
			oid, ok := types.ByName(typ)
			mod := int32(-1)
			if typ == "yes_or_no" { // a domain of information_schema
				oid, ok, mod = types.VarChar, true, 3+modOffset
			}
			if !ok {
				panic(fmt.Sprintf("catalog: relations.txt: %s has a column of type %s", words[0], typ))
			}
			r.cols = append(r.cols, exec.Column{Name: col, Type: oid, Mod: mod})
			r.notNull = append(r.notNull, notNull)
			r.index[col] = i
		}
		all[words[0]] = r
	}
	return all
})

// Relation finds a relation of pg_catalog or information_schema; nil if there is none.
func Relation(schema, name string) exec.Relation {
	if r := load()[schema+"."+name]; r != nil {
		return r
	}
	return nil
}

// HasSchema reports whether a schema is one of the catalogue's.
func HasSchema(name string) bool {
	return name == "pg_catalog" || name == "information_schema" || name == "pg_toast"
}

// Name implements exec.Relation.
func (r *relation) Name() string { return r.schema + "." + r.name }

// OID returns the tableoid.
func (r *relation) OID() int64 { return r.oid }

// Columns implements exec.Relation.
func (r *relation) Columns() []exec.Column { return r.cols }

// Rows implements exec.Relation. A relation without a filler is empty.
func (r *relation) Rows(st *exec.State) func(add func([]types.Datum) error) (bool, error) {
	return func(add func([]types.Datum) error) (bool, error) {
		fill := fillers[r.Name()]
		if fill == nil {
			return false, nil
		}
		snap, err := SnapshotOf(st)
		if err != nil {
			return false, err
		}
		b := &rows{rel: r, tuples: func() (func(*Class) int64, error) { return snap.tuples(st.Ctx) }}
		fill(snap, b)
		for _, row := range b.out {
			if b.err == nil {
				b.err = add(row)
			}
		}
		return false, b.err
	}
}

// SnapshotOf returns the snapshot of the statement that st belongs to.
func SnapshotOf(st *exec.State) (*Snapshot, error) {
	src, ok := st.Session.(Source)
	if !ok {
		return nil, fmt.Errorf("catalog: session of type %T has no snapshot", st.Session)
	}
	return src.CatalogSnapshot(st.Ctx)
}

// fillers compute the rows of relations.
var fillers = map[string]func(*Snapshot, *rows){}

// rows collects the rows of one relation.
type rows struct {
	rel    *relation
	tuples func() (func(*Class) int64, error) // Snapshot.tuples
	out    [][]types.Datum
	err    error
}

// v holds the values of a row by column. A missing column is NULL, or the zero value of its type if it is NOT NULL.
type v map[string]any

// add adds a row.
func (b *rows) add(values v) {
	row := make([]types.Datum, len(b.rel.cols))
	for i, c := range b.rel.cols {
		if b.rel.notNull[i] {
			row[i] = zero(c.Type)
		}
	}
	for name, val := range values {
		i, ok := b.rel.index[name]
		if !ok {
			b.err = fmt.Errorf("catalog: %s has no column %s", b.rel.Name(), name)
			return
		}
		row[i] = datum(val, b.rel.cols[i].Type)
	}
	b.out = append(b.out, row)
}

func zero(t types.OID) types.Datum {
	switch types.KindOf(t) {
	case types.KBool:
		return types.NewBool(false)
	case types.KInt:
		d := types.NewInt(0)
		if types.IsReg(t) {
			d.S = "-"
		}
		return d
	case types.KFloat:
		return types.NewFloat(0)
	case types.KArray:
		if t == types.Int2Vector || t == types.OidVector {
			return types.NewVector(types.ElemOf(t), nil)
		}
		return types.NewArray(types.ElemOf(t), nil)
	case types.KText:
		return types.NewText("")
	}
	return types.Null
}

// datum converts a Go value to a value of a column.
func datum(val any, t types.OID) types.Datum {
	switch x := val.(type) {
	case nil:
		return types.Null
	case types.Datum:
		return x
	case bool:
		if types.KindOf(t) == types.KText { // yes_or_no of information_schema
			if x {
				return types.NewText("YES")
			}
			return types.NewText("NO")
		}
		return types.NewBool(x)
	case string:
		return types.NewText(x)
	case int:
		return number(int64(x), t)
	case int64:
		return number(x, t)
	case types.OID:
		return number(int64(x), t)
	case []string:
		items := make([]types.Datum, len(x))
		for i, s := range x {
			items[i] = types.NewText(s)
		}
		return types.NewArray(types.ElemOf(t), items)
	}
	return types.Null
}

func number(n int64, t types.OID) types.Datum {
	switch types.KindOf(t) {
	case types.KFloat:
		return types.NewFloat(float64(n))
	case types.KText:
		return types.NewText(strconv.FormatInt(n, 10))
	}
	d := types.NewInt(n)
	if t == types.RegProc {
		d.S = procName(n)
	}
	return d
}
