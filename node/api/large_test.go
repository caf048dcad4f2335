package api_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
)

// Documents of all sizes around the store's chunk size are answered as they were written, by every kind of request.
// Large bodies are copied from the store in pieces.
func TestLargeDocuments(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	s.must(t, "PUT", "/db/_design/x", `{"views":{"v":{"map":"function (doc) { if (doc.n) emit(doc.n, null) }"}}}`)
	want := map[string]string{}
	for _, size := range []int{10, 99_900, 99_990, 100_000, 100_010, 199_990, 200_000, 400_000, 400_010,
		500_000, 1_000_000} {
		for name, form := range map[string]string{"plain": `{"n":%d,"text":"%s"}`,
			"wide": ` { "n" : %d , "text" : "%s" } `, "tail": `{"text":"%[2]s","n":%[1]d}`} {
			id := fmt.Sprintf("%s-%07d", name, size)
			text := fmt.Sprintf(form, size, strings.Repeat("é\\n", size/4))
			s.must(t, "PUT", "/db/"+id, text)
			want[id] = text
		}
	}
	spaces := fmt.Sprintf(`{%s}`, strings.Repeat(" ", 300_000)) // a large body without members
	s.must(t, "PUT", "/db/spaces", spaces)
	want["spaces"] = spaces
	data := strings.Repeat("x", 1000)
	s.must(t, "PUT", "/db/attached", `{"text":"`+strings.Repeat("y", 250_000)+
		`","_attachments":{"a":{"data":"`+base64.StdEncoding.EncodeToString([]byte(data))+`"}}}`)

	same := func(what string, doc map[string]any, id string) {
		t.Helper()
		if doc == nil || doc["_id"] != id || doc["_rev"] == nil {
			t.Fatalf("%s of %s: %.200v", what, id, doc)
		}
		var expected map[string]any
		if err := json.Unmarshal([]byte(want[id]), &expected); err != nil {
			t.Fatal(err)
		}
		for name, value := range expected {
			if doc[name] != value {
				t.Errorf("%s of %s: %s differs", what, id, name)
			}
		}
		if len(doc) != len(expected)+2 {
			t.Errorf("%s of %s: %d members", what, id, len(doc))
		}
	}
	for id := range want {
		var doc map[string]any
		if err := json.Unmarshal([]byte(s.must(t, "GET", "/db/"+id, "")), &doc); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		same("GET", doc, id)
	}
	type rows struct {
		Rows, Results []struct {
			ID   string
			Doc  map[string]any
			Docs []struct{ OK map[string]any }
		}
	}
	var refs []string
	for id := range want {
		refs = append(refs, `{"id":"`+id+`"}`)
	}
	for what, text := range map[string]string{
		"_all_docs": s.must(t, "GET", "/db/_all_docs?include_docs=true", ""),
		"_changes":  s.must(t, "GET", "/db/_changes?include_docs=true", ""),
		"view":      s.must(t, "GET", "/db/_design/x/_view/v?include_docs=true", ""),
		"_bulk_get": s.must(t, "POST", "/db/_bulk_get", `{"docs":[`+strings.Join(refs, ",")+`]}`),
	} {
		var r rows
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		seen := 0
		for _, row := range append(r.Rows, r.Results...) {
			if _, ok := want[row.ID]; ok {
				seen++
				doc := row.Doc
				if what == "_bulk_get" {
					doc = row.Docs[0].OK
				}
				same(what, doc, row.ID)
			}
		}
		if wanted := len(want); seen != wanted && (what != "view" || seen != wanted-1) {
			t.Errorf("%s: %d rows", what, seen)
		}
	}

	// With data, as JSON and as multipart.
	for _, path := range []string{"/db/attached?attachments=true", `/db/attached?open_revs=all&attachments=true`} {
		text := s.must(t, "GET", path, "")
		if !json.Valid([]byte(text)) || !strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(data))) ||
			strings.Count(text, "y") < 250_000 {
			t.Errorf("%s: %.300s", path, text)
		}
	}
	res, err := http.DefaultClient.Do(askFor(t, s.URL+"/db/attached?attachments=true", "Accept", "multipart/related"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	_, params, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts := multipart.NewReader(res.Body, params["boundary"])
	for i, check := range []func(string) bool{
		func(text string) bool { return json.Valid([]byte(text)) && len(text) > 250_000 },
		func(text string) bool { return text == data },
	} {
		part, err := parts.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(part); err != nil || !check(string(text)) {
			t.Errorf("part %d: %v %.100s", i, err, text)
		}
	}
	if n, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Error(n, err)
	}
}

func askFor(t *testing.T, url, name, value string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(name, value)
	return r
}

// A document with many leaves, some of them large, is answered leaf by leaf.
func TestLargeDocuments_ManyLeaves(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	const leaves = 90
	for i := range leaves {
		s.must(t, "PUT", "/db/doc?new_edits=false",
			fmt.Sprintf(`{"_rev":"1-%032x","text":"%s"}`, i+1, strings.Repeat("x", i%3*60_000)))
	}
	s.must(t, "PUT", "/db/other", `{}`)
	check := func(what string, docs []struct{ OK map[string]any }) {
		t.Helper()
		seen := map[any]bool{}
		for _, d := range docs {
			rev, _ := d.OK["_rev"].(string)
			var i int
			if _, err := fmt.Sscanf(rev, "1-%x", &i); err != nil {
				t.Fatalf("%s: %.200v", what, d.OK)
			}
			if text, _ := d.OK["text"].(string); len(text) != (i-1)%3*60_000 {
				t.Errorf("%s: %s has %d bytes", what, rev, len(text))
			}
			seen[rev] = true
		}
		if len(seen) != leaves || len(docs) != leaves {
			t.Errorf("%s: %d leaves, %d of them different", what, len(docs), len(seen))
		}
	}
	var open []struct{ OK map[string]any }
	if err := json.Unmarshal([]byte(s.must(t, "GET", "/db/doc?open_revs=all", "")), &open); err != nil {
		t.Fatal(err)
	}
	check("open_revs", open)
	var bulk struct {
		Results []struct {
			ID   string
			Docs []struct{ OK, Error map[string]any }
		}
	}
	text := s.must(t, "POST", "/db/_bulk_get",
		`{"docs":[{"id":"none"},{"id":"doc"},{"id":"_x"},{"id":"other"},{"id":"doc"}]}`)
	if err := json.Unmarshal([]byte(text), &bulk); err != nil {
		t.Fatal(err)
	}
	if n := len(bulk.Results); n != 5 || bulk.Results[0].Docs[0].Error == nil || bulk.Results[2].Docs[0].Error == nil ||
		bulk.Results[3].Docs[0].OK["_id"] != "other" {
		t.Fatalf("%d results: %.1000s", n, text)
	}
	for _, i := range []int{1, 4} {
		var docs []struct{ OK map[string]any }
		for _, d := range bulk.Results[i].Docs {
			docs = append(docs, struct{ OK map[string]any }{d.OK})
		}
		check("_bulk_get", docs)
	}
	res, err := http.DefaultClient.Do(askFor(t, s.URL+"/db/doc?open_revs=all", "Accept", "multipart/mixed"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if n := strings.Count(string(all), "Content-Type: application/json\r\n"); err != nil || n != leaves {
		t.Errorf("multipart: %d parts, %v", n, err)
	}
}
