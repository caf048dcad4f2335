package layer_test

import (
	"fmt"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// Edits of documents with several branches check together whether their revisions have existed before. A batch of them,
// of different documents or of one, takes as many round trips as a single edit.
func TestBulk_conflictedRoundTrips(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	oneGoroutine(t)
	const n = 12 // fewer than are read ahead as a range
	leaf := func(id string, branch int) string {
		return fmt.Sprintf(`{"_id":%q,"_revisions":{"start":2,"ids":["%032x","%032x"]}}`, id, branch, 99)
	}
	for name, c := range map[string]struct{ documents, edits, trips int }{
		"of different documents": {n, 1, 2},
		"of one document":        {1, n, 3}, // the named leaves, the best ones, and the bodies
	} {
		t.Run(name, func(t *testing.T) {
			e := &countingEngine{Engine: mustEngine(t)}
			s, err := layer.Open(t.Context(), e, layer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			d := mustCreate(t, s, "db", layer.CreateOptions{})
			var edits []layer.Edit
			for i := range c.documents {
				id := fmt.Sprint(i)
				for branch := range max(2, c.edits) {
					push(t, d, leaf(id, branch))
				}
				for j := range c.edits { // the winner first
					text := fmt.Sprintf(`{"_id":%q,"_rev":"2-%032x"}`, id, max(2, c.edits)-1-j)
					edits = append(edits, edit(t, text))
				}
			}
			if _, err := d.LastSeq(t.Context()); err != nil { // the configuration is cached from now on
				t.Fatal(err)
			}
			if err := s.Close(); err != nil { // no background transactions while counting
				t.Fatal(err)
			}
			for _, r := range mustBulk(t, d, edits, layer.WriteOptions{}) {
				if r.Err != nil {
					t.Error(r.ID, r.Err)
				}
			}
			if got := e.counts.roundTrips; got > c.trips {
				t.Errorf("%d edits took %d round trips, want %d at most", len(edits), got, c.trips)
			}
		})
	}
}
