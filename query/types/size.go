package types

import "strings"

// The lengths of texts, known before the texts are made: an array of a hundred references to one long value takes no
// memory, and its text all there is. Each is an upper bound, and exact or nearly so for whatever is long. Beyond enough
// they stop counting.

// enough is longer than anything that may be made.
const enough = 1 << 30

// TextSize bounds the length of AppendText and AppendBinary.
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
		// 64 bits are at most 20 digits. In the binary form 4 digits are 2 bytes, behind a head of 8.
		return int64(len(n.coef.Bits()))*20 + int64(n.scale) + 16
	case KArray, KRecord:
		// A head, and for each item a comma and quotes, or a type and a length.
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

// zeros is by how much a text is longer without zero bytes.
func zeros(d Datum) int { return 2 * strings.Count(d.S, "\x00") }

// padding is how many blanks stand behind a char(n).
func padding(d Datum) int {
	if d.K == KText {
		return int(d.I)
	}
	return 0
}

// quotedSize bounds the text of an item of an array or a record, where quotes and backslashes are escaped.
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

// JSONSize bounds the length of ToJSON.
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

// JSONStringSize is the length of jsontext.AppendQuoted, but for texts that are no UTF-8.
func JSONStringSize(s string) int64 {
	n := int64(len(s)) + 2
	for i := range len(s) {
		n += int64(escaped[s[i]])
	}
	return n
}

// escaped is how many bytes a byte of a JSON string takes beside its own.
var escaped = func() (more [256]uint8) {
	for c := range 0x20 {
		more[c] = 5
	}
	for _, c := range "\"\\\n\t\r\b\f" {
		more[c] = 1
	}
	return more
}()

// HashSize bounds the length of AppendHash.
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
