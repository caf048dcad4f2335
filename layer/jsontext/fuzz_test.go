package jsontext_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/divandb/divan/layer/jsontext"
)

var texts = []string{
	`null`, `true`, ` false `, `0`, `-0`, `-1.5e+10`, `1E3`, `01`, `1.`, `.5`, `+1`, `-`, `1e`, `""`, `"a\"b"`,
	`"\u00e9"`,
	`"\ud83d\ude00"`, `"\ud83d"`, `"\ude00"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\x"`, `"\u12g4"`, `"`, `"\`, "\"\n\"",
	`[]`, `[1,2]`,
	`[1,]`, `[,1]`, `[1 2]`, `{}`, `{"a":1}`, `{"a":{"b":[{}]},"a":2}`, `{"a":1,}`, `{a:1}`, `{"a"}`, `{"a":}`,
	`{"a":1`, `[`, `]`,
	`nul`, `nulll`, ``, ` `, "{\r\n\"a\" :\t[ 1 , 2 ] }", "\"\xff\"", "\"\xed\xa0\x80\"", `{"a\u0062":1}`,
	strings.Repeat("[", 999) + strings.Repeat("]", 999), strings.Repeat("[", 1001) + strings.Repeat("]", 1001),
}

// FuzzScanner compares what is accepted with encoding/json, which accepts halves of surrogate pairs and any depth.
func FuzzScanner(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 100_000 || !jsontext.Within(text, 9000) {
			t.Skip("deeper than encoding/json reads")
		}
		s := jsontext.Scanner{Text: text, Halves: true}
		ok := s.Value(0) && s.AtEnd()
		if want := json.Valid(text); ok != want && !(want && s.Deep && !jsontext.Within(text, jsontext.MaxDepth)) {
			t.Fatalf("%q is accepted: %v, valid: %v", text, ok, want)
		}
		if !ok || !utf8.Valid(text) {
			return
		}
		begin := jsontext.SkipSpace(text, 0)
		end, whole := jsontext.SkipValue(text, begin, math.MaxInt)
		if !whole || jsontext.SkipSpace(text, end) != len(text) {
			t.Fatalf("%q is skipped from %d to %d, %v", text, begin, end, whole)
		}
		var want bytes.Buffer
		if err := json.Compact(&want, text); err != nil {
			t.Fatal(err)
		}
		if got := jsontext.AppendCompact(nil, text); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("%q is %q compact, not %q", text, got, &want)
		}
		scanMembers(t, text)
	})
}

// scanMembers compares the members of a valid text with encoding/json's.
func scanMembers(t *testing.T, text []byte) {
	got := map[string]string{}
	o, err := jsontext.ScanMembers(text, func(m jsontext.Member) {
		name, _ := jsontext.Unquote(text[m.Key:m.KeyEnd])
		got[name] = string(text[m.Value:m.End])
	})
	var want map[string]json.RawMessage
	trimmed := bytes.TrimSpace(text)
	switch {
	case err == nil && trimmed[0] == '{':
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) || !bytes.Equal(text[o.Begin:o.End], trimmed) {
			t.Fatalf("%q has members %q, %+v", text, got, o)
		}
		for name, value := range want {
			if got[name] != string(value) {
				t.Fatalf("%q has the member %q with %q", text, name, got[name])
			}
		}
	case err == nil || errors.Is(err, jsontext.ErrNotObject) != (trimmed[0] != '{') && !hasHalf(text):
		t.Fatalf("%q: %v", text, err)
	}
}

// hasHalf reports whether a Scanner refuses the text for half a surrogate pair.
func hasHalf(text []byte) bool {
	s := jsontext.Scanner{Text: text}
	return !s.Value(0)
}

// FuzzStrings compares reading and writing of strings with encoding/json.
func FuzzStrings(f *testing.F) {
	for _, text := range []string{"", "a", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "é€😀", "\xff", "a\xed\xa0\x80b",
		"\u2028<>&"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quoted := jsontext.AppendQuoted(nil, text)
		if other := jsontext.AppendQuoted(nil, []byte(text)); !bytes.Equal(quoted, other) {
			t.Fatalf("%q is %q as a string and %q as bytes", text, quoted, other)
		}
		var want string
		if err := json.Unmarshal(quoted, &want); err != nil {
			t.Fatalf("%q is written as %q: %v", text, quoted, err)
		}
		if utf8.ValidString(text) && want != text {
			t.Fatalf("%q is written as %q, which is %q", text, quoted, want)
		}
		if got, ok := jsontext.Unquote(quoted); !ok || got != want {
			t.Fatalf("%q is %q, %v", quoted, got, ok)
		}
		escaped, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := jsontext.Unquote(escaped); !ok || got != want && utf8.ValidString(text) {
			t.Fatalf("%q is %q, %v", escaped, got, ok)
		}
	})
}

func TestAppendUnescaped_half(t *testing.T) {
	for _, c := range []struct {
		in, replaced, kept string
		ok                 bool
	}{
		{`a\ud800b`, "a\ufffdb", "a\xed\xa0\x80b", true},
		{`\ud800\ud83d\ude00`, "\ufffd😀", "\xed\xa0\x80😀", true},
		{`\udc00`, "\ufffd", "\xed\xb0\x80", true},
		{`a\u00`, "a", "a", false},
		{`a\`, "a", "a", false},
	} {
		replaced, ok := jsontext.AppendUnescaped(nil, c.in, jsontext.ReplaceHalf)
		if string(replaced) != c.replaced || ok != c.ok {
			t.Errorf("%q with halves replaced: %q, %v", c.in, replaced, ok)
		}
		kept, ok := jsontext.AppendUnescaped(nil, c.in, jsontext.KeepHalf)
		if string(kept) != c.kept || ok != c.ok {
			t.Errorf("%q with halves kept: %q, %v", c.in, kept, ok)
		}
	}
	if got := jsontext.AppendQuoted(nil, "a\xed\xa0\x80b\xffc"); string(got) != "\"a\ufffdb\ufffdc\"" {
		t.Errorf("a half and a byte that is not UTF-8 are written as %q", got)
	}
}

func TestMembers(t *testing.T) {
	for _, c := range []struct {
		text string
		a, b string
		ok   bool
	}{
		{`{"a":1, "c":{"a":2}, "b":[ ]}`, "1", "[ ]", true},
		{`{}`, "", "", true},
		{`{"a":1,"a":2}`, "1", "", false},
		{`{"c":1,"c":2}`, "", "", true},
		{`{"\u0061":1}`, "", "", false},
		{`[]`, "", "", false},
		{`{"a":1}x`, "1", "", false},
		{`{"a":[[[[]]]]}`, "", "", false},
	} {
		into := make([][]byte, 2)
		ok := jsontext.Members([]byte(c.text), 4, []string{"a", "b"}, into)
		if ok != c.ok || ok && (string(into[0]) != c.a || string(into[1]) != c.b) {
			t.Errorf("%s: %q, %v", c.text, into, ok)
		}
	}
	if v, ok := jsontext.FindMember([]byte(`{"a":{"b":1}} and more`), 4, "a"); string(v) != `{"b":1}` || !ok {
		t.Errorf("found %q, %v", v, ok)
	}
}

func BenchmarkScanMembers(b *testing.B) {
	text := []byte(`{"_id":"5e1f","country":"AD","name":"Sant Julià de Lòria","lat":"42.46372","lng":"1.49129","admin1":"06",` +
		`"tags":["a","b","c"],"nested":{"a":1.5,"b":[true,false,null]}}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := jsontext.ScanMembers(text, func(jsontext.Member) {}); err != nil {
			b.Fatal(err)
		}
	}
}
