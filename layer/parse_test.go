package layer_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer"
)

func TestParseEdit(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                                     `{}`,
		` {"a":1}	`:                              `{"a":1}`,
		`{"_id":"x","a":1}`:                      `{"a":1}`,
		`{"a":1,"_id":"x"}`:                      `{"a":1}`,
		`{"a":1,"_id":"x","b":2}`:                `{"a":1,"b":2}`,
		`{"z": 1.50, "_id":"x" ,"a":1e3, "b":2}`: `{"z": 1.50,"a":1e3, "b":2}`,
		`{"\u005fid":"x","\u0061":"\ud83d\ude00"}`:  `{"\u0061":"\ud83d\ude00"}`,
		"{\"a\" : [1,\n 2],\r\n\"s\":\"a \\\" b\"}": `{"a":[1,2],"s":"a \" b"}`,
		`{"a":1,"a":2}`: `{"a":1,"a":2}`,
		`{"_revs_info":1,"_local_seq":2,"_conflicts":[],"_deleted_conflicts":[]}`: `{}`,
		`{"_replication_state":"x"}`: `{"_replication_state":"x"}`,
	} {
		e, err := layer.ParseEdit([]byte(in), false)
		if err != nil || string(e.Body) != want {
			t.Errorf("%s: body %s, %v", in, e.Body, err)
		}
	}
	h := "0123456789abcdef0123456789abcdef"
	e := edit(t, `{"_id":"\u00e9","_rev":"2-`+strings.ToUpper(h)+`","_deleted":true}`)
	if e.ID != "é" || e.Rev.String() != "2-"+h || !e.Deleted {
		t.Errorf("%+v", e)
	}
	e = replicated(t, `{"_id":"x","_revisions":{"ids":["c","b","a"],"start":5},"_rev":"9-z"}`)
	if e.Rev.String() != "5-c" || len(e.Ancestors) != 2 || e.Ancestors[1].String() != "3-a" {
		t.Errorf("%+v", e)
	}
	e = edit(t, `{"_id":"x","_revisions":{"ids":["c","b","a"],"start":5}}`)
	if e.Rev.String() != "5-c" || e.Ancestors != nil {
		t.Errorf("%+v", e)
	}
	e = edit(t,
		`{"_attachments":{"a":{"follows":true,"length":7,"encoding":"gzip","encoded_length":5,"digest":"md5-x","revpos":3,"content_type":"t"}}}`)
	wantAtt := layer.AttachmentEdit{Name: "a", ContentType: "t", Encoding: "gzip", RevPos: 3, Digest: "md5-x",
		Follows: true, Length: 5}
	if !reflect.DeepEqual(e.Attachments, []layer.AttachmentEdit{wantAtt}) {
		t.Errorf("%+v", e.Attachments)
	}
}

func TestParseEdit_bad(t *testing.T) {
	for in, name := range map[string]string{
		``: "bad_request", `{`: "bad_request", `[]`: "bad_request", `"x"`: "bad_request", `null`: "bad_request",
		`{"a":01}`:  "bad_request",
		`{"a":NaN}`: "bad_request", `{"a":"\x"}`: "bad_request", `{"a":1,}`: "bad_request", `{"a" 1}`: "bad_request",
		`{a:1}`:    "bad_request",
		`{"a":1}x`: "bad_request", "{\"a\":\"\n\"}": "bad_request", "{\"a\":\"\xff\"}": "bad_request",
		`{"a":+1}`: "bad_request", `{"a":1.}`: "bad_request",
		`{"a":"\u12g4"}`: "bad_request", `{"a":tru}`: "bad_request", `{"a":-}`: "bad_request",
		`{"a":1e}`:                             "bad_request",
		`{"a":` + strings.Repeat("[", 100_000): "bad_request",
		`{"_id":1}`:                            "illegal_docid", `{"_id":""}`: "illegal_docid",
		`{"_id":"_x"}`: "illegal_docid", `{"_id":"_design/"}`: "illegal_docid",
		`{"_id":"` + strings.Repeat("x", 513) + `"}`: "illegal_docid",
		`{"_foo":1}`: "doc_validation", `{"_deleted":1}`: "doc_validation", `{"_rev":"x"}`: "bad_request",
		`{"_rev":null}`: "bad_request",
		`{"_revisions":{"start":"1","ids":["a"]}}`:   "doc_validation",
		`{"_revisions":{"start":1,"ids":"a"}}`:       "doc_validation",
		`{"_revisions":{"start":1,"ids":[1]}}`:       "doc_validation",
		`{"_revisions":{"start":1,"ids":["a","b"]}}`: "doc_validation", `{"_revisions":1}`: "doc_validation",
		`{"_attachments":{"a":{"data":"!"}}}`: "bad_request", `{"_attachments":{"a":{}}}`: "bad_request",
		`{"_attachments":{"_a":{"data":""}}}`:                "bad_request",
		`{"_attachments":{"a":{"data":""},"a":{"data":""}}}`: "bad_request", `{"_attachments":[]}`: "doc_validation",
		`{"_attachments":{"a":{"stub":true,"encoding":"br"}}}`: "bad_request",
	} {
		_, err := layer.ParseEdit([]byte(in), true)
		var e *layer.Error
		if err == nil {
			t.Errorf("%.50s is accepted", in)
		} else if !errors.As(err, &e) || e.Kind != layer.Invalid || e.Name != name {
			t.Errorf("%.50s: %v", in, err)
		}
	}
}

