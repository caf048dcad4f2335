package mango_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/selector"
	"github.com/divandb/divan/query/mango"
)

func index(tb testing.TB, name, definition string) *mango.Index {
	tb.Helper()
	def, err := selector.ParseIndex([]byte(definition))
	if err != nil {
		tb.Fatal(definition, err)
	}
	return &mango.Index{Design: "_design/" + name, Name: name, Definition: def}
}

func plan(q string, all []*mango.Index) (*mango.Plan, error) {
	query, err := mango.ReadQuery(gjson.Parse(q), 25)
	if err != nil {
		return nil, err
	}
	return mango.Make(query, all, false, false)
}

// Which index answers a query, and what is read of it.
func TestMake(t *testing.T) {
	all := []*mango.Index{
		index(t, "a", `{"fields":{"a":"asc"}}`),
		index(t, "ab", `{"fields":{"a":"asc","b":"asc"}}`),
		index(t, "also_a", `{"fields":{"a":"asc"}}`),
		index(t, "id", `{"fields":{"_id":"asc","c":"asc"}}`),
		index(t, "part", `{"fields":{"a":"asc"},"partial_filter_selector":{"z":1}}`),
	}
	for q, want := range map[string]string{
		`{"selector":{"a":1}}`:                                        `a [1] [1]`,
		`{"selector":{"a":1,"b":{"$gt":2}}}`:                          `ab [1,2] [1]`,
		`{"selector":{"b":1}}`:                                        `_all_docs`,
		`{"selector":{"a":{"$gt":1,"$lte":5}}}`:                       `a [1] [5]`,
		`{"selector":{"a":{"$lt":5},"b":7}}`:                          `ab [] [5,7]`,
		`{"selector":{"a":{"$exists":true}}}`:                         `a [] []`,
		`{"selector":{"a":{"$exists":false}}}`:                        `_all_docs`,
		`{"selector":{"a":{"$ne":1}}}`:                                `a [] []`,
		`{"selector":{"a":{"$in":[1,2]}}}`:                            `a [] []`,
		`{"selector":{"a":{"$beginsWith":"x"}}}`:                      "a [\"x\"] [\"x\uffff\"]",
		`{"selector":{"a":{"$beginsWith":"x\u0e40"}}}`:                `a [] []`, // sorts behind the next letter
		`{"selector":{"$or":[{"a":1},{"a":2}]}}`:                      `a [] []`,
		`{"selector":{"$or":[{"a":1},{"b":2}]}}`:                      `_all_docs`,
		`{"selector":{"$and":[{"a":{"$gt":1}},{"a":{"$gt":3}}]}}`:     `a [3] []`,
		`{"selector":{"a":{"$gte":1,"$lte":1}}}`:                      `a [1] [1]`,
		`{"selector":{"a":{"$gt":1,"$lte":1}}}`:                       `a nothing`,
		`{"selector":{"a":{"$eq":1,"$gt":0}}}`:                        `a [1] [1]`,
		`{"selector":{"a":{"$gt":null}},"sort":["a"]}`:                `a [null] []`,
		`{"selector":{},"sort":["a"]}`:                                `a [] []`,
		`{"selector":{"b":{"$gt":0}},"sort":["a","b"]}`:               `ab [] []`,
		`{"selector":{"a":1},"sort":["b"]}`:                           `ab [1] [1]`,
		`{"selector":{"a":{"$gt":1}},"sort":["b"]}`:                   `no_usable_index`,
		`{"selector":{},"sort":["_id"]}`:                              `no_usable_index`,
		`{"selector":{"_id":{"$gt":"a"}},"sort":["_id"]}`:             `_all_docs a -`,
		`{"selector":{"_id":{"$gt":"B","$lt":"a"}}}`:                  `_all_docs B a`, // compared byte by byte
		`{"selector":{"_id":{"$gt":"a","$lt":"B"}}}`:                  `_all_docs nothing`,
		`{"selector":{"_id":{"$lt":5}}}`:                              `_all_docs nothing`,
		`{"selector":{"_id":{"$gt":5}}}`:                              `_all_docs`,
		`{"selector":{"_id":{"$gt":"B"},"c":1}}`:                      `_all_docs B -`,
		`{"selector":{"_id":{"$gt":"B"},"c":1},"use_index":"id"}`:     `id [] []`,
		`{"selector":{"_id":{"$gt":null},"c":1}}`:                     `id [] []`,
		`{"selector":{"_id":"B","c":1}}`:                              `id ["B",1] ["B",1]`,
		`{"selector":{"a":1},"use_index":"also_a"}`:                   `also_a [1] [1]`,
		`{"selector":{"a":1},"use_index":"_design/ab"}`:               `a [1] [1] ignored`,
		`{"selector":{"a":1},"use_index":["also_a","also_a"]}`:        `also_a [1] [1]`,
		`{"selector":{"a":1},"use_index":["also_a","x"]}`:             `a [1] [1] ignored`,
		`{"selector":{"a":1},"use_index":"part"}`:                     `part [1] [1]`,
		`{"selector":{"b":1},"use_index":"part"}`:                     `_all_docs ignored`,
		`{"selector":{"b":1},"allow_fallback":false}`:                 `invalid_index`,
		`{"selector":{"a":1},"allow_fallback":false}`:                 `a [1] [1]`,
		`{"selector":{"a":1},"use_index":"x","allow_fallback":false}`: `invalid_index`,
		`{"selector":{"a":1},"fields":["a","_id"]}`:                   `a [1] [1] covered`,
		`{"selector":{"a":1,"b":{"$gt":0}},"fields":["a"]}`:           `ab [1,0] [1] covered`,
		`{"selector":{"a":1,"c":0},"fields":["a"]}`:                   `a [1] [1]`,
		`{"selector":{"a":1},"fields":["a"],"r":2}`:                   `a [1] [1]`,
		`{"selector":{"$and":[]}}`:                                    `a nothing`,
		`{"selector":{"$or":[],"a":1}}`:                               `a [1] [1]`,
		`{"selector":{"$or":[],"b":{"$in":[]}}}`:                      `a [] []`,
		`{"selector":{"$not":{"a":{"$lt":3}}}}`:                       `a [3] []`,
	} {
		p, err := plan(q, all)
		got := ""
		switch {
		case err != nil:
			got, _, _ = strings.Cut(err.Error(), ":")
		default:
			got = p.Index.Name
			switch {
			case p.Nothing:
				got += " nothing"
			case p.Index.Definition != nil:
				got += fmt.Sprintf(" %s %s", mango.List(p.Span.Low), mango.List(p.Span.High))
			case p.IDs != mango.IDs{}:
				got += " " + text(p.IDs.Low) + " " + text(p.IDs.High)
			}
			if p.Covered {
				got += " covered"
			}
			if p.Ignored() != "" {
				got += " ignored"
			}
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", q, got, want)
		}
	}
}

