package types

import (
	"encoding/json"
	"errors"
	"strings"
	"unsafe"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types/jsonerror"
)

// ParseJSON checks a JSON text and stores it unchanged.
func ParseJSON(text string) (Datum, error) {
	if !json.Valid(unsafe.Slice(unsafe.StringData(text), len(text))) || text == "" {
		return Null, jsonerror.Of(text)
	}
	return NewJSONText(strings.TrimSpace(text)), nil
}

// CompareJSON compares two JSON texts by CouchDB's collation, as a view does.
func CompareJSON(a, b string) (int, error) { return compareJSON(a, b, nil) }

func compareJSON(a, b string, step Step) (int, error) {
	c, err := collate.CompareStepping(bytesOf(a), bytesOf(b), step)
	if err == nil || !badKey(err) {
		return c, err
	}
	return 0, &sqlstate.Error{Code: sqlstate.InvalidParameterValue,
		Message: "jsonb value cannot be compared: " + err.Error(), Err: err}
}

// badKey reports whether err is about the value rather than an error of a step.
func badKey(err error) bool {
	return errors.Is(err, collate.ErrSyntax) || errors.Is(err, collate.ErrDepth) || errors.Is(err, collate.ErrRange)
}

// bytesOf returns the bytes of a string without a copy. They must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// JSONContains is the operator @>. For arrays it takes time proportional to the product of their lengths.
func JSONContains(a, b string, step Step) (bool, error) {
	ka, kb := JSONKindOf(a), JSONKindOf(b)
	// An array may contain a scalar, but only at the top level (PostgreSQL 8.14.3).
	if ka == JSONList && kb != JSONList && kb != JSONObject {
		return arrayHas(a, b, step)
	}
	return contains(a, b, step)
}

func contains(a, b string, step Step) (bool, error) {
	ka, kb := JSONKindOf(a), JSONKindOf(b)
	if ka != kb {
		return false, nil
	}
	ok := true
	var err error
	switch ka {
	case JSONObject:
		members := indexMembers(a, b)
		JSONMembers(b, func(k, v string) bool {
			if err = step.took(len(k) + len(v)); err != nil {
				return false
			}
			inner, found := members(JSONUnquote(k))
			if ok = found; found {
				ok, err = contains(inner, v, step)
			}
			return ok && err == nil
		})
	case JSONList:
		JSONElements(b, func(v string) bool {
			ok, err = arrayHas(a, v, step)
			return ok && err == nil
		})
	default:
		ok, err = jsonScalarEqual(a, b)
	}
	return ok && err == nil, err
}

// indexMembers returns a function that finds members of the object s by name. If both texts are long, s is read only
// once.
func indexMembers(s, asking string) func(name string) (string, bool) {
	const few = 4 << 10
	if len(s) < few || len(asking) < few {
		return func(name string) (string, bool) { return JSONField(s, name) }
	}
	index := map[string]string{}
	JSONMembers(s, func(k, v string) bool { index[JSONUnquote(k)] = v; return true })
	return func(name string) (string, bool) { v, ok := index[name]; return v, ok }
}

func arrayHas(list, v string, step Step) (bool, error) {
	has := false
	var err error
	JSONElements(list, func(e string) bool {
		if err = step.took(itemBytes + len(e)); err != nil {
			return false
		}
		has, err = contains(e, v, step)
		return !has && err == nil
	})
	return has, err
}

// jsonScalarEqual compares scalars exactly. Strings that only collate as equal are different here, unlike as keys of an
// index.
func jsonScalarEqual(a, b string) (bool, error) {
	switch k := JSONKindOf(a); {
	case k != JSONKindOf(b):
		return false, nil
	case k == JSONString:
		return JSONUnquote(strings.TrimSpace(a)) == JSONUnquote(strings.TrimSpace(b)), nil
	case k == JSONNumber:
		return equalJSON(a, b, nil)
	}
	return strings.TrimSpace(a) == strings.TrimSpace(b), nil
}

// JSONHasKey is the operator ?. It looks for a member's name, a string in an array, or the string itself.
func JSONHasKey(s, key string) bool {
	switch JSONKindOf(s) {
	case JSONObject:
		_, found := JSONField(s, key)
		return found
	case JSONString:
		return jsonStringIs(strings.TrimSpace(s), key)
	case JSONList:
		has := false
		JSONElements(s, func(v string) bool {
			has = v[0] == '"' && jsonStringIs(v, key)
			return !has
		})
		return has
	}
	return false
}

// JSONConcat is the operator || of jsonb: it merges objects, and makes one array of anything else. It calls room before
// it makes a text of n bytes.
func JSONConcat(a, b string, room func(n int) error) (string, error) {
	if JSONKindOf(a) == JSONObject && JSONKindOf(b) == JSONObject {
		var out []byte
		at := func(k, v string) {
			if len(out) > 1 {
				out = append(out, ", "...)
			}
			out = append(append(append(out, k...), ": "...), v...)
		}
		// A colon and a comma may each get a space; a member has at least five bytes.
		if err := room((len(a) + len(b)) * 7 / 5); err != nil {
			return "", err
		}
		out = append(make([]byte, 0, len(a)+len(b)+64), '{')
		replaced := indexMembers(b, a)
		JSONMembers(a, func(k, v string) bool {
			if _, ok := replaced(JSONUnquote(k)); !ok {
				at(k, v)
			}
			return true
		})
		JSONMembers(b, func(k, v string) bool { at(k, v); return true })
		return string(append(out, '}')), nil
	}
	n := 2
	for _, s := range []string{a, b} {
		n += len(s) + JSONLen(s) + 2
	}
	if err := room(n); err != nil {
		return "", err
	}
	var out strings.Builder
	out.Grow(n)
	out.WriteByte('[')
	for _, s := range []string{a, b} {
		each := func(v string) bool {
			if out.Len() > 1 {
				out.WriteString(", ")
			}
			out.WriteString(v)
			return true
		}
		if JSONKindOf(s) == JSONList {
			JSONElements(s, each)
		} else {
			each(strings.TrimSpace(s))
		}
	}
	out.WriteByte(']')
	return out.String(), nil
}