// Every object that encoding/json accepts is accepted with the same meaning, and what it refuses is refused.
func FuzzParseEdit(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":null}],"_id":"x"}`, `{"a":"\u0000\"","b":-0.1E+9}`, "{\n}",
		`{"_rev":"1-a","x":true,"_deleted":false}`, `{"a":1,}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		e, err := layer.ParseEdit(in, false)
		var want map[string]json.RawMessage
		stdErr := json.Unmarshal(in, &want)
		if err != nil {
			return // there are more reasons to refuse than in encoding/json
		}
		if stdErr != nil {
			t.Fatalf("%q is taken, encoding/json says %v", in, stdErr)
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(e.Body, &got); err != nil {
			t.Fatalf("%q became %q: %v", in, e.Body, err)
		}
		for k, v := range got {
			if decode(t, v) != decode(t, want[k]) {
				t.Fatalf("%q: member %q is %s, was %s", in, k, v, want[k])
			}
		}
		for k := range want {
			if _, ok := got[k]; !ok && !strings.HasPrefix(k, "_") {
				t.Fatalf("%q lost %q", in, k)
			}
		}
	})
}

func decode(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	out, _ := json.Marshal(v)
	return string(out)
}

func TestParseEdit_agreesWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.StringOf(rapid.SampledFrom([]rune(`{}[]",:\u0041-+.eE9 truefalsn`))).Draw(t, "in")
		doc := `{"a":` + in + `}`
		_, err := layer.ParseEdit([]byte(doc), false)
		if valid := json.Valid([]byte(doc)); valid != (err == nil) {
			t.Fatalf("%s: valid %t, %v", doc, valid, err)
		}
	})
}

func TestSeq(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) layer.Seq {
			var s layer.Seq
			s.Incarnation = rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 1<<40)).Draw(t, name)
			copy(s.Stamp[:], rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, name))
			return s
		}
		a, b := draw("a"), draw("b")
		if got := strings.Compare(a.String(), b.String()); got != a.Compare(b) {
			t.Fatalf("%v and %v compare %d as strings and %d as sequences", a, b, got, a.Compare(b))
		}
		if back, err := layer.ParseSeq(a.String()); err != nil || back != a {
			t.Fatalf("%v came back as %v, %v", a, back, err)
		}
		if a.Incarnation == 0 && a != (layer.Seq{}) && len(a.String()) != 26 {
			t.Fatalf("%s has not 26 characters", a)
		}
	})
	for _, bad := range []string{"", "1", "x", "now", "14", strings.Repeat("0", 26), "1500" + strings.Repeat("0", 24),
		"14" + strings.Repeat("A", 24), "14" + strings.Repeat("0", 26)} {
		if s, err := layer.ParseSeq(bad); err == nil {
			t.Errorf("%q is read as %v", bad, s)
		}
	}
}