func text(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

var (
	fields = rapid.SampledFrom([]string{"_id", "a", "b", "a.x", "b.0", "c"})
	values = rapid.SampledFrom([]string{`null`, `false`, `true`, `0`, `1`, `1.0`, `-2.5`, `3`, `""`, `"a"`, `"B"`, `"b"`,
		`"ab"`, `"á"`, `"a\u0301b"`, `"เก"`, `"\uffff"`, `[]`, `[1]`, `["a",2]`, `{}`, `{"x":1}`, `{"x":"a","y":2}`})
	prefixes = rapid.SampledFrom([]string{`""`, `"a"`, `"A"`, `"á"`, `"เ"`, `"ab"`, `"\uffff"`})
)

func drawCondition(t *rapid.T, depth int) string {
	op := rapid.SampledFrom([]string{"$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$in", "$nin", "$exists", "$type",
		"$beginsWith", "$not", "two", "$elemMatch", "$allMatch", "$size", "$all", "plain"}).Draw(t, "op")
	value := values.Draw(t, "value")
	switch op {
	case "$in", "$nin", "$all":
		value = "[" + value + "," + values.Draw(t, "second") + "]"
	case "$exists":
		value = rapid.SampledFrom([]string{"true", "false"}).Draw(t, "exists")
	case "$type":
		value = `"number"`
	case "$size":
		value = "1"
	case "$beginsWith":
		value = prefixes.Draw(t, "prefix")
	case "plain":
		return value
	case "$not", "$elemMatch", "$allMatch":
		if depth == 0 {
			return value
		}
		if value = drawCondition(t, depth-1); value[0] != '{' {
			value = `{"$eq":` + value + `}`
		}
	case "two":
		return fmt.Sprintf(`{"$gte":%s,"$lt":%s}`, value, values.Draw(t, "upper"))
	}
	return fmt.Sprintf(`{"%s":%s}`, op, value)
}

func drawSelector(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	if depth == 0 || kind < 6 {
		n := rapid.IntRange(1, 3).Draw(t, "fields")
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf("%q:%s", fields.Draw(t, "field"), drawCondition(t, 2))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	if kind == 6 {
		return `{"$not":` + drawSelector(t, depth-1) + `}`
	}
	op := []string{"$and", "$or", "$nor"}[kind-7]
	return fmt.Sprintf(`{"%s":[%s,%s]}`, op, drawSelector(t, depth-1), drawSelector(t, depth-1))
}

func drawDocuments(t *rapid.T) map[string][]byte {
	docs := map[string][]byte{}
	for _, id := range []string{"a", "B", "b", "á", "aa", "\uffff", "Z", "10"} {
		b := fmt.Appendf(nil, `{"_id":"%s"`, id)
		for _, field := range []string{"a", "b", "c"} {
			if rapid.IntRange(0, 3).Draw(t, "present") > 0 {
				b = fmt.Appendf(b, `,%q:%s`, field, values.Draw(t, field))
			}
		}
		docs[id] = append(b, '}')
	}
	return docs
}

// within reports whether a row is in the part of the index that the plan reads.
func within(t *rapid.T, s mango.Span, key []byte) bool {
	elements := gjson.ParseBytes(key).Array()
	compare := func(bound [][]byte, missing int) int {
		for i, b := range bound {
			if i == len(elements) {
				return missing
			}
			if c, err := collate.Compare([]byte(elements[i].Raw), b); err != nil {
				t.Fatal(err)
			} else if c != 0 {
				return c
			}
		}
		return 0
	}
	return compare(s.Low, -1) >= 0 && compare(s.High, -1) <= 0
}

// Random queries of random documents: every index that can answer a query has the rows of all documents that match, in
// the range that the plan reads, and rows that cover the query have the same fields as the documents.
func TestMake_complete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs := drawDocuments(t)
		var all []*mango.Index
		for i := range 4 {
			columns := map[string]bool{}
			var list []string
			for range rapid.IntRange(0, 3).Draw(t, "columns") {
				if f := fields.Draw(t, "column"); !columns[f] {
					columns[f] = true
					list = append(list, fmt.Sprintf(`%q:"asc"`, f))
				}
			}
			filter := `{}`
			if i == 3 {
				filter = drawSelector(t, 1)
			}
			text := fmt.Sprintf(`{"fields":{%s},"partial_filter_selector":%s}`, strings.Join(list, ","), filter)
			def, err := selector.ParseIndex([]byte(text))
			if err != nil {
				t.Fatal(text, err)
			}
			all = append(all, &mango.Index{Design: fmt.Sprintf("_design/%d", i), Name: "x", Definition: def})
		}
		text := drawSelector(t, 2)
		shown := fmt.Sprintf(`,"fields":[%q,%q]`, fields.Draw(t, "shown"), fields.Draw(t, "shown"))
		for _, use := range []string{"none", "0", "1", "2", "3"} {
			q := fmt.Sprintf(`{"selector":%s,"use_index":%q%s}`, text, use, shown)
			p, err := plan(q, all)
			if err != nil {
				t.Fatal(q, err)
			}
			check(t, p, q, docs)
		}
	})
}

