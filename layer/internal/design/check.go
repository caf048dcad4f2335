package design

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/internal/fault"
)

// designMember lists the permitted types of a member of a design document, as CouchDB validates them. Members that are
// not listed may have any type.
type designMember struct {
	name  string
	types []string
	// values are the permitted types of its members, if it is an object; nil means any.
	values []string
}

var designMembers = []designMember{
	{"language", []string{"string"}, nil},
	{"options", []string{"object", "array"}, nil}, // rfc-008 uses an array
	{"views", []string{"object"}, []string{"object"}},
	{"validate_doc_update", []string{"string"}, nil},
	{"filters", []string{"object"}, []string{"string", "object"}},
	{"updates", []string{"object"}, []string{"string", "object"}},
	{"shows", []string{"object"}, []string{"string", "object"}},
	{"lists", []string{"object"}, []string{"string", "object"}},
	{"rewrites", []string{"string", "array"}, nil},
}

// The number of functions is limited, because each view is compiled and each function is kept in memory.
const (
	maxViews     = 1000
	maxFunctions = 10_000 // for each of filters, updates, shows and lists
)

// checkDesignMembers returns Invalid (invalid_design_doc), with CouchDB's message, for a design document with a member
// of the wrong type.
func checkDesignMembers(body []byte) error {
	doc := gjson.ParseBytes(body)
	if !doc.IsObject() {
		return fault.Errf(fault.Invalid, "invalid_design_doc", "design document must be an object")
	}
	var err error
	doc.ForEach(func(name, value gjson.Result) bool {
		i := slices.IndexFunc(designMembers, func(m designMember) bool { return m.name == name.Str })
		if i < 0 {
			return true
		}
		m := &designMembers[i]
		if err = checkType(m.name, value, m.types); err != nil || m.values == nil {
			return err == nil
		}
		count, most := 0, maxFunctions
		if m.name == "views" {
			most = maxViews
		}
		value.ForEach(func(key, inner gjson.Result) bool {
			if count++; count > most {
				err = fault.Errf(fault.Invalid, "invalid_design_doc", "`%s` field must have at most %d members", m.name,
					most)
				return false
			}
			err = checkType(m.name+"."+key.Str, inner, m.values)
			return err == nil
		})
		return err == nil
	})
	return err
}

func checkType(path string, value gjson.Result, types []string) error {
	if slices.Contains(types, jsonType(value)) {
		return nil
	}
	return fault.Errf(fault.Invalid, "invalid_design_doc", "`%s` field must have %s type", path,
		strings.Join(slices.DeleteFunc(slices.Clone(types), func(t string) bool {
			return t == "array" && path == "options"
		}), " or "))
}

func jsonType(value gjson.Result) string {
	switch {
	case value.IsObject():
		return "object"
	case value.IsArray():
		return "array"
	case value.Type == gjson.String:
		return "string"
	}
	return strings.ToLower(value.Type.String())
}
