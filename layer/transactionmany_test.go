package layer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
)

// continueIn writes the next revision of a document in a transaction.
func continueIn(t *testing.T, x *layer.Transaction, d *layer.Database, id, body string) {
	t.Helper()
	e := layer.Edit{ID: id, KeepAttachments: true, Body: []byte(body)}
	if own, ok := x.Own(id); ok {
		e.Rev = own.Rev
	} else if doc, err := d.Get(t.Context(), id, layer.GetOptions{}); err == nil {
		e.Rev = doc.Rev
	}
	if _, err := x.Write(t.Context(), []layer.Edit{e}); err != nil {
		t.Fatal(err)
	}
}

// A transaction may write some documents once and others several times. Documents beside each other are read as
// ranges, which may contain those that it writes several times.
func TestTransaction_manyDocuments(t *testing.T) {
	calm(t)
	s := openViewStore(t, mustEngine(t))
	d := mustCreate(t, s, "db", layer.CreateOptions{Shards: 2})
	save(t, d, interactive)
	ix := d.Index(mustDesign(t, d, "d"))
	if ok, err := ix.CatchUp(t.Context(), 100); !ok || err != nil {
		t.Fatal(ok, err)
	}
	const docs = 100
	name := func(i int) string { return fmt.Sprintf("doc%03d", i) }
	for i := range docs {
		if i%10 != 5 { // the others are new in the transaction
			save(t, d, fmt.Sprintf(`{"_id":%q,"n":1}`, name(i)))
		}
	}
	x, end := begin(t, s, d)
	defer end()
	for i := 5; i < docs; i += 10 {
		continueIn(t, x, d, name(i), `{"n":2}`)
	}
	for i := range docs {
		continueIn(t, x, d, name(i), `{"n":3}`)
	}
	if err := x.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range docs {
		doc, err := d.Get(t.Context(), name(i), layer.GetOptions{})
		if err != nil || string(doc.Body) != `{"n":3}` || doc.Rev.Pos != 2 {
			t.Errorf("%s: %+v %v", name(i), doc, err)
		}
	}
	if n := len(rows(t, ix, layer.ViewQuery{View: "n"})); n != docs {
		t.Errorf("%d rows in the index", n)
	}
}

// What a transaction reads of a large document that it writes several times does not count for the next document.
func TestTransaction_largeDocuments(t *testing.T) {
	oneGoroutine(t)
	calm(t)
	s := mustStore(t, mustEngine(t), layer.Options{})
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	large := strings.Repeat("x", 7_999_900)
	for i := range 3 {
		save(t, d, fmt.Sprintf(`{"_id":"d%d","x":%q}`, i, large))
	}
	x, end := begin(t, s, d)
	defer end()
	for n := range 2 {
		for i := range 3 {
			continueIn(t, x, d, fmt.Sprintf("d%d", i), fmt.Sprintf(`{"n":%d}`, n))
		}
	}
	if err := x.Commit(t.Context()); err != nil {
		t.Error(err)
	}
}

// Each edit of a document is checked once, however many the transaction has made before, and once more by the commit.
func TestTransaction_oneDocument(t *testing.T) {
	calm(t)
	v := &wordValidator{}
	s := mustStore(t, mustEngine(t), layer.Options{Validator: v})
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	put(t, d, `{"_id":"_design/d","refuse":"wrong"}`)
	pinned, release, err := s.Pin(t.Context(), layer.PinOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	at, err := pinned.Database(t.Context(), "db")
	if err != nil {
		t.Fatal(err)
	}
	x, err := d.Begin(at, &layer.UserCtx{Name: "u"})
	if err != nil {
		t.Fatal(err)
	}
	const edits = 100
	for i := range edits {
		continueIn(t, x, d, "a", fmt.Sprintf(`{"n":%d}`, i))
		if i%10 != 9 {
			continue
		}
		own, _ := x.Own("a")
		refused := layer.Edit{ID: "a", Rev: own.Rev, Body: []byte(`{"x":"wrong"}`)}
		if _, err := x.Write(t.Context(), []layer.Edit{refused}); layer.KindOf(err) != layer.Forbidden {
			t.Fatal(err)
		}
	}
	// After a refused edit, those before it are checked again.
	if n := len(v.seen); n > edits+10+edits*(edits/10)/2+edits {
		t.Errorf("%d edits were checked %d times", edits, n)
	}
	before := len(v.seen)
	for i := range edits {
		continueIn(t, x, d, "b", fmt.Sprintf(`{"n":%d}`, i))
	}
	if n := len(v.seen) - before; n > edits+1 {
		t.Errorf("%d edits were checked %d times", edits, n)
	}
	before = len(v.seen)
	if err := x.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(v.seen) - before; n != 2*edits {
		t.Errorf("the commit has checked %d edits %d times", 2*edits, n)
	}
	for id, want := range map[string]string{"a": `{"n":99}`, "b": `{"n":99}`} {
		if doc, err := d.Get(t.Context(), id, layer.GetOptions{}); err != nil || string(doc.Body) != want ||
			doc.Rev.Pos != edits {
			t.Errorf("%s: %+v %v", id, doc, err)
		}
	}
}