func check(t *rapid.T, p *mango.Plan, q string, docs map[string][]byte) {
	// An empty list of conditions matches nothing as a whole selector.
	for id, doc := range docs {
		if !p.Query.Selector.Match(doc) {
			continue
		}
		if p.Index.Definition == nil {
			inside := (p.IDs.Low == nil || *p.IDs.Low <= id) && (p.IDs.High == nil || id <= *p.IDs.High)
			if p.Nothing || !inside {
				t.Fatalf("%s: %s is not in %v", q, doc, p.IDs)
			}
			continue
		}
		if p.Index.Definition.Filter != nil && !p.Index.Definition.Filter.Match(doc) {
			continue
		}
		key, ok := p.Index.Definition.AppendKey(nil, doc)
		if !ok || p.Nothing || !within(t, p.Span, key) {
			t.Fatalf("%s with index %s: %s has the key %s, which is not in %s, %s", q, p.Index.Append(nil), doc, key,
				mango.List(p.Span.Low), mango.List(p.Span.High))
		}
		if !p.Covered {
			continue
		}
		covered := mango.NewCover(p.Index).Append(nil, id, key)
		want, got := p.Query.Fields.Append(nil, doc), p.Query.Fields.Append(nil, covered)
		if !p.Query.Selector.Match(covered) || !bytes.Equal(got, want) {
			t.Fatalf("%s: %s is covered by %s: got %s, want %s", q, doc, covered, got, want)
		}
	}
}

