package types

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/query/sqlstate"
)

// Equality of jsonb is PostgreSQL's: the order of members does not matter, the last of several members of one name
// counts, numbers compare by value, strings by characters. The sort order is that of views, where some different
// strings are equal (é as one character and as two). To keep sorting and grouping consistent, CompareStepping orders
// such values by what equality compares.

// Equal reports whether two values of one type are equal. Neither may be NULL.
func Equal(a, b Datum, step Step) (bool, error) {
	if a.K == KJSON && b.K == KJSON {
		return equalJSON(a.S, b.S, step)
	}
	c, err := CompareStepping(a, b, step)
	return c == 0, err
}

func equalJSON(a, b string, step Step) (bool, error) {
	kind := JSONKindOf(a)
	switch {
	case a == b:
		return true, step.took(len(a))
	case kind != JSONKindOf(b):
		return false, nil
	case kind == JSONString:
		return JSONUnquote(strings.TrimSpace(a)) == JSONUnquote(strings.TrimSpace(b)), step.took(len(a) + len(b))
	}
	x, err := appendJSONHash(nil, a, 0, step)
	if err != nil {
		return false, err
	}
	y, err := appendJSONHash(nil, b, 0, step)
	return bytes.Equal(x, y), err
}

// Collates compares two values for the operators < and >. It equals CompareStepping except for jsonb, which it compares
// by the order of views only.
func Collates(a, b Datum, step Step) (int, error) {
	if a.K != KJSON || b.K != KJSON {
		return CompareStepping(a, b, step)
	}
	x, err := sortedJSON(a.S, b.S, step)
	if err != nil {
		return 0, err
	}
	y, err := sortedJSON(b.S, a.S, step)
	if err != nil {
		return 0, err
	}
	return compareJSON(x, y, step)
}

// sortJSON compares jsonb for sorting: by Collates, and then by hash.
func sortJSON(a, b string, step Step) (int, error) {
	if a == b {
		return 0, step.took(len(a))
	}
	if c, err := Collates(NewJSONText(a), NewJSONText(b), step); err != nil || c != 0 {
		return c, err
	}
	x, err := appendJSONHash(nil, a, 0, step)
	if err != nil {
		return 0, err
	}
	y, err := appendJSONHash(nil, b, 0, step)
	return bytes.Compare(x, y), err
}

// jsonMember is a member of an object with its name decoded.
type jsonMember struct{ name, key, value string }

// sortedMembers returns the members of an object sorted by name. Of several with one name it keeps the last.
func sortedMembers(s string) []jsonMember {
	var list []jsonMember
	JSONMembers(s, func(k, v string) bool {
		list = append(list, jsonMember{JSONUnquote(k), k, v})
		return true
	})
	slices.SortStableFunc(list, func(a, b jsonMember) int { return cmp.Compare(a.name, b.name) })
	out := list[:0]
	for i, m := range list {
		if i+1 == len(list) || list[i+1].name != m.name {
			out = append(out, m)
		}
	}
	return out
}

// sortedJSON returns s with the members of objects sorted by name, if their order can matter for a comparison with
// other.
func sortedJSON(s, other string, step Step) (string, error) {
	if strings.IndexByte(s, '{') < 0 || strings.IndexByte(other, '{') < 0 {
		return s, nil
	}
	out, err := appendSorted(make([]byte, 0, len(s)), s, 0, step)
	return NewJSON(out).S, err
}

func appendSorted(dst []byte, s string, depth int, step Step) ([]byte, error) {
	if err := deeper(depth); err != nil {
		return dst, err
	}
	var err error
	comma := func() {
		if c := dst[len(dst)-1]; c != '{' && c != '[' {
			dst = append(dst, ',')
		}
	}
	switch JSONKindOf(s) {
	case JSONObject:
		if err = step.took(len(s)); err != nil {
			return dst, err
		}
		dst = append(dst, '{')
		for _, m := range sortedMembers(s) {
			comma()
			dst = append(append(dst, m.key...), ':')
			if dst, err = appendSorted(dst, m.value, depth+1, step); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	case JSONList:
		dst = append(dst, '[')
		JSONElements(s, func(v string) bool {
			comma()
			dst, err = appendSorted(dst, v, depth+1, step)
			return err == nil
		})
		return append(dst, ']'), err
	}
	return append(dst, strings.TrimSpace(s)...), nil
}

func deeper(depth int) error {
	if depth <= collate.MaxDepth {
		return nil
	}
	return &sqlstate.Error{Code: sqlstate.InvalidParameterValue,
		Message: "jsonb value cannot be compared: " + collate.ErrDepth.Error(),
		Err:     collate.ErrDepth}
}

// appendJSONHash appends bytes that are the same only for equal values. The bytes of one value are never a prefix of
// another's.
func appendJSONHash(dst []byte, s string, depth int, step Step) ([]byte, error) {
	if err := deeper(depth); err != nil {
		return dst, err
	}
	if err := step.took(itemBytes + len(s)); err != nil {
		return dst, err
	}
	text := func(s string) {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	var err error
	kind := JSONKindOf(s)
	switch kind {
	case JSONObject:
		dst = append(dst, '{')
		for _, m := range sortedMembers(s) {
			dst = append(dst, '"')
			text(m.name)
			if dst, err = appendJSONHash(dst, m.value, depth+1, step); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	case JSONList:
		dst = append(dst, '[')
		JSONElements(s, func(v string) bool {
			dst, err = appendJSONHash(dst, v, depth+1, step)
			return err == nil
		})
		return append(dst, ']'), err
	case JSONString:
		dst = append(dst, '"')
		text(JSONUnquote(strings.TrimSpace(s)))
		return dst, nil
	case JSONNumber:
		return appendNumberHash(append(dst, '0'), strings.TrimSpace(s))
	}
	return append(dst, strings.TrimSpace(s)[0]), nil
}

// appendNumberHash appends a number as its digits without leading and trailing zeros, and its exponent.
func appendNumberHash(dst []byte, s string) ([]byte, error) {
	s, minus := strings.CutPrefix(s, "-")
	var exponent int64
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.ParseInt(s[i+1:], 10, 32); err != nil {
			return dst, &sqlstate.Error{Code: sqlstate.InvalidParameterValue, Err: collate.ErrRange,
				Message: "jsonb value cannot be compared: " + collate.ErrRange.Error()}
		}
		s = s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	exponent -= int64(len(fraction))
	digits := strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return append(dst, 0), nil
	}
	exponent += int64(len(digits) - len(short))
	if minus {
		dst = append(dst, '-')
	}
	dst = append(append(dst, short...), 'e')
	return append(strconv.AppendInt(dst, exponent, 10), 0), nil
}
