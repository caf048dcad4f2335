package query_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/divandb/divan/query"
	qexec "github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/exectest"
)

// largeDocs is a store whose documents are made when they are read. It records the memory in use at the end of a read.
type largeDocs struct {
	*exectest.Store
	docs, size int
	most       uint64
}

func (l *largeDocs) Database(ctx context.Context, name string) (qexec.Database, error) {
	db, err := l.Store.Database(ctx, name)
	return &largeDB{db, l}, err
}

type largeDB struct {
	qexec.Database
	of *largeDocs
}

func (db *largeDB) AllDocs(context.Context, qexec.DocsRead) (qexec.Rows, error) {
	return &largeRows{of: db.of}, nil
}

type largeRows struct {
	of *largeDocs
	at int
}

func (r *largeRows) Next(_ context.Context, row *qexec.Row) error {
	if r.at == r.of.docs {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		r.of.most = max(r.of.most, m.HeapAlloc)
		return io.EOF
	}
	id := fmt.Sprintf("%05d", r.at)
	doc := fmt.Sprintf(`{"_id":"%s","name":"name %s","few":"%d","pad":"%s"}`, id, id, r.at%7,
		strings.Repeat("x", r.of.size))
	*row = qexec.Row{ID: id, Rev: "1-a", Doc: json.RawMessage(doc)}
	r.at++
	return nil
}

func (r *largeRows) Close() error { return nil }

// A statement that keeps a small part of each document does not keep the documents in memory.
func TestLargeDocuments(t *testing.T) {
	s := &largeDocs{Store: exectest.NewStore(), docs: 400, size: 100_000}
	s.Create("postgres")
	_, addr := start(t, s.Store, func(o *query.Options) {
		o.Catalog = func(context.Context, query.Principal) (qexec.Catalog, error) { return s, nil }
	})
	conn := connect(t, "postgres://ann@"+addr+"/postgres")
	for _, sql := range []string{
		"SELECT doc->>'name' FROM docs ORDER BY 1",
		"SELECT doc->>'name' FROM docs ORDER BY 1 LIMIT 300",
		"SELECT doc->>'name', count(*) FROM docs GROUP BY 1",
		"SELECT doc->>'few', min(doc->>'name'), max(doc->>'name') FROM docs GROUP BY 1",
		"SELECT array_length(array_agg(doc->>'name'), 1) FROM docs",
		"SELECT length(string_agg(doc->>'name', ',' ORDER BY doc->>'name')) FROM docs",
		"SELECT mode() WITHIN GROUP (ORDER BY doc->>'name') FROM docs",
		"SELECT DISTINCT doc->>'name' FROM docs",
		"WITH w AS MATERIALIZED (SELECT doc->>'name' n FROM docs) SELECT count(*) FROM w a, w b WHERE a.n = b.n",
		"SELECT count(*) FROM docs WHERE doc->>'name' IN (SELECT doc->>'name' FROM docs)",
		"SELECT array_length(ARRAY(SELECT doc->>'name' FROM docs), 1)",
		"SELECT doc->>'name' FROM docs EXCEPT SELECT doc->>'name' FROM docs",
	} {
		s.most = 0
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		if s.most == 0 || s.most > 20<<20 {
			t.Errorf("%s: %d MB in use at the end of the documents", sql, s.most>>20)
		}
	}
}
