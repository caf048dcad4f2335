package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/node/api"
)

type found struct {
	Docs     []map[string]any
	Bookmark string
	Warning  string
	Stats    struct {
		Keys int `json:"total_keys_examined"`
	} `json:"execution_stats"`
}

// find posts a query and decodes the answer.
func (s *server) find(t *testing.T, path, query string) (f found) {
	t.Helper()
	text := s.must(t, "POST", path, query)
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatalf("%s: %s: %v", query, text, err)
	}
	return f
}

func (f *found) ids() []string {
	ids := []string{}
	for _, doc := range f.Docs {
		ids = append(ids, doc["_id"].(string))
	}
	return ids
}

// Random queries: every index gives the same documents as reading all of them, at once and page by page, in both
// directions, and while the documents change.
func TestFind_indexes(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	values := []string{`null`, `false`, `0`, `1`, `2.5`, `"a"`, `"B"`, `"b"`, `"ab"`, `[]`, `[1,"x"]`, `{"x":1}`,
		`{"x":"y"}`}
	value := func() string { return values[rand.IntN(len(values))] }
	revs := map[string]string{}
	write := func() {
		id := fmt.Sprintf("d%02d", rand.IntN(60))
		doc := fmt.Sprintf(`{"_id":%q`, id)
		if rev := revs[id]; rev != "" {
			doc += fmt.Sprintf(`,"_rev":%q`, rev)
		}
		for _, field := range []string{"a", "b", "c"} {
			if rand.IntN(4) > 0 {
				doc += fmt.Sprintf(`,%q:%s`, field, value())
			}
		}
		var answer struct{ Rev string }
		if err := json.Unmarshal([]byte(s.must(t, "PUT", "/db/"+id, doc+"}")), &answer); err != nil {
			t.Fatal(err)
		}
		revs[id] = answer.Rev
	}
	for i, def := range []string{`{"fields":["a"]}`, `{"fields":["b","a"]}`, `{"fields":["a.x"]}`,
		`{"fields":["c","b"]}`, `{"fields":["_id"]}`, `{"fields":[]}`} {
		s.must(t, "POST", "/db/_index", fmt.Sprintf(`{"index":%s,"ddoc":"i%d","interactive":%v}`, def, i, i%2 == 0))
	}
	operators := []string{"$eq", "$ne", "$lt", "$lte", "$gt", "$gte"}
	condition := func() string {
		field := []string{"a", "b", "c", "a.x"}[rand.IntN(4)]
		return fmt.Sprintf(`{%q:{%q:%s}}`, field, operators[rand.IntN(len(operators))], value())
	}
	for range 30 {
		for range 3 {
			write()
		}
		text := condition()
		switch rand.IntN(3) {
		case 0:
			text = fmt.Sprintf(`{"$and":[%s,%s]}`, text, condition())
		case 1:
			text = fmt.Sprintf(`{"$or":[%s,%s]}`, text, condition())
		}
		scanned := s.find(t, "/db/_find", fmt.Sprintf(`{"selector":{"$or":[%s,{"none":1}]},"limit":1000}`, text))
		want := scanned.ids()
		for i := range 6 {
			query := fmt.Sprintf(`{"selector":%s,"use_index":"i%d"`, text, i)
			got := s.find(t, "/db/_find", query+`,"limit":1000}`)
			ids := got.ids()
			slices.Sort(ids)
			if !slices.Equal(ids, want) {
				t.Fatalf("%s: got %q, want %q", query, ids, want)
			}
			var pages []string
			for bookmark := "nil"; ; {
				page := s.find(t, "/db/_find", fmt.Sprintf(`%s,"limit":3,"bookmark":%q,"fields":["_id"]}`, query, bookmark))
				pages = append(pages, page.ids()...)
				if bookmark = page.Bookmark; len(page.Docs) == 0 {
					break
				}
			}
			if !slices.Equal(pages, got.ids()) {
				t.Fatalf("%s: pages have %q, want %q", query, pages, got.ids())
			}
		}
	}
	var orders [2][]string
	for i, direction := range []string{"asc", "desc"} {
		query := fmt.Sprintf(`{"selector":{},"sort":[{"a":%q}],"limit":4`, direction)
		for bookmark := ""; ; {
			page := s.find(t, "/db/_find", fmt.Sprintf(`%s,"bookmark":%q}`, query, bookmark))
			orders[i] = append(orders[i], page.ids()...)
			if bookmark = page.Bookmark; len(page.Docs) == 0 {
				break
			}
		}
	}
	slices.Reverse(orders[1])
	if len(orders[0]) == 0 || !slices.Equal(orders[0], orders[1]) {
		t.Errorf("ascending %q, descending from the end %q", orders[0], orders[1])
	}
}

