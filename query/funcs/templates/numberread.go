package templates

import (
	"strings"
	"unicode/utf8"
)

// numberReader is the state of to_number.
type numberReader struct {
	*numberFormat
	s         string
	i         int
	digits    []byte // with the decimal point
	sign      byte   // 0 until one has been read
	before    int    // digits before the decimal point
	after     int    // digits after it
	pointRead bool
}

// read is to_number. It returns the sign, or a space, and the digits at the places where the format has digits, and how
// many of them are after the decimal point (NUM_processor in PostgreSQL's formatting.c).
func (f *numberFormat) read(s string) (number string, decimals int) {
	r := &numberReader{numberFormat: f, s: s}
	for _, p := range f.parts {
		if r.i >= len(s) {
			break
		}
		r.part(p)
	}
	if r.sign == 0 {
		r.sign = ' '
	}
	return string(r.sign) + strings.TrimSuffix(string(r.digits), "."), r.after
}

func (r *numberReader) part(p numberPart) {
	at := func(signs string) {
		if c := r.s[r.i]; strings.IndexByte(signs, c) >= 0 {
			r.sign = c
			r.i++
			return
		}
		r.skip(1)
	}
	switch p.word {
	case "9", "0", ".", "D":
		r.digit(p.word)
		r.i++
	case ",", "G":
		if !r.fill && r.s[r.i] == ',' {
			r.i++
		}
	case "L":
		r.skip(1)
	case "TH", "th", "Th", "tH":
		if !r.decimal {
			r.skip(2)
		}
	case "MI":
		at("-")
	case "PL":
		at("+")
	case "SG":
		at("-+")
	case "":
		_, n := utf8.DecodeRuneInString(r.s[r.i:]) // any character
		r.i += n
	}
}

// skip skips up to n characters that cannot be part of a number.
func (r *numberReader) skip(n int) {
	for ; n > 0 && r.i < len(r.s) && strings.IndexByte("0123456789.,+-", r.s[r.i]) < 0; n-- {
		_, size := utf8.DecodeRuneInString(r.s[r.i:])
		r.i += size
	}
}

// digit reads what is at the place of a digit or decimal point, up to its last byte, with a sign before the first
// digit or after the last one (NUM_numpart_from_char).
func (r *numberReader) digit(word string) {
	if r.s[r.i] == ' ' {
		r.i++
	}
	if r.i < len(r.s) && r.sign == 0 && word != "." && word != "D" && r.before+r.after == 0 {
		r.signBefore()
	}
	if r.i >= len(r.s) {
		return
	}
	read := true
	switch c := r.s[r.i]; {
	case c >= '0' && c <= '9':
		if r.pointRead && r.after == r.post {
			return
		}
		r.digits = append(r.digits, c)
		if r.pointRead {
			r.after++
		} else {
			r.before++
		}
	case c == '.' && r.decimal && !r.pointRead:
		r.digits = append(r.digits, c)
		r.pointRead = true
	default:
		read = false
	}
	if r.sign != 0 || r.before+r.after == 0 {
		return
	}
	switch {
	case r.locale && read:
		// The sign of S is directly behind the last digit.
		if r.i+1 < len(r.s) && (r.s[r.i+1] == '-' || r.s[r.i+1] == '+') {
			r.i++
			r.sign = r.s[r.i]
		}
	case !read && !r.locale && (r.plus || r.minus) && (r.s[r.i] == '-' || r.s[r.i] == '+'):
		// The format has more digits than the text.
		r.sign = r.s[r.i]
	}
}

// signBefore reads a sign before the first digit.
func (r *numberReader) signBefore() {
	switch c := r.s[r.i]; {
	case c == '-', c == '+':
		r.sign = c
	case c == '<' && r.bracket:
		r.sign = '-'
	default:
		return
	}
	r.i++
}
