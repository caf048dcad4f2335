package selector_test

import (
	"errors"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/selector"
)

// The expected results are those of CouchDB 3.5, except that it answers 500 to the two malformed lists.
func TestFields_Append(t *testing.T) {
	const doc = `{"_id":"f","type":"z","a":{"b":1,"c":[{"d":1.50}]},"x.y":2,"n":null,"<&>\u2028":3}`
	for fields, want := range map[string]string{
		`["_id"]`:             `{"_id":"f"}`,
		`["type","_id"]`:      `{"type":"z","_id":"f"}`,
		`["a.b"]`:             `{"a":{"b":1}}`,
		`["a.b","_id","a.c"]`: `{"a":{"b":1,"c":[{"d":1.50}]},"_id":"f"}`,
		`["none","a.none"]`:   `{}`,
		`["a","a.b"]`:         `{"a":{"b":1,"c":[{"d":1.50}]}}`,
		`["a.b","a"]`:         `{"a":{"b":1,"c":[{"d":1.50}]}}`,
		`["x\\.y"]`:           `{"x.y":2}`,
		`["<&>\u2028"]`:       "{\"<&>\u2028\":3}", // escaped only where JSON requires it
		`["a.c.0.d"]`:         `{"a":{"c":{"0":{"d":1.50}}}}`,
		`["a.c.[0]","n"]`:     `{"n":null}`,
		`["type.x","type"]`:   `{"type":"z"}`,
		`["type","type"]`:     `{"type":"z"}`,
		`[]`:                  `all`,
		`5`:                   `Fields must be an array of strings, not: 5`,
		`null`:                `Fields must be an array of strings, not: null`,
		`["a",5]`:             `Invalid JSON for field spec: 5`,
		`["a..b"]`:            `Invalid field name: a..b`,
		`[""]`:                `Invalid field name: `,
	} {
		f, err := selector.ParseFields(gjson.Parse(fields))
		got := "all"
		var wrong *selector.Error
		switch {
		case errors.As(err, &wrong):
			got = wrong.Reason
		case err != nil:
			t.Errorf("%s: %v", fields, err)
		case f != nil:
			got = string(f.Append(nil, []byte(doc)))
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", fields, got, want)
		}
	}
}
