package docs

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParseBulk compares the bracket matcher of _bulk_docs with encoding/json. In valid JSON both find the same
// documents. Invalid JSON is refused by the matcher or in one of the documents that it found.
func FuzzParseBulk(f *testing.F) {
	for _, s := range []string{
		`{"docs":[]}`, `{"docs":[{"a":1}, {"b":[1,{"c":"]}"}]}]}`, `{"new_edits":false,"docs":[1,"x",null]}`,
		` { "docs" : [ 1 , 2 ] } `,
		`{"docs":[1 2]}`, `{"docs":[1,]}`, `{"docs":[{"a":"\"}"}]}`, `{"x":"\\","docs":[[]]}`, `{"docs":[1]}}`,
		`{"docs":{"a":1}}`, `[]`, `{"docs":["`, `{"docs":[{]}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := parseBulk(text, 100_000)
		docs := b.docs
		if !json.Valid(text) || !utf8.Valid(text) {
			if err == nil &&
				!slices.ContainsFunc(docs, func(d []byte) bool { return !json.Valid(d) || !utf8.Valid(d) }) {
				t.Fatalf("accepted although it is not JSON: %q, documents %q", text, docs)
			}
			return
		}
		var body struct {
			Docs     []json.RawMessage `json:"docs"`
			NewEdits *bool             `json:"new_edits"`
		}
		if err != nil || json.Unmarshal(text, &body) != nil || strings.Count(string(text), "docs") != 1 {
			return
		}
		if len(docs) != len(body.Docs) {
			t.Fatalf("%q: %d documents, want %d", text, len(docs), len(body.Docs))
		}
		for i := range docs {
			if string(docs[i]) != string(body.Docs[i]) {
				t.Fatalf("%q: document %d is %q, want %q", text, i, docs[i], body.Docs[i])
			}
		}
	})
}

func TestParseBulk_RefusesValidBodiesOnlyForAReason(t *testing.T) {
	for body, want := range map[string]string{
		`{"docs":[{"a":1}]}`:               "",
		`{"docs":[{}],"docs":[]}`:          "",
		`{"docs":[],"docs":5}`:             "bad_request: `docs` parameter must be an array.",
		`{"DOCS":[]}`:                      "bad_request: POST body must include `docs` parameter.",
		`{"docs":[],"new_edits":null}`:     "bad_request: `new_edits` parameter must be a boolean.",
		`{"docs":[]} x`:                    "bad_request: invalid UTF-8 JSON",
		``:                                 "bad_request: invalid UTF-8 JSON",
		`{"d\u006fcs":[{}]}`:               "",
		`{"docs":[{},1]}`:                  "bad_request: Document must be a JSON object",
		`{"other":{"docs":[1]},"docs":[]}`: "",
	} {
		_, err := parseBulk([]byte(body), 100_000)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