// Names of indexes without one, made by a CouchDB 3.5 for the same requests.
func TestReadNewIndex_names(t *testing.T) {
	for body, want := range map[string]string{
		`{"index":{"fields":["a"]}}`: "7095fd2321a986309496ad2ac9c3498246175757",
		`{"index":{"fields":[]}}`:    "16d64bc5aa5ac9a0662f02b45a7d70d4a6923ccc",
	} {
		ix, err := mango.ReadNewIndex(gjson.Parse(body))
		if err != nil || ix.Name != want || ix.Design != "_design/"+want {
			t.Errorf("%s: %+v, %v", body, ix, err)
		}
	}
}

func TestParseBookmark(t *testing.T) {
	p := &mango.Position{Design: "_design/d", Name: "x", Key: []byte(`[1,"ü"]`), ID: "a/b\"c"}
	got, err := mango.ParseBookmark(p.Bookmark())
	if err != nil || got.Design != p.Design || got.Name != p.Name || !bytes.Equal(got.Key, p.Key) || got.ID != p.ID {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "x", "W10", "bnVsbA", "WyIiLCJ4IixbMV0sImEiXQ", "WyJkIiwieCIsMSwiYSJd"} {
		if p, err := mango.ParseBookmark(bad); err == nil {
			t.Errorf("%s: %+v", bad, p)
		}
	}
}

// FuzzReadQuery checks that no request makes the planner or the explanation panic, and that explanations are JSON.
func FuzzReadQuery(f *testing.F) {
	for _, s := range []string{`{"selector":{"a":{"$gt":1}},"sort":[{"a":"desc"}],"fields":["a","b.c"]}`,
		`{"selector":{"$or":[{"a":1},{"_id":{"$beginsWith":"x"}}]},"use_index":["i","i"],"limit":5,"r":2}`,
		`{"selector":{},"bookmark":"WyIiLCJfYWxsX2RvY3MiLG51bGwsImEiXQ"}`} {
		f.Add([]byte(s))
	}
	all := []*mango.Index{index(f, "i", `{"fields":{"a":"asc","b.c":"asc"}}`),
		index(f, "none", `{"fields":{}}`), index(f, "j", `{"fields":{"a":"asc"},"partial_filter_selector":{"a":1}}`)}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !gjson.ValidBytes(body) || !gjson.ParseBytes(body).IsObject() {
			return
		}
		q, err := mango.ReadQuery(gjson.ParseBytes(body), 25)
		if err != nil {
			return
		}
		for _, explain := range []bool{false, true} {
			p, err := mango.Make(q, slices.Clone(all), false, explain)
			if err == nil && !gjson.ValidBytes(p.AppendExplanation(nil, "db", false)) {
				t.Errorf("%s: %s", body, p.AppendExplanation(nil, "db", false))
			}
		}
	})
}
