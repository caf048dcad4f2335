package layer_test

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
)

// The largest permitted values of every kind stay within one transaction's limits, 10 MB and 5 s, on every engine.

const largestDocument = 8_000_000

// documentOf returns a document of n bytes, as Divan counts them.
func documentOf(id, rev string, n int) string {
	body := `{"fill":"` + strings.Repeat("x", n-len(`{"fill":""}`)) + `"}`
	if rev != "" {
		rev = `"_rev":"` + rev + `",`
	}
	return fmt.Sprintf(`{"_id":%q,%s%s`, id, rev, body[1:])
}

func TestLimits_document(t *testing.T) {
	oneGoroutine(t)
	d := mustDatabase(t)
	first := put(t, d, documentOf("large", "", largestDocument))
	if _, err := d.Put(t.Context(), edit(t, documentOf("larger", "", largestDocument+1)),
		layer.WriteOptions{}); layer.KindOf(err) != layer.TooLarge {
		t.Errorf("one byte more: %v", err)
	}
	second := put(t, d, documentOf("large", first.String(), largestDocument))
	doc, err := d.Get(t.Context(), "large", layer.GetOptions{})
	if err != nil || len(doc.Body) != largestDocument || doc.Rev != second {
		t.Fatalf("%v, %d bytes at %v, want %v", err, len(doc.Body), doc.Rev, second)
	}
	// A second branch of the same size.
	other := fmt.Sprintf(`{"_id":"large","_revisions":{"start":1,"ids":["%032x"]},`, 7) +
		documentOf("large", "", largestDocument)[len(`{"_id":"large",`):]
	push(t, d, other)
	if err := d.Compact(t.Context()); err != nil {
		t.Error(err)
	}
	edits := make([]layer.Edit, 5)
	for i := range edits {
		edits[i] = edit(t, documentOf(fmt.Sprintf("bulk%d", i), "", 4_000_000))
	}
	results, err := d.Bulk(t.Context(), edits, layer.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Errorf("%s: %v", r.ID, r.Err)
		}
	}
	n := 0
	pass, err := d.AllDocs(t.Context(), layer.AllDocsOptions{Limit: -1, IncludeDocs: true})
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range pass.Rows {
		if err != nil {
			t.Fatal(err)
		}
		if row.Doc == nil || len(row.Doc.Body) < 4_000_000 {
			t.Errorf("%s has no body", row.ID)
		}
		n++
	}
	if n != 6 {
		t.Errorf("%d documents, want 6", n)
	}
}

func TestLimits_history(t *testing.T) {
	oneGoroutine(t)
	const revs = 4000
	d := mustDatabase(t)
	if err := d.SetRevsLimit(t.Context(), revs); err != nil {
		t.Fatal(err)
	}
	ids := make([]string, revs)
	for i := range ids {
		ids[i] = fmt.Sprintf(`"%x"`, md5.Sum([]byte{byte(i >> 8), byte(i)}))
	}
	branch := func(leaf int) string {
		ids[0] = fmt.Sprintf(`"%x"`, md5.Sum([]byte(fmt.Sprint("leaf", leaf))))
		return fmt.Sprintf(`{"_id":"old","_revisions":{"start":%d,"ids":[%s]}}`, revs, strings.Join(ids, ","))
	}
	const branches = 40 // 2.6 MB of ancestors
	for i := range branches {
		push(t, d, branch(i))
	}
	doc, err := d.Get(t.Context(), "old", layer.GetOptions{Revs: true, Conflicts: true})
	if err != nil || len(doc.Revs) != revs || len(doc.Conflicts) != branches-1 {
		t.Fatalf("%v: %d revisions and %d conflicts, want %d and %d", err, len(doc.Revs), len(doc.Conflicts), revs,
			branches-1)
	}
	next := put(t, d, fmt.Sprintf(`{"_id":"old","_rev":%q}`, doc.Rev))
	put(t, d, fmt.Sprintf(`{"_id":"old","_rev":%q,"_deleted":true}`, next))
}

func TestLimits_attachments(t *testing.T) {
	oneGoroutine(t)
	d := mustDatabase(t)
	data := make([]byte, 20_000_000)
	r := rand.NewChaCha8([32]byte{})
	_, _ = r.Read(data)
	u, err := d.Upload(t.Context(), "doc", bytes.NewReader(data), int64(len(data)), "")
	if err != nil {
		t.Fatal(err)
	}
	e := layer.Edit{ID: "doc", Attachments: []layer.AttachmentEdit{{Name: "a", Upload: u}}}
	if _, err := d.Put(t.Context(), e, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := readAttachment(t, d, "doc", "a", 0, -1); !bytes.Equal(got, data) {
		t.Errorf("%d bytes came back of %d", len(got), len(data))
	}
}

// The largest rows that a view may have, in batches of any size.
func TestLimits_views(t *testing.T) {
	oneGoroutine(t)
	d := openViews(t, layer.CreateOptions{})
	save(t, d,
		`{"_id":"_design/d","views":{"v":{"map":"function(doc) { var k = 'k'.repeat(7000); for (var i = 0; i < 8; i++) emit([i, k], 'v'.repeat(60000)); }"}}}`)
	const docs = 60 // 29 MB of rows
	for i := range docs {
		save(t, d, fmt.Sprintf(`{"_id":"%d"}`, i))
	}
	ix := d.Index(mustDesign(t, d, "d"))
	build(t, ix, 1, 1000)
	result, err := ix.Query(t.Context(), layer.ViewQuery{View: "v", Limit: -1, IncludeDocs: true})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for row, err := range result.Rows {
		if err != nil {
			t.Fatal(err)
		}
		if len(row.Value) != 60_002 || row.Doc == nil {
			t.Fatalf("row of %s with %d bytes", row.ID, len(row.Value))
		}
		n++
	}
	if n != docs*8 {
		t.Errorf("%d rows, want %d", n, docs*8)
	}
}

// Functions that take longer over a batch than a transaction may last.
func TestLimits_slowViews(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as two transactions may")
	}
	d := openViews(t, layer.CreateOptions{})
	design := func(name string, steps int) *layer.Index {
		save(t, d,
			fmt.Sprintf(`{"_id":"_design/%s","views":{"v":{"map":"function(doc) { for (var i = 0, x = 0; i < %d; i++) x += i; emit(doc._id, x); }"}}}`, name, steps))
		return d.Index(mustDesign(t, d, name))
	}
	save(t, d, `{"_id":"0"}`)
	const steps = 1_000_000
	start := time.Now()
	build(t, design("measure", steps), 1, 1)
	const slow = 100 * time.Millisecond // per document
	ix := design("slow", int(steps*slow/time.Since(start)))
	docs := 65 * runtime.GOMAXPROCS(0)
	for i := range docs {
		if i > 0 {
			save(t, d, fmt.Sprintf(`{"_id":"%d"}`, i))
		}
	}
	build(t, ix, 1, 1000)
	again := 30 * runtime.GOMAXPROCS(0)
	for i := range again {
		save(t, d, fmt.Sprintf(`{"_id":"again%d"}`, i))
	}
	// too much for one transaction, unless the machine was busier before
	if caught, err := ix.CatchUp(t.Context(), 1000); err != nil {
		t.Errorf("caught up %v, %v", caught, err)
	}
	build(t, ix, 2, 1000)
	for e, err := range ix.Errors(t.Context()) {
		t.Errorf("%+v, %v", e, err)
	}
	if got := rows(t, ix, layer.ViewQuery{View: "v"}); len(got) != docs+again {
		t.Errorf("%d rows, want %d", len(got), docs+again)
	}
}
