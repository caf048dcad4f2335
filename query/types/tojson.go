package types

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/layer/jsontext"
)

// ToJSON appends the JSON text of a value, as to_json and to_jsonb return it. as is JSON or JSONB.
func ToJSON(dst []byte, d Datum, typ, as OID, env *Env) ([]byte, error) {
	switch d.K {
	case KNull:
		return append(dst, "null"...), nil
	case KBool:
		if d.I != 0 {
			return append(dst, "true"...), nil
		}
		return append(dst, "false"...), nil
	case KJSON:
		if typ == JSON && as == JSON {
			return append(dst, d.S...), nil
		}
		return append(dst, jsonText(d, JSONB)...), nil
	case KInt:
		if IsInteger(typ) {
			return AppendText(dst, d, typ, env), nil
		}
	case KFloat, KNumeric:
		text := AppendText(nil, d, typ, env)
		if as == JSONB && string(text) == "-0" {
			text = text[1:] // the numbers of jsonb are numeric, which has no negative zero
		}
		if c := text[len(text)-1]; c >= '0' && c <= '9' {
			return append(dst, text...), nil
		}
		return jsontext.AppendQuoted(dst, string(text)), nil // NaN and infinities are strings, as in PostgreSQL
	case KArray:
		a := d.Array()
		dst = append(dst, '[')
		for i, it := range a.Items {
			if i > 0 {
				dst = append(dst, comma(as)...)
			}
			var err error
			if dst, err = ToJSON(dst, it, a.Elem, as, env); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case KRecord:
		return appendRecordJSON(dst, d.Array(), as, env)
	case KTime:
		return jsontext.AppendQuoted(dst, string(appendTime(nil, d.I, typ, env, 'T'))), nil
	}
	return jsontext.AppendQuoted(dst, string(AppendText(nil, d, typ, env))), nil
}

// comma returns the separator of members and elements.
func comma(as OID) string {
	if as == JSON {
		return ","
	}
	return ", "
}

// FieldName returns the name of a record's field.
func FieldName(names []string, i int) string {
	if names == nil {
		return "f" + strconv.Itoa(i+1)
	}
	return names[i]
}

// appendRecordJSON appends a record as an object. In a jsonb the members are in PostgreSQL's order, short names first,
// without duplicate names.
func appendRecordJSON(dst []byte, r *Array, as OID, env *Env) ([]byte, error) {
	order := make([]int, len(r.Items))
	for i := range order {
		order[i] = i
	}
	colon := ":"
	if as == JSONB {
		colon = ": "
		slices.SortStableFunc(order, func(i, j int) int {
			a, b := FieldName(r.Names, i), FieldName(r.Names, j)
			return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
		})
	}
	dst = append(dst, '{')
	some := false
	for at, i := range order {
		name := FieldName(r.Names, i)
		if as == JSONB && at+1 < len(order) && FieldName(r.Names, order[at+1]) == name {
			continue
		}
		if some {
			dst = append(dst, comma(as)...)
		}
		some = true
		dst = append(jsontext.AppendQuoted(dst, name), colon...)
		var err error
		if dst, err = ToJSON(dst, r.Items[i], r.Types[i], as, env); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}
