package layer_test

import (
	"slices"
	"testing"

	"github.com/divandb/divan/layer"
)

const mangoDesign = `{"_id":"_design/d","language":"query","views":{"ab":{"map":{"fields":{"a":"asc","b.c":"asc"},
	"partial_filter_selector":{"status":{"$ne":"archived"}}},"reduce":"_count","options":{"def":{"fields":["a","b.c"]}}}}`

// A Mango index has a row for each document that has all fields and matches the filter, whether it is built, kept up to
// date or interactive.
func TestIndex_mango(t *testing.T) {
	for name, options := range map[string]string{"built": ``, "interactive": `,"options":{"interactive":true}`,
		"with include_design": `,"options":{"include_design":true}`} {
		t.Run(name, func(t *testing.T) {
			db := openViewsOn(t, mustEngineWith(t, true), layer.CreateOptions{Shards: 2})
			save(t, db, `{"_id":"1","status":"new","a":1,"b":{"c":[1, {"x" : 2}]}}`)
			save(t, db, `{"_id":"2","status":"archived","a":2,"b":{"c":1}}`)
			save(t, db, `{"_id":"3","status":"new","a":3}`)
			save(t, db, `{"_id":"4","a":4,"b":{"c":null}}`) // $ne requires the field
			save(t, db, mangoDesign+options+`}`)
			save(t, db, `{"_id":"_design/e","status":"new","a":1,"b":{"c":1}}`)
			ix := db.Index(mustDesign(t, db, "d"))
			check := func(want ...string) {
				t.Helper()
				if ok, err := ix.CatchUp(t.Context(), 100); !ok || err != nil {
					t.Fatal(ok, err)
				}
				if got := rows(t, ix, layer.ViewQuery{View: "ab"}); !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}
			check(`1 [1,[1,{"x":2}]] null`)
			save(t, db, `{"_id":"3","status":"new","a":null,"b":{"c":0}}`)
			save(t, db, `{"_id":"1","status":"archived","a":1,"b":{"c":1}}`)
			check(`3 [null,0] null`)
			got, err := groups(t, ix, layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "ab"}})
			if err != nil || !slices.Equal(got, []string{"null 1"}) {
				t.Errorf("counted %q, %v", got, err)
			}
		})
	}
}

// A definition that is not one has no rows. The other indexes of the design document do.
func TestIndex_mangoInvalid(t *testing.T) {
	db := openViewsOn(t, mustEngineWith(t, true), layer.CreateOptions{})
	save(t, db, `{"_id":"1","a":1}`)
	save(t, db, `{"_id":"_design/d","language":"query","views":{"a":{"map":{"fields":{"a":"asc"}}},"bad":{"map":{}},
		"worse":{"map":{"fields":{"a":"asc"},"partial_filter_selector":{"a":{"$foo":1}}}}}}`)
	ix := db.Index(mustDesign(t, db, "d"))
	if ok, err := ix.CatchUp(t.Context(), 100); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for view, want := range map[string][]string{"a": {`1 [1] null`}, "bad": nil, "worse": nil} {
		if got := rows(t, ix, layer.ViewQuery{View: view}); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", view, got, want)
		}
	}
}
