package layer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// The longest history that _revs_limit allows fits, also if hashes consist of zero bytes, which take two bytes each in
// a key or value.
func TestRevsLimit_longest(t *testing.T) {
	d := mustDatabase(t)
	if err := d.SetRevsLimit(t.Context(), 4000); err != nil {
		t.Fatal(err)
	}
	for name, ancestor := range map[string]string{"hashes": "0123456789abcdef0123456789abcdef",
		"zeros": strings.Repeat("0", 32), "texts": strings.Repeat("t", 200)} {
		e := layer.Edit{ID: name, Rev: layer.Rev{Pos: 5000, ID: "leaf"}}
		for p := int64(4999); p > 0; p-- {
			e.Ancestors = append(e.Ancestors, layer.Rev{Pos: p, ID: ancestor})
		}
		if _, err := d.Put(t.Context(), e, layer.WriteOptions{Replicated: true}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r := put(t, d, `{"_id":"`+name+`","_rev":"5000-leaf"}`)
		doc, err := d.Get(t.Context(), name, layer.GetOptions{Revs: true})
		if err != nil || doc.Rev != r {
			t.Fatalf("%s: %v, %v", name, doc, err)
		}
		if name == "hashes" && len(doc.Revs) != 4000 || len(doc.Revs) < 400 {
			t.Errorf("%s: %d revisions kept", name, len(doc.Revs))
		}
	}
}

func TestLimits(t *testing.T) {
	d := mustCreate(t, mustStore(t, mustEngine(t), layer.Options{MaxDocument: 300_000}), "db", layer.CreateOptions{})
	put(t, d, `{"_id":"`+strings.Repeat("i", 512)+`","b":"`+strings.Repeat("x", 299_000)+`"}`)
	_, err := d.Put(t.Context(), layer.Edit{ID: "a", Body: []byte(`{"b":"` + strings.Repeat("x", 300_000) + `"}`)},
		layer.WriteOptions{})
	wantKind(t, err, layer.TooLarge)
	for _, id := range []string{"", strings.Repeat("i", 513), "\xff", "_x", "_design/", "_local/x"} {
		_, err := d.Put(t.Context(), layer.Edit{ID: id}, layer.WriteOptions{})
		wantKind(t, err, layer.Invalid)
	}
	for _, e := range []layer.Edit{
		{ID: "a"}, // no revision
		{ID: "a", Rev: rev(t, "3-c"), Ancestors: []layer.Rev{rev(t, "1-a")}},
		{ID: "a", Rev: rev(t, "1-a"), Ancestors: []layer.Rev{{Pos: 0, ID: "x"}}},
	} {
		_, err := d.Put(t.Context(), e, layer.WriteOptions{Replicated: true})
		wantKind(t, err, layer.Invalid)
	}
	if rows, _ := feedOf(t, d, layer.ChangesOptions{}); len(rows) != 1 {
		t.Errorf("something refused is in the feed: %v", rows)
	}
}

func TestBulk_semantics(t *testing.T) {
	d := mustDatabase(t)
	r := put(t, d, `{"_id":"a"}`)
	bulk := func(o layer.WriteOptions, docs ...string) string {
		t.Helper()
		var edits []layer.Edit
		for _, doc := range docs {
			edits = append(edits, edit(t, doc))
		}
		results, err := d.Bulk(t.Context(), edits, o)
		if err != nil {
			return err.Error()
		}
		var out []string
		for i, r := range results {
			if r.ID != edits[i].ID {
				t.Errorf("result %d is of %s", i, r.ID)
			}
			s := fmt.Sprint(r.Rev.Pos)
			if r.Err != nil {
				s = fmt.Sprint("E", layer.KindOf(r.Err))
			}
			out = append(out, s)
		}
		return strings.Join(out, " ")
	}
	conflict := fmt.Sprint("E", layer.Conflict)
	for _, c := range []struct {
		got, want string
	}{
		{bulk(layer.WriteOptions{}), ""},
		{bulk(layer.WriteOptions{}, `{"_id":"b"}`, `{"_id":"a"}`, `{"_id":"a","_rev":"`+r.String()+`"}`, `{"_id":"c"}`),
			"1 " + conflict + " 2 1"},
		{bulk(layer.WriteOptions{}, `{"_id":"twice","v":1}`, `{"_id":"twice","v":2}`), "1 " + conflict},
		{bulk(layer.WriteOptions{Atomic: true}, `{"_id":"x"}`, `{"_id":"b"}`), conflict + " " + conflict},
		{bulk(layer.WriteOptions{Atomic: true}, `{"_id":"x"}`, `{"_id":"y"}`), "1 1"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
	if _, err := d.Bulk(t.Context(), []layer.Edit{{ID: "z"}, {ID: "z"}},
		layer.WriteOptions{Atomic: true}); layer.KindOf(err) != layer.Invalid {
		t.Error(err)
	}
	if got := get(t, d, "x", layer.GetOptions{}); strings.Contains(got, "missing") {
		t.Error(got)
	}
	if got := get(t, d, "z", layer.GetOptions{}); got != "missing" {
		t.Error(got)
	}
}

// R8: a value in an unknown format is refused with its name and number on every path that reads it, and is not
// overwritten.
func TestUnknownFormats(t *testing.T) {
	e := mustEngine(t)
	s, err := layer.Open(t.Context(), e, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for sub, what := range map[keyspace.Subspace]string{
		keyspace.Revisions: "a document's revision has format 77",
		keyspace.Changes:   "a changes entry has format 77",
		keyspace.Documents: "a document's body has format 77",
		keyspace.Local:     "a _local document has format 77",
		keyspace.Config:    "a map of changes shards has format 77",
	} {
		name := strings.ToLower(fmt.Sprintf("db%d", sub))
		d := mustCreate(t, s, name, layer.CreateOptions{})
		r := put(t, d, `{"_id":"a"}`)
		if _, err := d.PutLocal(t.Context(), layer.Edit{ID: "_local/a"}); err != nil {
			t.Fatal(err)
		}
		setFormat(t, e, sub)
		var errs []error
		see := func(_ any, err error) {
			if err != nil {
				errs = append(errs, err)
			}
		}
		see(d.Get(t.Context(), "a", layer.GetOptions{Revs: true}))
		see(d.LocalDocument(t.Context(), "_local/a"))
		pass, err := d.Changes(t.Context(), layer.ChangesOptions{Limit: -1})
		see(nil, err)
		if err == nil {
			for c, err := range pass.Rows {
				see(c, err)
			}
		}
		if sub == keyspace.Revisions || sub == keyspace.Config {
			_, err := d.Put(t.Context(), edit(t, `{"_id":"a","_rev":"`+r.String()+`"}`), layer.WriteOptions{})
			if err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: writing gives %v", what, err)
			}
		}
		if len(errs) == 0 || !strings.Contains(errs[0].Error(), what) || layer.KindOf(errs[0]) != layer.Internal {
			t.Errorf("%s: %v", what, errs)
		}
		if err := s.Delete(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
}

// setFormat changes the format number of every value in a subspace, as if a later version of Divan had written it.
func setFormat(tb testing.TB, e kv.Engine, sub keyspace.Subspace) {
	tb.Helper()
	_, _, err := kv.Transact(tb.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		kv.ChangeMetadataVersion(tx)
		for _, row := range dump(tb, tx) {
			if row.key[0] != int64(keyspace.Data) {
				continue
			}
			switch n := keyspace.Subspace(row.key[2].(int64)); {
			case n == keyspace.Stamp: // cached values are read again
				tx.Set(row.key.Pack(), []byte("zzzzzzzzzz"))
			case n != sub || n == keyspace.Config && row.key[3] != "changes_shards":
			case n == keyspace.Documents:
				tx.Set(row.key.Pack(), append([]byte{77}, row.value[1:]...))
			default:
				rest, err := tuple.Skip(row.value)
				if err != nil {
					return struct{}{}, err
				}
				tx.Set(row.key.Pack(), append(tuple.AppendInt(nil, 77), rest...))
			}
		}
		return struct{}{}, nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

func TestOpen_newerStore(t *testing.T) {
	e := mustEngine(t)
	_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		tx.Set(tuple.Tuple{int64(keyspace.Format)}.Pack(), tuple.AppendInt(nil, keyspace.FormatVersion+1))
		return struct{}{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := layer.Open(t.Context(), e, layer.Options{}); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprintf("the store has format %d", keyspace.FormatVersion+1)) {
		t.Fatal(err)
	}
}