// Documents whose fields are too long for an index are found nevertheless, or the query is refused.
func TestFind_longFields(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	s.must(t, "POST", "/db/_index", `{"index":{"fields":["a"]},"ddoc":"i"}`)
	s.must(t, "PUT", "/db/short", `{"a":"x"}`)
	long := strings.Repeat("x", 10_000)
	if got := s.find(t, "/db/_find", `{"selector":{"a":{"$gt":null}}}`); got.Warning != "" || len(got.Docs) != 1 {
		t.Errorf("%+v", got)
	}
	s.must(t, "PUT", "/db/long", `{"a":"`+long+`"}`)
	s.must(t, "GET", "/db/_design/i/_view/"+name(t, s, "i"), "")
	got := s.find(t, "/db/_find", `{"selector":{"a":{"$gt":null}},"fields":["_id"]}`)
	if !slices.Equal(got.ids(), []string{"long", "short"}) || !strings.Contains(got.Warning, "No matching index") {
		t.Errorf("%+v", got)
	}
	status, answer := s.call(t, "POST", "/db/_find", `{"selector":{"a":{"$gt":null}},"sort":["a"]}`)
	if status != 400 || !strings.Contains(answer, "no_usable_index") {
		t.Errorf("%d %s", status, answer)
	}
}

// name returns the name of the only index of a design document.
func name(t *testing.T, s *server, design string) string {
	t.Helper()
	var doc struct{ Views map[string]any }
	if err := json.Unmarshal([]byte(s.must(t, "GET", "/db/_design/"+design, "")), &doc); err != nil {
		t.Fatal(err)
	}
	for name := range doc.Views {
		return name
	}
	return ""
}

// A query of a partition uses the indexes of partitions, any other the global ones.
func TestFind_partitions(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db?partitioned=true", "")
	for _, id := range []string{"p:1", "p:2", "q:1", "q:2"} {
		s.must(t, "PUT", "/db/"+id, fmt.Sprintf(`{"a":%c,"b":1}`, id[2]))
	}
	s.must(t, "POST", "/db/_index", `{"index":{"fields":["a"]},"ddoc":"local"}`)
	s.must(t, "POST", "/db/_index", `{"index":{"fields":["a"]},"ddoc":"global","partitioned":false}`)
	for path, want := range map[string]string{
		`/db/_find {"selector":{"a":{"$gt":1}}}`:                                      "p:2 q:2",
		`/db/_partition/p/_find {"selector":{"a":{"$gt":0}}}`:                         "p:1 p:2",
		`/db/_partition/q/_find {"selector":{"a":{"$gt":0}},"sort":[{"a":"desc"}]}`:   "q:2 q:1",
		`/db/_partition/q/_find {"selector":{"b":1}}`:                                 "q:1 q:2",
		`/db/_partition/q/_find {"selector":{"_id":{"$gt":"q:1"}},"sort":["_id"]}`:    "q:2",
		`/db/_partition/q/_find {"selector":{"_id":{"$gt":"p:1"}}}`:                   "q:1 q:2",
		`/db/_find {"selector":{"b":1},"partition":"p"}`:                              "p:1 p:2",
		`/db/_partition/none/_find {"selector":{"a":{"$gt":0}}}`:                      "",
		`/db/_partition/p/_find {"selector":{"a":{"$gt":0}},"use_index":"global"}`:    "p:1 p:2",
		`/db/_find {"selector":{"a":{"$gt":1}},"use_index":"local","fields":["_id"]}`: "p:2 q:2",
	} {
		url, query, _ := strings.Cut(path, " ")
		if got := s.find(t, url, query); strings.Join(got.ids(), " ") != want {
			t.Errorf("%s: %q, want %q", path, got.ids(), want)
		}
	}
	explained := s.must(t, "POST", "/db/_partition/p/_explain", `{"selector":{"a":1}}`)
	if !strings.Contains(explained, `"name":"scope_mismatch"`) || !strings.Contains(explained, `"partition":"p"`) ||
		!strings.Contains(explained, `"index":{"ddoc":"_design/local"`) {
		t.Error(explained)
	}
	if status, answer := s.call(t, "POST", "/db/_partition/p/_find", `{"selector":{},"partition":"q"}`); status != 400 {
		t.Error(status, answer)
	}
}

