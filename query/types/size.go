package types

import "strings"

// Upper bounds of the lengths of texts, computed before the texts are made. An array of a hundred references to one
// long value takes little memory, but its text can exhaust it. The bounds are exact or nearly so for long values. They
// stop counting above enough.

// enough is longer than any value that may be made.
const enough = 1 << 30

// TextSize returns an upper bound of the length of AppendText and AppendBinary.
func TextSize(d Datum) int64 {
	switch d.K {
	case KNull:
		return 0
	case KText, KJSON:
		return int64(len(d.S)+zeros(d)+padding(d)) + 1
	case KBytes:
		return 2*int64(len(d.S)) + 2
	case KNumeric:
		n := d.Decimal()
		// 64 bits are at most 20 digits. In the binary form 4 digits are 2 bytes, after a header of 8.
		return int64(len(n.coef.Bits()))*20 + int64(n.scale) + 16
	case KArray, KRecord:
		// A header, and for each item a comma and quotes, or a type and a length.
		n := int64(24)
		for _, it := range d.Array().Items {
			if n += 8 + quotedSize(it); n > enough {
				break
			}
		}
		return n
	}
	return int64(len(d.S)) + 80 // an interval takes at most 67
}

// ShortText reports whether TextSize of d is certainly below n. Unlike TextSize it does not read d.
func ShortText(d Datum, n int) bool {
	switch d.K {
	case KNull, KBool, KInt, KFloat, KTime, KDate:
		return len(d.S) < n-80
	case KText, KJSON, KBytes:
		return 3*len(d.S)+int(d.I)+2 < n
	}
	return false
}

// zeros returns by how many bytes a text grows when its zero bytes are replaced.
func zeros(d Datum) int { return 2 * strings.Count(d.S, "\x00") }

// padding returns the number of blanks at the end of a char(n).
func padding(d Datum) int {
	if d.K == KText {
		return int(d.I)
	}
	return 0
}

// quotedSize returns an upper bound of the text of an item in an array or a record, where quotes and backslashes are
// escaped.
func quotedSize(d Datum) int64 {
	switch d.K {
	case KText, KJSON:
		return int64(len(d.S) + strings.Count(d.S, `"`) + strings.Count(d.S, `\`) + zeros(d) + padding(d))
	case KBytes:
		return TextSize(d) + 1
	case KArray, KRecord:
		return 2 * TextSize(d)
	}
	return TextSize(d)
}

// JSONSize returns an upper bound of the length of ToJSON.
func JSONSize(d Datum) int64 {
	switch d.K {
	case KNull:
		return 4
	case KText:
		return JSONStringSize(d.S) + d.I
	case KJSON:
		return int64(len(d.S))
	case KArray:
		n := int64(2)
		for _, it := range d.Array().Items {
			if n += 2 + JSONSize(it); n > enough {
				break
			}
		}
		return n
	case KRecord:
		n := int64(2)
		r := d.Array()
		for i, it := range r.Items {
			if n += 4 + JSONStringSize(FieldName(r.Names, i)) + JSONSize(it); n > enough {
				break
			}
		}
		return n
	}
	return TextSize(d) + 3
}

// JSONStringSize returns the length of jsontext.AppendQuoted, for texts that are valid UTF-8.
func JSONStringSize(s string) int64 {
	n := int64(len(s)) + 2
	for i := range len(s) {
		n += int64(escaped[s[i]])
	}
	return n
}

// escaped gives for each byte the number of bytes that escaping it in a JSON string adds.
var escaped = func() (more [256]uint8) {
	for c := range 0x20 {
		more[c] = 5
	}
	for _, c := range "\"\\\n\t\r\b\f" {
		more[c] = 1
	}
	return more
}()

// HashSize returns an upper bound of the length of AppendHash.
func HashSize(d Datum) int64 {
	switch d.K {
	case KText, KBytes:
		return int64(len(d.S)) + 16
	case KJSON:
		// A digit and a comma become a number of ten bytes.
		return 5*int64(len(d.S)) + 16
	case KNumeric:
		return TextSize(d)
	case KArray, KRecord:
		n := int64(16)
		for _, it := range d.Array().Items {
			if n += HashSize(it); n > enough {
				break
			}
		}
		return n
	}
	return 24
}
