package call

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/node/api/internal/decode"
)

// Params are the query parameters in their original order.
type Params []Param

// Param is one of them.
type Param struct{ Name, Value string }

// ParseQuery parses a raw query string. As in CouchDB's HTTP server, both & and ; are separators. ok is false for an
// invalid escape.
func ParseQuery(raw string) (ps Params, ok bool) { return parse(raw, Unescape) }

// ParseForm parses the body of a form, in which an invalid escape stands for itself, as in CouchDB.
func ParseForm(raw string) Params {
	form, _ := parse(raw, func(s string) (string, bool) { return unescape(s, false) })
	return form
}

func parse(raw string, unescape func(string) (string, bool)) (ps Params, ok bool) {
	for len(raw) > 0 {
		part := raw
		if i := strings.IndexAny(raw, "&;"); i >= 0 {
			part, raw = raw[:i], raw[i+1:]
		} else {
			raw = ""
		}
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		name, ok1 := unescape(name)
		value, ok2 := unescape(value)
		if !ok1 || !ok2 {
			return nil, false
		}
		ps = append(ps, Param{name, value})
	}
	return ps, true
}

// Get returns the first value of a parameter, or absent if there is none.
func (ps Params) Get(name, absent string) string {
	for _, p := range ps {
		if p.Name == name {
			return p.Value
		}
	}
	return absent
}

// Has reports whether a parameter of that name exists.
func (ps Params) Has(name string) bool {
	for _, p := range ps {
		if p.Name == name {
			return true
		}
	}
	return false
}

// Json parses a parameter whose value is JSON. An absent parameter is the zero Result.
func (ps Params) Json(name string) (gjson.Result, error) {
	if !ps.Has(name) {
		return gjson.Result{}, nil
	}
	return decode.Text(ps.Get(name, ""))
}
