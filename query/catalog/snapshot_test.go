package catalog_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/divandb/divan/query/catalog"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// session is a session whose catalogue is a fixed snapshot.
type session struct {
	exec.Session
	snapshot *catalog.Snapshot
}

func (s session) CatalogSnapshot(context.Context) (*catalog.Snapshot, error) { return s.snapshot, nil }

// table returns the rows of a relation, by column.
func table(t *testing.T, in catalog.Input, schema, name string) []map[string]types.Datum {
	t.Helper()
	w := work.New(t.Context(), nil, 0, nil)
	defer w.Close()
	rel := catalog.Relation(schema, name)
	if rel == nil {
		t.Fatalf("there is no %s.%s", schema, name)
	}
	var out []map[string]types.Datum
	next := rel.Rows(exec.NewState(w, session{snapshot: catalog.NewSnapshot(in)}, nil, &types.Env{}))
	_, err := next(func(row []types.Datum) error {
		m := map[string]types.Datum{}
		for i, c := range rel.Columns() {
			m[c.Name] = row[i]
		}
		out = append(out, m)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// input is a database with a design document, one view of which has the name of another's.
func input() catalog.Input {
	return catalog.Input{Database: "cities", Databases: []string{"cities", "divan"}, User: "ann", HasDatabase: true,
		SearchPath: []string{"public"},
		Designs: []exec.Design{{Name: "by", Views: []exec.View{{Name: "city"}, {Name: "year"}}},
			{Name: "other", Views: []exec.View{{Name: "city"}}}}}
}

// TestSnapshot_References checks that OIDs are unique, and that what the relations of pg_catalog refer to is there:
// clients join them.
func TestSnapshot_References(t *testing.T) {
	oids := func(name string) map[int64]bool {
		out := map[int64]bool{}
		for _, row := range table(t, input(), "pg_catalog", name) {
			oid := row["oid"].I
			if oid == 0 || out[oid] {
				t.Errorf("%s: OID %d is 0 or there twice", name, oid)
			}
			out[oid] = true
		}
		if len(out) == 0 {
			t.Errorf("%s is empty", name)
		}
		return out
	}
	known := map[string]map[int64]bool{}
	for _, name := range []string{"pg_class", "pg_type", "pg_namespace", "pg_proc", "pg_constraint", "pg_database",
		"pg_am"} {
		known[name] = oids(name)
	}
	for _, ref := range []struct{ table, column, to string }{
		{"pg_class", "relnamespace", "pg_namespace"}, {"pg_class", "relam", "pg_am"},
		{"pg_attribute", "attrelid", "pg_class"}, {"pg_attribute", "atttypid", "pg_type"},
		{"pg_index", "indexrelid", "pg_class"}, {"pg_index", "indrelid", "pg_class"},
		{"pg_constraint", "conrelid", "pg_class"}, {"pg_constraint", "conindid", "pg_class"},
		{"pg_type", "typnamespace", "pg_namespace"}, {"pg_type", "typelem", "pg_type"},
		{"pg_type", "typarray", "pg_type"}, {"pg_proc", "prorettype", "pg_type"},
		{"pg_proc", "pronamespace", "pg_namespace"},
	} {
		for _, row := range table(t, input(), "pg_catalog", ref.table) {
			if oid := row[ref.column].I; oid != 0 && !known[ref.to][oid] {
				t.Errorf("%s.%s: no %s has OID %d", ref.table, ref.column, ref.to, oid)
			}
		}
	}
}

// TestSnapshot_Stable checks that OIDs are the same for every session, whatever else the database has.
func TestSnapshot_Stable(t *testing.T) {
	find := func(in catalog.Input) int64 {
		for _, row := range table(t, in, "pg_catalog", "pg_class") {
			if row["relname"].S == "year" {
				return row["oid"].I
			}
		}
		t.Fatal("the view is not there")
		return 0
	}
	more := input()
	more.Designs = append([]exec.Design{{Name: "a", Views: []exec.View{{Name: "first"}}}}, more.Designs...)
	if a, b := find(input()), find(more); a != b {
		t.Errorf("the view has OID %d, and %d in another session", a, b)
	}
	if a, b := find(input()), catalog.ClassOID("by", "year"); a != b {
		t.Errorf("the view has OID %d, ClassOID says %d", a, b)
	}
}

// TestSnapshot_Keys checks that exactly the relations with a primary key have an index and a constraint.
func TestSnapshot_Keys(t *testing.T) {
	name := map[int64]string{}
	for _, row := range table(t, input(), "pg_catalog", "pg_class") {
		name[row["oid"].I] = row["relname"].S
	}
	want := map[string]bool{"all_docs": true, "changes": true, "design_docs": true, "docs": true, "local_docs": true}
	got := map[string]bool{}
	for _, row := range table(t, input(), "pg_catalog", "pg_index") {
		got[name[row["indrelid"].I]] = true
		if index := name[row["indexrelid"].I]; index != name[row["indrelid"].I]+"_pkey" {
			t.Errorf("the index of %s is %q", name[row["indrelid"].I], index)
		}
	}
	for rel := range want {
		if !got[rel] {
			t.Errorf("%s has no primary key", rel)
		}
	}
	if len(got) != len(want) {
		t.Errorf("keys of %v, want %v", got, want)
	}
}

// TestSnapshot_Locks checks how pg_locks shows advisory locks on one number and on pairs.
func TestSnapshot_Locks(t *testing.T) {
	in := input()
	in.Locks = func() []catalog.Lock {
		return []catalog.Lock{{PID: 7, Database: "cities", Number: 1<<32 | 2, Pair: true, Granted: true},
			{PID: 8, Database: "cities", Number: -1, Shared: true}}
	}
	rows := table(t, in, "pg_catalog", "pg_locks")
	if len(rows) != 2 {
		t.Fatalf("%d locks, want 2", len(rows))
	}
	databases := map[string]int64{}
	for _, row := range table(t, in, "pg_catalog", "pg_database") {
		databases[row["datname"].S] = row["oid"].I
	}
	for i, want := range []struct {
		class, obj, sub, pid int64
		mode                 string
		granted              bool
	}{
		{1, 2, 2, 7, "ExclusiveLock", true},
		{0xffffffff, 0xffffffff, 1, 8, "ShareLock", false},
	} {
		row := rows[i]
		if row["locktype"].S != "advisory" || row["classid"].I != want.class || row["objid"].I != want.obj ||
			row["objsubid"].I != want.sub || row["pid"].I != want.pid || row["mode"].S != want.mode ||
			row["granted"].True() != want.granted || row["database"].I != databases["cities"] {
			t.Errorf("lock %d is %+v", i, row)
		}
	}
}

// TestSnapshot_VirtualDatabase checks that the database divan has no relations of documents.
func TestSnapshot_VirtualDatabase(t *testing.T) {
	in := input()
	in.Database, in.HasDatabase, in.Designs = "divan", false, nil
	in.SystemTables = []exec.SystemTable{{Name: "members", Comment: "the nodes"}}
	found := false
	for _, row := range table(t, in, "pg_catalog", "pg_class") {
		switch row["relname"].S {
		case "docs", "changes", "city":
			t.Errorf("%s is there", row["relname"].S)
		case "members":
			found = true
		}
	}
	if !found {
		t.Error("divan.members is not there")
	}
}

// Columns of system relations have comments, which psql's \\d+ and other clients read in either way.
func TestSnapshot_columnComments(t *testing.T) {
	in := input()
	in.SystemTables = []exec.SystemTable{{Name: "shards", Columns: []exec.SystemColumn{{Name: "shard", Type: "text"},
		{Name: "lag", Type: "int8", Comment: "in changes"}}}}
	var class int64
	for _, row := range table(t, in, "pg_catalog", "pg_class") {
		if row["relname"].S == "shards" {
			class = row["oid"].I
		}
	}
	var got []string
	for _, row := range table(t, in, "pg_catalog", "pg_description") {
		if row["objoid"].I == class {
			got = append(got, fmt.Sprint(row["objsubid"].I, " ", row["description"].S))
		}
	}
	if len(got) != 1 || got[0] != "2 in changes" {
		t.Errorf("described: %q", got)
	}
}
