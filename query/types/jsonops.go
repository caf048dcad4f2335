package types

import (
	"encoding/json"
	"errors"
	"strings"
	"unsafe"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/query/sqlstate"
)

// ParseJSON checks a JSON text and keeps it as it is.
func ParseJSON(text string) (Datum, error) {
	if !json.Valid(unsafe.Slice(unsafe.StringData(text), len(text))) || text == "" {
		return Null, sqlstate.New(sqlstate.InvalidTextRepresentation, "invalid input syntax for type json").
			WithDetail("The text is not valid JSON: %s", excerpt(text))
	}
	return NewJSONText(strings.TrimSpace(text)), nil
}

func excerpt(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}

// CompareJSON orders two JSON texts as a view does, by CouchDB's collation.
func CompareJSON(a, b string) (int, error) { return compareJSON(a, b, nil) }

func compareJSON(a, b string, step Step) (int, error) {
	c, err := collate.CompareStepping(bytesOf(a), bytesOf(b), step)
	if err == nil || !badKey(err) {
		return c, err
	}
	return 0, &sqlstate.Error{Code: sqlstate.InvalidParameterValue,
		Message: "jsonb value cannot be compared: " + err.Error(), Err: err}
}

// badKey says that an error of the collation is about the value, and not the error of a step.
func badKey(err error) bool {
	return errors.Is(err, collate.ErrSyntax) || errors.Is(err, collate.ErrDepth) || errors.Is(err, collate.ErrRange)
}

// bytesOf views a string as bytes that nobody writes to.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// JSONContains is the operator @>. Arrays take as many steps as their lengths multiplied.
func JSONContains(a, b string, step Step) (bool, error) {
	ka, kb := JSONKindOf(a), JSONKindOf(b)
	// An array may contain a scalar; at the top only, says PostgreSQL 8.14.3.
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

// indexMembers finds members of the object s by name. Where many are asked for, as many as the object asking has, it
// reads s once.
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

// jsonScalarEqual compares scalars exactly: unlike keys in an index, strings that only collate alike are not the same.
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

// JSONHasKey is the operator ?: a member's name, an array's string, or the string itself.
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

// JSONConcat is the operator || of jsonb: objects merge, anything else becomes one array. It asks room before it makes
// a text of n bytes.
func JSONConcat(a, b string, room func(n int) error) (string, error) {
	if JSONKindOf(a) == JSONObject && JSONKindOf(b) == JSONObject {
		var out []byte
		at := func(k, v string) {
			if len(out) > 1 {
				out = append(out, ", "...)
			}
			out = append(append(append(out, k...), ": "...), v...)
		}
		// A colon and a comma may get a space each, and a member has five bytes at least.
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
