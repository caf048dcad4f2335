package layer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
)

// purgedIDs returns the documents in the purge history.
func purgedIDs(tb testing.TB, d *layer.Database) string {
	tb.Helper()
	var ids []string
	for info, err := range d.Purges(tb.Context()) {
		if err != nil {
			tb.Fatal(err)
		}
		ids = append(ids, fmt.Sprint(info.ID, len(info.Revs)))
	}
	return strings.Join(ids, " ")
}

// Compaction keeps the newest purges in the history, and those that an index still has to apply.
func TestPurges(t *testing.T) {
	d := openViewsOn(t, mustEngine(t), layer.CreateOptions{})
	save(t, d, byN)
	for i := range 6 {
		save(t, d, fmt.Sprintf(`{"_id":"%d","n":%d}`, i, i))
	}
	ix := d.Index(mustDesign(t, d, "d"))
	build(t, ix, 1, 7)
	for i := range 5 {
		purge(t, d, fmt.Sprint(i))
	}
	if n, err := d.PurgesLimit(t.Context()); n != 1000 || err != nil {
		t.Fatal(n, err)
	}
	err := d.SetPurgesLimit(t.Context(), 0)
	wantKind(t, err, layer.Invalid)
	if err := d.SetPurgesLimit(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	check := func(what, want string) {
		t.Helper()
		if err := d.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := purgedIDs(t, d); got != want {
			t.Errorf("%s: the history has %s, want %s", what, got, want)
		}
	}
	check("an index is behind", "01 11 21 31 41")
	b, err := ix.StartBuild(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	check("an index is being built", "01 11 21 31 41")
	b.Close()
	build(t, ix, 3, 7)
	check("all have seen them", "31 41")
	if got := rows(t, ix, layer.ViewQuery{View: "n"}); len(got) != 1 {
		t.Errorf("rows %v", got)
	}
	if info, err := d.Info(t.Context()); err != nil || info.PurgeSeq != 5 {
		t.Errorf("%+v, %v", info, err)
	}
	purge(t, d, "5")
	if ok, err := ix.CatchUp(t.Context(), 10); !ok || err != nil {
		t.Fatal(ok, err)
	}
	check("one more", "41 51")
}
