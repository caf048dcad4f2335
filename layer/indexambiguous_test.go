package layer_test

import (
	"fmt"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// A view knows whether rows with equal keys have the same strings: builds, edits and deletions count the others, also
// in an index that writers update, and an index that older versions have begun does not know it.
func TestIndex_StateForView_unambiguous(t *testing.T) {
	engine := mustEngine(t)
	db := openViewsOn(t, engine, layer.CreateOptions{Shards: 2})
	for _, interactive := range []bool{false, true} {
		name := fmt.Sprint("by", interactive)
		save(t, db, `{"_id":"_design/`+name+`","options":{"interactive":`+
			fmt.Sprint(interactive)+`},"views":{"n":{"map":"function(doc) { if (doc.n) emit(doc.n, 1); }"}}}`)
		ix := db.Index(mustDesign(t, db, "_design/"+name))
		token := int64(0)
		controls := false
		want := func(when string, want bool, letters string) {
			t.Helper()
			if token++; token == 1 || !interactive {
				build(t, ix, token, 10)
			}
			state, err := ix.StateForView(t.Context(), "n", layer.ViewCounts{Letters: true})
			if err != nil {
				t.Fatal(err)
			}
			if state.Views[0].Strings.Unambiguous != want {
				t.Errorf("%s %s: %t", name, when, !want)
			}
			if state.Views[0].Strings.NoControls == controls {
				t.Errorf("%s %s: controls %t", name, when, !controls)
			}
			if got := fmt.Sprint(state.Views[0].Strings.Parts); got != letters {
				t.Errorf("%s %s: letters %s, want %s", name, when, got, letters)
			}
		}
		save(t, db, `{"_id":"d`+name+`","n":["A", "b", "C"]}`)
		if !interactive {
			want("letters", true, "[0 1 0 0]")
		}
		save(t, db, `{"_id":"a`+name+`","n":["Zürich", 1]}`)
		want("plain", true, "[2 1 0 0]")
		save(t, db, `{"_id":"b`+name+`","n":"e\u0301"}`)
		want("mark", false, "[2 1 0 0]")
		save(t, db, `{"_id":"c`+name+`","n":{"a":["\u0001"]}}`)
		controls = true
		want("marks", false, "[2 1 0 0]")
		doc, err := db.Get(t.Context(), "b"+name, layer.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		save(t, db, `{"_id":"b`+name+`","n":"é","_rev":"`+doc.Rev.String()+`"}`)
		want("one left", false, "[2 1 0 0]")
		if doc, err = db.Get(t.Context(), "c"+name, layer.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		save(t, db, `{"_id":"c`+name+`","_deleted":true,"_rev":"`+doc.Rev.String()+`"}`)
		controls = false
		want("plain again", true, "[2 1 0 0]")
		oldNumber(t, engine)
		controls = true // they may be there
		want("of an older version", false, "[2 2 2 2]")
	}
}

// oldNumber makes the numbers of all indexes those of an older version.
func oldNumber(t *testing.T, engine kv.Engine) {
	t.Helper()
	_, _, err := kv.Transact(t.Context(), engine, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		it := tx.GetRange(kv.KeyRange{Begin: []byte{0}, End: []byte{0xff}}, kv.RangeOptions{Mode: kv.ModeWantAll})
		defer it.Close()
		for it.Next() {
			row := it.KeyValue()
			var head [5]int64
			rest, err := row.Key, error(nil)
			for i := range head {
				if head[i], rest, err = tuple.TakeInt(rest); err != nil {
					break
				}
			}
			if err != nil || head[2] != int64(keyspace.Views) || head[3] != int64(keyspace.ViewInfo) ||
				head[4] != int64(keyspace.ViewNumber) {
				continue
			}
			_, number, err := tuple.TakeInt(row.Value)
			if err != nil {
				return struct{}{}, err
			}
			tx.Set(row.Key, append(tuple.AppendInt(nil, 1), number...))
		}
		return struct{}{}, it.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
}
