package layer_test

import (
	"fmt"
	"testing"

	"github.com/divandb/divan/layer"
)

// BenchmarkBuild builds an index with three views over small documents, without HTTP.
func BenchmarkBuild(b *testing.B) {
	db := openViews(b, layer.CreateOptions{})
	save(b, db, `{"_id":"_design/d","views":{
		"country":{"map":"function(doc) { if (doc.country) emit(doc.country, null); }"},
		"path":{"map":"function(doc) { emit([doc.country, doc.lat, doc.lng], 1); }","reduce":"_count"},
		"name":{"map":"function(doc) { if (doc.name) emit(doc.name, doc.lat); }"}}}`)
	const docs = 100_000
	loadCities(b, db, docs)
	ix := db.Index(mustDesign(b, db, "d"))
	token := int64(0)
	for b.Loop() {
		token++
		build(b, ix, token, 1000)
		b.StopTimer()
		if state, err := ix.State(b.Context()); err != nil || state.Views[0].Rows != docs {
			b.Fatal(state, err)
		}
		save(b, db, fmt.Sprintf(`{"_id":"_design/d","views":{
			"country":{"map":"function(doc) { if (doc.country) emit(doc.country, %d); }"},
			"path":{"map":"function(doc) { emit([doc.country, doc.lat, doc.lng], 1); }","reduce":"_count"},
			"name":{"map":"function(doc) { if (doc.name) emit(doc.name, doc.lat); }"}}}`, token))
		if err := db.CleanupViews(b.Context()); err != nil {
			b.Fatal(err)
		}
		ix = db.Index(mustDesign(b, db, "d"))
		b.StartTimer()
	}
	b.ReportMetric(float64(docs)*float64(b.N)/b.Elapsed().Seconds(), "docs/s")
}

// loadCities writes n small documents.
func loadCities(tb testing.TB, db *layer.Database, n int) {
	tb.Helper()
	var edits []layer.Edit
	for i := range n {
		edits = append(edits, layer.Edit{ID: fmt.Sprintf("city-%06d", i), Body: fmt.Appendf(nil,
			`{"country":"%c%c","name":"Sant Julià de Lòria %d","lat":"%d.46372","lng":"1.49129"}`, 'A'+i%26, 'A'+
				i/26%26, i, i%90)})
		if len(edits) == 1000 || i == n-1 {
			results, err := db.Bulk(tb.Context(), edits, layer.WriteOptions{})
			if err != nil {
				tb.Fatal(err)
			}
			for _, r := range results {
				if r.Err != nil {
					tb.Fatal(r.Err)
				}
			}
			edits = edits[:0]
		}
	}
}
