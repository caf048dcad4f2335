package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/datetime"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// formatType implements format_type. A modifier that is given, even -1, makes it print bpchar instead of character,
// which means character(1).
func formatType(s *Snapshot, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	oid := types.OID(a[0].I)
	name, ok := s.Name(types.RegType, a[0].I)
	switch {
	case oid == 0:
		return types.NewText("-"), nil
	case !ok:
		return types.NewText("???"), nil
	case a[1].IsNull():
		return types.NewText(name), nil
	}
	array := ""
	if t := types.Lookup(oid); t != nil && dataType(oid) == "ARRAY" {
		oid, array = types.ElemOf(oid), "[]"
		name = typeName(s, types.Lookup(oid))
	}
	text, err := withModifier(s, oid, name, int32(a[1].I))
	return types.NewText(text + array), err
}

// withModifier returns the name of a type with a modifier, as PostgreSQL prints it.
func withModifier(s *Snapshot, oid types.OID, name string, mod int32) (string, error) {
	number := "(" + strconv.Itoa(int(mod)) + ")"
	switch {
	case mod < 0 && oid == types.BPChar:
		return s.quote("bpchar"), nil
	case mod < 0 || slices.Contains(withoutModifier, oid):
		return name, nil
	case oid == types.VarChar || oid == types.BPChar:
		if n, ok := length(mod); ok {
			return name + "(" + strconv.Itoa(n) + ")", nil
		}
		return name, nil
	case oid == types.Numeric:
		if mod < modOffset {
			return name, nil
		}
		precision, scale := precisionAndScale(mod)
		return name + "(" + strconv.Itoa(precision) + "," + strconv.Itoa(scale) + ")", nil
	case oid == types.Timestamp || oid == types.TimestampTZ || oid == types.Time || oid == types.TimeTZ:
		word, rest, _ := strings.Cut(name, " ")
		return word + number + " " + rest, nil
	case oid == types.Interval:
		text, ok := datetime.ModText(mod)
		if !ok {
			return "", sqlstate.New(sqlstate.InternalError, "invalid INTERVAL typmod: 0x%x", mod)
		}
		return name + text, nil
	}
	return name + number, nil
}

// withoutModifier are the types for which PostgreSQL ignores a modifier. Of others it prints the number.
var withoutModifier = []types.OID{types.Bool, types.Int2, types.Int4, types.Int8, types.Float4, types.Float8}

// modOffset is what PostgreSQL adds to modifiers of texts and numeric: the size of a header.
const modOffset = 4

// length returns the length in the modifier of varchar and bpchar.
func length(mod int32) (int, bool) { return int(mod - modOffset), mod > modOffset }

// precisionAndScale are in the modifier of numeric. The scale has 11 bits with a sign.
func precisionAndScale(mod int32) (precision, scale int) {
	mod -= modOffset
	return int(mod >> 16 & 0xffff), int((mod&0x7ff)^1024) - 1024
}

// typeLimits sets what information_schema says about the modifier of a column's type.
func typeLimits(row v, a Attribute) {
	switch a.Type {
	case types.Text:
		row["character_octet_length"] = 1 << 30
	case types.VarChar, types.BPChar:
		row["character_octet_length"] = 1 << 30
		if n, ok := length(a.Mod); ok {
			row["character_maximum_length"], row["character_octet_length"] = n, 4*n
		}
	case types.Int2, types.Int4, types.Int8:
		row["numeric_precision"], row["numeric_precision_radix"] = int(types.Lookup(a.Type).Len)*8, 2
		row["numeric_scale"] = 0
	case types.Float4:
		row["numeric_precision"], row["numeric_precision_radix"] = 24, 2
	case types.Float8:
		row["numeric_precision"], row["numeric_precision_radix"] = 53, 2
	case types.Numeric:
		row["numeric_precision_radix"] = 10
		if a.Mod >= modOffset {
			// PostgreSQL 15 does not show the sign of the scale here.
			precision, _ := precisionAndScale(a.Mod)
			row["numeric_precision"], row["numeric_scale"] = precision, int((a.Mod-modOffset)&0x7ff)
		}
	case types.Date:
		row["datetime_precision"] = 0
	case types.Timestamp, types.TimestampTZ, types.Time, types.TimeTZ:
		row["datetime_precision"] = 6
		if a.Mod >= 0 {
			row["datetime_precision"] = int(a.Mod)
		}
	case types.Interval:
		row["datetime_precision"] = 6
		if a.Mod >= 0 && a.Mod&0xffff != 0xffff {
			row["datetime_precision"] = int(a.Mod & 0xffff)
		}
		if text, ok := datetime.ModText(a.Mod); ok {
			if _, fields, ok := strings.Cut(text, " "); ok {
				row["interval_type"] = strings.ToUpper(fields)
			}
		}
	}
}
