package layer_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/divandb/divan/layer"
)

// A query ahead of the index returns the rows of the newest sequence, with total, offset and documents, whether or not
// the index is brought up to date in the meantime. It refuses if the index lacks more than it maps itself.
func TestQuery_ahead(t *testing.T) {
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			db := openViewsOn(t, mustEngineWith(t, snapshots), layer.CreateOptions{Shards: 2})
			save(t, db, byN)
			ix := db.Index(mustDesign(t, db, "d"))
			query := func() (lines []string, err error) {
				layer.MapsQuickly(ix.Design()) // on the busiest machine
				return ahead(t, db, ix)
			}
			behind := func(when string) {
				t.Helper()
				if lines, err := query(); !isBehind(err) {
					t.Fatalf("%s: %q, %v", when, lines, err)
				}
			}
			wants := func(when string, want ...string) {
				t.Helper()
				got, err := query()
				if err != nil || !slices.Equal(got, want) {
					t.Fatalf("%s: %q, %v, want %q", when, got, err, want)
				}
			}
			behind("never built")
			save(t, db, `{"_id":"a","n":0}`)
			save(t, db, `{"_id":"b","n":1}`)
			build(t, ix, 1, 10)
			wants("up to date", "1 of 2", `b 1 {"n":1}`)
			at, err := ix.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			save(t, db, `{"_id":"a","n":2}`)
			save(t, db, `{"_id":"c","n":0}`)
			wants("a little behind", "1 of 3", `b 1 {"n":1}`, `a 2 {"n":2}`)
			if now, err := ix.State(t.Context()); err != nil || now.Seq != at.Seq || now.Views[0].Rows != 2 {
				t.Errorf("the query has changed the index: %+v, %v", now, err)
			}
			b, err := ix.StartBuild(t.Context(), 2)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			save(t, db, `{"_id":"d","n":1}`)
			wants("while it is built", "1 of 4", `b 1 {"n":1}`, `d 1 {"n":1}`, `a 2 {"n":2}`)
			finish(t, b, 1)
			wants("built, and behind again", "1 of 4", `b 1 {"n":1}`, `d 1 {"n":1}`, `a 2 {"n":2}`)
			layer.MapsSlowly(ix.Design())
			if _, err := ahead(t, db, ix); !isBehind(err) {
				t.Errorf("of slow map functions: %v", err)
			}
			for i := range layer.AheadDocs {
				save(t, db, fmt.Sprintf(`{"_id":"many-%03d","n":9}`, i))
			}
			behind("far behind")
		})
	}
}

func isBehind(err error) bool {
	var e *layer.Error
	return errors.As(err, &e) && e.Name == layer.IndexBehind
}

// ahead requests the rows from 1 on, with their documents, ahead of an index of n.
func ahead(tb testing.TB, db *layer.Database, ix *layer.Index) (lines []string, err error) {
	tb.Helper()
	result, err := ix.Query(tb.Context(), layer.ViewQuery{View: "n", StartKey: []byte("1"), Limit: 3, IncludeDocs: true,
		WithOffset: true, Fresh: true, Ahead: true})
	if err != nil {
		return nil, err
	}
	lines = append(lines, fmt.Sprintf("%d of %d", result.Offset, result.TotalRows))
	if last, err := db.LastSeq(tb.Context()); err != nil || result.UpdateSeq != last {
		tb.Errorf("as of %v, the database is at %v, %v", result.UpdateSeq, last, err)
	}
	for row, err := range result.Rows {
		if err != nil {
			tb.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s", row.ID, row.Key, row.Doc.Body))
	}
	return lines, nil
}
