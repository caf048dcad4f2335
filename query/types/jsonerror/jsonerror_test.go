package jsonerror

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/divandb/divan/query/sqlstate"
)

// TestOf has PostgreSQL 15's details and contexts.
func TestOf(t *testing.T) {
	for _, c := range []struct{ text, detail, context string }{
		{``, `The input string ended unexpectedly.`, `JSON data, line 1: `},
		{`{"a":1`, `The input string ended unexpectedly.`, `JSON data, line 1: {"a":1`},
		{`{"a":1,}`, `Expected string, but found "}".`, `JSON data, line 1: {"a":1,}`},
		{`{1:2}`, `Expected string or "}", but found "1".`, `JSON data, line 1: {1...`},
		{`{"a" 1}`, `Expected ":", but found "1".`, `JSON data, line 1: {"a" 1...`},
		{`{"a":1 "b"}`, `Expected "," or "}", but found ""b"".`, `JSON data, line 1: {"a":1 "b"...`},
		{`[1 2]`, `Expected "," or "]", but found "2".`, `JSON data, line 1: [1 2...`},
		{`[,]`, `Expected JSON value, but found ",".`, `JSON data, line 1: [,...`},
		{`1 2`, `Expected end of input, but found "2".`, `JSON data, line 1: 1 2`},
		{`01`, `Token "01" is invalid.`, `JSON data, line 1: 01`},
		{`1.`, `Token "1." is invalid.`, `JSON data, line 1: 1.`},
		{`1e+`, `Token "1e+" is invalid.`, `JSON data, line 1: 1e+`},
		{`-`, `Token "-" is invalid.`, `JSON data, line 1: -`},
		{`?x`, `Token "?" is invalid.`, `JSON data, line 1: ?...`},
		{`"abc`, `Token ""abc" is invalid.`, `JSON data, line 1: "abc`},
		{`"\`, `Token ""\" is invalid.`, `JSON data, line 1: "\`},
		{`"\u12`, `Token ""\u12" is invalid.`, `JSON data, line 1: "\u12`},
		{`"\u00zz"`, `"\u" must be followed by four hexadecimal digits.`, `JSON data, line 1: "\u00z...`},
		{`"\é"`, `Escape sequence "\é" is invalid.`, `JSON data, line 1: "\é...`},
		{"\"a\nb\"", `Character with value 0x0a must be escaped.`, `JSON data, line 1: "a`},
		{"{\"a\":\n\n tru}", `Token "tru" is invalid.`, `JSON data, line 3:  tru...`},
		{`["` + strings.Repeat("é", 40) + `", x]`, `Token "x" is invalid.`,
			`JSON data, line 1: ...` + strings.Repeat("é", 22) + `", x...`},
	} {
		err := Of(c.text)
		var e *sqlstate.Error
		if !errors.As(err, &e) {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if e.Code != sqlstate.InvalidTextRepresentation || e.Detail != c.detail || e.Context != c.context {
			t.Errorf("%q\n got %s %s, %q\nwant %s, %q", c.text, e.Code, e.Detail, e.Context, c.detail, c.context)
		}
	}
}

// FuzzOf checks that a text that is refused has an error.
func FuzzOf(f *testing.F) {
	for _, s := range []string{`{"a":[1,"\u00e9",tru]}`, `[[[[`, `{"a"`, "\"\x01\"", `-e`, "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if json.Valid([]byte(s)) {
			return
		}
		if e := sqlstate.From(Of(s)); e.Code != sqlstate.InvalidTextRepresentation && len(s) < maxDepth {
			t.Errorf("%q: %v", s, e)
		}
	})
}
