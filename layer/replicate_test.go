package layer_test

import (
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
)

// leavesOf renders all leaves, winner first.
func leavesOf(tb testing.TB, d *layer.Database, id string) string {
	tb.Helper()
	revs, err := d.OpenRevs(tb.Context(), id, nil, layer.GetOptions{Revs: true})
	if err != nil {
		tb.Fatal(err)
	}
	var out []string
	for _, r := range revs {
		var path []string
		for _, p := range r.Doc.Revs {
			path = append(path, p.ID)
		}
		s := r.Rev.String() + "[" + strings.Join(path, ",") + "]"
		if r.Doc.Deleted {
			s += "deleted"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// Every form of new_edits=false, each in its own document, as a script: edits in order, and the leaves that must exist
// at the end.
func TestPut_replicated(t *testing.T) {
	d := mustDatabase(t)
	for _, c := range []struct{ name, edits, want string }{
		{"new", `1-a`, `1-a[a]`},
		{"newer", `1-a 2-b,a`, `2-b[b,a]`},
		{"older after newer", `2-b,a 1-a`, `2-b[b,a]`},
		{"gap", `1-a 4-d,c,b 2-b,a`, `4-d[d,c,b,a]`},
		{"gap without link", `1-a 3-c`, `3-c[c] 1-a[a]`},
		{"same twice", `2-b,a 2-b,a`, `2-b[b,a]`},
		{"conflict", `1-a 1-b`, `1-b[b] 1-a[a]`},
		{"tombstone on the winner", `2-b,r 2-c,r 3-x,c!`, `2-b[b,r] 3-x[x,c,r]deleted`},
		{"tombstone on the loser", `2-b,r 2-c,r 3-x,b!`, `2-c[c,r] 3-x[x,b,r]deleted`},
		{"tombstone alone", `1-a!`, `1-a[a]deleted`},
		{"two tombstones", `1-a! 1-b!`, `1-b[b]deleted 1-a[a]deleted`},
		{"alive beats dead", `1-b! 1-a`, `1-a[a] 1-b[b]deleted`},
		{"merge by a longer path", `1-a 3-c 3-c,b,a`, `3-c[c,b,a]`},
		{"merge of two leaves", `1-a 3-c 4-d,c,b,a`, `4-d[d,c,b,a]`},
		{"branch from history", `3-c,b,a 3-x,b`, `3-x[x,b,a] 3-c[c,b,a]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, e := range strings.Fields(c.edits) {
				e, deleted := strings.CutSuffix(e, "!")
				start, ids, _ := strings.Cut(e, "-")
				json := `{"_id":"` + c.name + `","_revisions":{"start":` + start + `,"ids":["` +
					strings.ReplaceAll(ids, ",", `","`) + `"]}`
				if deleted {
					json += `,"_deleted":true`
				}
				push(t, d, json+"}")
			}
			if got := leavesOf(t, d, c.name); got != c.want {
				t.Fatalf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	rows, _ := feedOf(t, d, layer.ChangesOptions{AllLeaves: true})
	for _, row := range rows {
		if strings.HasPrefix(row, "tombstone on the winner ") && row != "tombstone on the winner 2-b 3-x" {
			t.Error(row)
		}
	}
}

func TestPut_losingBranches(t *testing.T) {
	for _, c := range []struct{ name, parent, want string }{
		{"winner changes", "2-a", "3 2-b"},
		{"winner extended", "2-b", "3 2-a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := mustDatabase(t)
			push(t, d, `{"_id":"x","_revisions":{"start":2,"ids":["a","r"]}}`)
			push(t, d, `{"_id":"x","_revisions":{"start":2,"ids":["b","r"]}}`)
			put(t, d, `{"_id":"x","_rev":"`+c.parent+`"}`)
			rows, _ := feedOf(t, d, layer.ChangesOptions{AllLeaves: true})
			want(t, rows, "x "+c.want)
		})
	}
	t.Run("winner stays", func(t *testing.T) {
		d := mustDatabase(t)
		push(t, d, `{"_id":"x","_revisions":{"start":5,"ids":["b"]}}`)
		push(t, d, `{"_id":"x","_revisions":{"start":2,"ids":["a"]}}`)
		put(t, d, `{"_id":"x","_rev":"2-a"}`)
		rows, _ := feedOf(t, d, layer.ChangesOptions{AllLeaves: true})
		want(t, rows, "x 5-b 3")
	})
}

func TestPut_deletions(t *testing.T) {
	for _, c := range []struct{ name, deletes, want string }{
		{"winner with a branch behind it", "2-c", "x 2-b 2-a 3"},
		{"branch before the winner", "2-b", "x 2-c 2-a 3"},
		{"third branch", "2-a", "x 2-c 2-b 3"},
		{"unknown", "2-d", "conflict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := mustDatabase(t)
			for _, leaf := range []string{"a", "b", "c"} {
				push(t, d, `{"_id":"x","_revisions":{"start":2,"ids":["`+leaf+`","r"]}}`)
			}
			_, err := d.Put(t.Context(), edit(t, `{"_id":"x","_deleted":true,"_rev":"`+c.deletes+`"}`),
				layer.WriteOptions{})
			if c.want == "conflict" {
				wantKind(t, err, layer.Conflict)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			rows, _ := feedOf(t, d, layer.ChangesOptions{AllLeaves: true})
			want(t, rows, c.want)
		})
	}
}

func TestRevsDiff(t *testing.T) {
	d := mustDatabase(t)
	push(t, d, `{"_id":"x","_revisions":{"start":3,"ids":["c","b","a"]}}`)
	push(t, d, `{"_id":"x","_revisions":{"start":2,"ids":["z","a"]}}`)
	missing, ancestors, err := d.RevsDiff(t.Context(), "x",
		[]layer.Rev{rev(t, "2-b"), rev(t, "3-c"), rev(t, "4-d"), rev(t, "3-y")})
	if err != nil || len(missing) != 2 || missing[0].String() != "4-d" || missing[1].String() != "3-y" ||
		len(ancestors) != 2 {
		t.Fatalf("missing %v, possible ancestors %v, %v", missing, ancestors, err)
	}
	missing, ancestors, err = d.RevsDiff(t.Context(), "y", []layer.Rev{rev(t, "1-a")})
	if err != nil || len(missing) != 1 || len(ancestors) != 0 {
		t.Fatalf("missing %v, possible ancestors %v, %v", missing, ancestors, err)
	}
}

func TestOpenRevs(t *testing.T) {
	d := mustDatabase(t)
	push(t, d, `{"_id":"x","_revisions":{"start":2,"ids":["b","a"]}}`)
	push(t, d, `{"_id":"x","_revisions":{"start":3,"ids":["c","b","a"]}}`)
	push(t, d, `{"_id":"x","_revisions":{"start":3,"ids":["d","b","a"]}}`)
	for _, c := range []struct {
		revs   string
		latest bool
		want   string
	}{
		{"2-b", false, "2-b"},
		{"2-b", true, "3-d 3-c"},
		{"3-c 9-z 1-a", false, "3-c 9-z? 1-a?"},
		{"3-c 2-b", true, "3-c 3-d"},
	} {
		var revs []layer.Rev
		for _, r := range strings.Fields(c.revs) {
			revs = append(revs, rev(t, r))
		}
		answers, err := d.OpenRevs(t.Context(), "x", revs, layer.GetOptions{Latest: c.latest})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range answers {
			s := a.Rev.String()
			if a.Doc == nil {
				s += "?"
			}
			got = append(got, s)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s, latest %t: %v, want %s", c.revs, c.latest, got, c.want)
		}
	}
}
