package sqlreads_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

// BenchmarkAllDocs reads documents as a statement does. An operation is one document.
func BenchmarkAllDocs(b *testing.B) {
	const docs = 20_000
	s := newSource(b)
	db, err := s.Store.Create(b.Context(), "db", layer.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	var edits []layer.Edit
	for i := range docs {
		e, err := layer.ParseEdit(fmt.Appendf(nil, `{"_id":"%08d","name":"City %d","country":"NO","lat":"%d.5","lng":"7.1"}`,
			i, i, i%90), false)
		if err != nil {
			b.Fatal(err)
		}
		if edits = append(edits, e); len(edits) == 1000 {
			if _, err := db.Bulk(b.Context(), edits, layer.WriteOptions{}); err != nil {
				b.Fatal(err)
			}
			edits = edits[:0]
		}
	}
	reads := open(b, s, "db")
	for _, bench := range []struct {
		name string
		read exec.DocsRead
	}{{"ids", exec.DocsRead{}}, {"documents", exec.DocsRead{WithDoc: true}}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; n < b.N; {
				rows, err := reads.AllDocs(b.Context(), bench.read)
				if err != nil {
					b.Fatal(err)
				}
				for err == nil {
					var batch []exec.Row
					batch, err = rows.(exec.Batcher).Batch(b.Context())
					n += len(batch)
				}
				if !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
				_ = rows.Close() // at its end
			}
		})
	}
}
