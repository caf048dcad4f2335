package api

import (
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// params are the query parameters in the order they came.
type params []param

type param struct{ name, value string }

// parseQuery reads a raw query string. Both & and ; separate, as in CouchDB's HTTP server. ok is false for a broken escape.
func parseQuery(raw string) (ps params, ok bool) {
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
		ps = append(ps, param{name, value})
	}
	return ps, true
}

// get returns the first value of a parameter, or what is given where there is none.
func (ps params) get(name, absent string) string {
	for _, p := range ps {
		if p.name == name {
			return p.value
		}
	}
	return absent
}

func (ps params) has(name string) bool {
	for _, p := range ps {
		if p.name == name {
			return true
		}
	}
	return false
}

// quoted writes v as Erlang prints a string, which is what CouchDB's messages show.
func quoted(v string) string {
	if v == "" {
		return "[]"
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v) + `"`
}

// jsonParam reads a parameter whose value is JSON. The zero Result is an absent one.
func (ps params) json(name string) (gjson.Result, error) {
	if !ps.has(name) {
		return gjson.Result{}, nil
	}
	return parseJSONText(ps.get(name, ""))
}

func parseJSONText(text string) (gjson.Result, error) {
	if !depthWithin([]byte(text), maxDepth) || !utf8.ValidString(text) || !gjson.Valid(text) {
		return gjson.Result{}, errInvalidJSON
	}
	return gjson.Parse(text), nil
}