// A range of ids is read by id, also when there is an index on ids, whose rows are in another order.
func TestFind_rangeOfIDs(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db?partitioned=true", "")
	var docs []string
	for i := range 40 {
		docs = append(docs, fmt.Sprintf(`{"_id":"p:%02d"},{"_id":"q:%02d"}`, i, i))
	}
	s.must(t, "POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`)
	const query = `{"selector":{"_id":{"$gt":"p:35"}},"fields":["_id"],"sort":["_id"],"execution_stats":true,"limit":%d%s}`
	for _, index := range []string{"", `{"index":{"fields":["_id"]},"ddoc":"local"}`} {
		if index != "" {
			s.must(t, "POST", "/db/_index", index)
		}
		page := s.find(t, "/db/_partition/p/_find", fmt.Sprintf(query, 3, ""))
		if ids := strings.Join(page.ids(), " "); ids != "p:36 p:37 p:38" || page.Stats.Keys > 4 {
			t.Errorf("with the index %q: %s, %d keys", index, ids, page.Stats.Keys)
		}
		rest := s.find(t, "/db/_partition/p/_find", fmt.Sprintf(query, 9, fmt.Sprintf(`,"bookmark":%q`, page.Bookmark)))
		if ids := strings.Join(rest.ids(), " "); ids != "p:39" {
			t.Errorf("the next page with the index %q: %s", index, ids)
		}
	}
	named := s.find(t, "/db/_partition/p/_find", fmt.Sprintf(query, 9, `,"use_index":"local"`))
	if ids := strings.Join(named.ids(), " "); ids != "p:36 p:37 p:38 p:39" {
		t.Errorf("with use_index: %s", ids)
	}
}

// Members of a database query it, and its admins change indexes. Users and replications are only for server admins.
func TestFind_access(t *testing.T) {
	s := serve(t, func(o *api.Options) { o.Auth = accounts })
	for _, request := range [][3]string{{"PUT", "/db", ""}, {"PUT", "/_users", ""},
		{"PUT", "/db/_security", `{"admins":{"names":["owner"]},"members":{"roles":["staff"]}}`}} {
		if status, text := s.as(t, "root", request[0], request[1], request[2]); status >= 300 {
			t.Fatal(request, status, text)
		}
	}
	const index, remove = `{"index":{"fields":["a"]},"ddoc":"d","name":"n"}`, `{"docids":["d"]}`
	for _, c := range []struct {
		user, method, path, body string
		status                   int
	}{
		{"other", "POST", "/db/_find", `{"selector":{}}`, 403},
		{"member", "POST", "/db/_find", `{"selector":{}}`, 200},
		{"member", "POST", "/db/_explain", `{"selector":{}}`, 200},
		{"member", "GET", "/db/_index", "", 200},
		{"member", "POST", "/db/_index", index, 403},
		{"owner", "POST", "/db/_index", index, 200},
		{"member", "DELETE", "/db/_index/d/json/n", "", 403},
		{"member", "POST", "/db/_index/_bulk_delete", remove, 403},
		{"owner", "POST", "/db/_index/_bulk_delete", remove, 200},
		{"member", "POST", "/_users/_find", `{"selector":{}}`, 403},
		{"", "POST", "/_users/_find", `{"selector":{}}`, 401},
		{"root", "POST", "/_users/_find", `{"selector":{}}`, 200},
	} {
		if status, text := s.as(t, c.user, c.method, c.path, c.body); status != c.status {
			t.Errorf("%+v: %d %s", c, status, text)
		}
	}
}
