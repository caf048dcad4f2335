package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/divandb/divan/node/api"
)

// FuzzParseBulk holds the bracket matcher of _bulk_docs against encoding/json: it finds the same documents in what is JSON, and what is no JSON is
// refused by it or in one of the documents that it cut out.
func FuzzParseBulk(f *testing.F) {
	for _, s := range []string{
		`{"docs":[]}`, `{"docs":[{"a":1}, {"b":[1,{"c":"]}"}]}]}`, `{"new_edits":false,"docs":[1,"x",null]}`, ` { "docs" : [ 1 , 2 ] } `,
		`{"docs":[1 2]}`, `{"docs":[1,]}`, `{"docs":[{"a":"\"}"}]}`, `{"x":"\\","docs":[[]]}`, `{"docs":[1]}}`, `{"docs":{"a":1}}`, `[]`, `{"docs":["`, `{"docs":[{]}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		docs, err := api.ParseBulk(text)
		if !json.Valid(text) || !utf8.Valid(text) {
			if err == nil && !slices.ContainsFunc(docs, func(d []byte) bool { return !json.Valid(d) || !utf8.Valid(d) }) {
				t.Fatalf("taken although it is no JSON: %q, documents %q", text, docs)
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
		_, err := api.ParseBulk([]byte(body))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestSplitPath(t *testing.T) {
	for path, want := range map[string]string{
		"/":                          "",
		"/db":                        "db",
		"//db///doc/":                "db|doc",
		"/a%2Fb/c%2Fd":               "a/b|c/d",
		"/db/_design/x/_view/y":      "db|_design|x|_view|y",
		"/db/_design%2Fx/_view/y":    "db|_design|x|_view|y",
		"/db/_design%2fa%2Fb/_info":  "db|_design|a/b|_info",
		"/db/_local%2Fx":             "db|_local|x",
		"/db/_design%2F":             "db|_design",
		"/db/doc/a/b%2Fc":            "db|doc|a|b/c",
		"/db/a+b":                    "db|a b",
		"/db/a%2Bb":                  "db|a+b",
		"/_design%2Fx/_design%2Fx/y": "_design/x|_design|x|y",
	} {
		got, ok := api.SplitPath(path)
		if !ok || strings.Join(got, "|") != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	for _, bad := range []string{"/%", "/db/%2", "/db/%zz"} {
		if got, ok := api.SplitPath(bad); ok {
			t.Errorf("%s: %q", bad, got)
		}
	}
}

func TestParseQuery(t *testing.T) {
	for raw, want := range map[string]string{
		"":                     "",
		"a=1&b=2":              "a|1|b|2",
		"a=1;b=2":              "a|1|b|2",
		"a":                    "a|",
		"a=b=c&a=d":            "a|b=c|a|d",
		"key=%22x+y%22&&x=%2B": `key|"x y"|x|+`,
	} {
		got, ok := api.ParseQuery(raw)
		if !ok || strings.Join(got, "|") != want {
			t.Errorf("%s: %q", raw, got)
		}
	}
	if got, ok := api.ParseQuery("a=%z1"); ok {
		t.Error(got)
	}
}

// FuzzAppendString: what is written is JSON, and the same text again.
func FuzzAppendString(f *testing.F) {
	f.Add("plain")
	f.Add("\"\\\n\x00\x1fü\u2028\U0001F600")
	f.Add("\xff\xfe")
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		if err := json.Unmarshal(api.AppendString(nil, s), &back); err != nil || back != strings.ToValidUTF8(string([]rune(s)), "\ufffd") {
			t.Fatalf("%q became %q: %v", s, back, err)
		}
	})
}
