package templates

import (
	"strings"

	"github.com/divandb/divan/query/sqlstate"
)

// Formats of numbers for to_char and to_number (PostgreSQL 15, tables 9.28 to 9.30; formatting.c).

// numberPart is a pattern of a format, or literal text between patterns.
type numberPart struct {
	word string // in upper case, except rn and th; "" for literal text
	text string
}

type signPlace uint8

const (
	signNone signPlace = iota
	signBefore
	signAfter
)

// numberFormat is a parsed format.
type numberFormat struct {
	parts                                             []numberPart
	pre, post, multi, preSign, zeroStart, zeroEnd     int
	sign                                              signPlace
	zero, decimal, fill, plus, minus, bracket, locale bool
	blank, roman, hasMulti, scientific                bool
}

// numberWords is in the order in which the patterns are tried.
var numberWords = []string{
	",",
	".",
	"0",
	"9",
	"B",
	"C",
	"D",
	"EEEE",
	"FM",
	"G",
	"L",
	"MI",
	"PL",
	"PR",
	"RN",
	"SG",
	"SP",
	"S",
	"TH",
	"V",
}

const maxNumberFormat = 4096

func badFormat(format string, args ...any) error {
	return sqlstate.New(sqlstate.SyntaxError, format, args...)
}

func parseNumberFormat(s string) (*numberFormat, error) {
	if len(s) > maxNumberFormat {
		return nil, sqlstate.New(
			sqlstate.ProgramLimitExceeded,
			"number format of %d bytes is longer than the limit of %d",
			len(s),
			maxNumberFormat,
		)
	}
	f := &numberFormat{}
	for i := 0; i < len(s); {
		if s[i] == '"' {
			var b strings.Builder
			i += literal(&b, s[i:])
			for _, c := range b.String() {
				f.parts = append(f.parts, numberPart{text: string(c)})
			}
			continue
		}
		word := ""
		for _, w := range numberWords {
			if strings.HasPrefix(s[i:], w) || strings.HasPrefix(s[i:], strings.ToLower(w)) {
				word = w
				break
			}
		}
		if word == "" {
			var b strings.Builder
			n := literal(&b, s[i:])
			if n == 1 {
				r := []rune(s[i:])[0]
				b.Reset()
				b.WriteRune(r)
				n = len(string(r))
			}
			f.parts = append(f.parts, numberPart{text: b.String()})
			i += n
			continue
		}
		shown := word
		if word == "RN" || word == "TH" {
			shown = s[i : i+2]
		}
		i += len(word)
		f.parts = append(f.parts, numberPart{word: shown})
		if err := f.add(word); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// add adds a pattern to the description (NUMDesc_prepare).
func (f *numberFormat) add(word string) error {
	if f.scientific && word != "EEEE" {
		return badFormat("\"EEEE\" must be the last pattern used")
	}
	switch word {
	case "9", "0":
		if f.bracket {
			return badFormat(`"%s" must be ahead of "PR"`, word)
		}
		if word == "9" && f.hasMulti {
			f.multi++
			return nil
		}
		if word == "0" && !f.zero && !f.decimal {
			f.zero, f.zeroStart = true, f.pre+1
		}
		if f.decimal {
			f.post++
		} else {
			f.pre++
		}
		if word == "0" {
			f.zeroEnd = f.pre + f.post
		}
	case "B":
		f.blank = f.blank || f.pre == 0 && f.post == 0 && !f.zero
	case "D", ".":
		switch {
		case f.decimal:
			return badFormat("multiple decimal points")
		case f.hasMulti:
			return badFormat("cannot use \"V\" and decimal point together")
		}
		f.decimal = true
	case "FM":
		f.fill = true
	case "S":
		switch {
		case f.locale:
			return badFormat("cannot use \"S\" twice")
		case f.plus || f.minus || f.bracket:
			return badFormat("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together")
		case !f.decimal:
			f.sign, f.preSign, f.locale = signBefore, f.pre, true
		case f.sign == signNone:
			f.sign, f.locale = signAfter, true
		}
	case "MI", "PL", "SG":
		if f.locale {
			return badFormat(`cannot use "S" and "%s" together`, word)
		}
		f.minus = f.minus || word != "PL"
		f.plus = f.plus || word != "MI"
	case "PR":
		if f.locale || f.plus || f.minus {
			return badFormat("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together")
		}
		f.bracket = true
	case "RN":
		f.roman = true
	case "V":
		if f.decimal {
			return badFormat("cannot use \"V\" and decimal point together")
		}
		f.hasMulti = true
	case "EEEE":
		switch {
		case f.scientific:
			return badFormat("cannot use \"EEEE\" twice")
		case f.blank || f.fill || f.locale || f.bracket || f.minus || f.plus || f.roman || f.hasMulti:
			return sqlstate.New(sqlstate.SyntaxError, "\"EEEE\" is incompatible with other formats").
				WithDetail("\"EEEE\" may only be used together with digit and decimal point patterns.")
		}
		f.scientific = true
	}
	return nil
}

// numberWriter is the state of to_char (NUMProc).
type numberWriter struct {
	numberFormat
	out       strings.Builder
	negative  bool
	number    string // digits with a decimal point, without a sign
	at        int    // position in number
	relevant  int    // the last digit that FM displays, -1 for all
	signDone  bool
	inNumber  bool
	count     int
	current   int
	preSpaces int
	err       error
}

// write is to_char: digits holds the digits before the decimal point, and as many after it as the format has.
func (f *numberFormat) write(digits string, negative bool, preSpaces int) (string, error) {
	w := &numberWriter{numberFormat: *f, number: digits, negative: negative, preSpaces: preSpaces, relevant: -1}
	if w.zeroStart > 0 {
		w.zeroStart--
	}
	if w.roman {
		w.sign, w.preSign, w.post, w.pre, w.preSpaces, w.negative = signNone, 0, 0, 0, 0, false
		w.zero, w.decimal, w.plus, w.minus, w.bracket, w.locale = false, false, false, false, false, false
	}
	if w.plus || w.minus {
		w.signDone = w.minus
	} else {
		if !w.negative && w.fill {
			w.bracket = false
		}
		w.signDone = !w.negative && w.fill && !w.locale
		if w.sign == signBefore && w.pre == w.preSign {
			w.sign = signAfter
		}
	}
	w.count = w.post + w.pre - 1
	if w.fill && w.decimal {
		if point := strings.IndexByte(w.number, '.'); point >= 0 {
			w.relevant = max(len(strings.TrimRight(w.number[point:], "0"))-1, 0) + point
			if w.zeroEnd > w.preSpaces {
				w.relevant = max(w.relevant, min(len(w.number)-1, w.zeroEnd-w.preSpaces))
			}
		}
	}
	if !w.signDone && w.preSpaces == 0 {
		w.count++
	}
	for _, p := range w.parts {
		w.part(p)
	}
	shown, _, _ := strings.Cut(w.out.String(), "\x00")
	return shown, w.err
}

func (w *numberWriter) part(p numberPart) {
	unless := func(shown bool, text string) {
		switch {
		case shown:
			w.out.WriteString(text)
		case !w.fill:
			w.out.WriteByte(' ')
		}
	}
	switch p.word {
	case "":
		w.out.WriteString(p.text)
	case "9", "0", ".", "D":
		w.digit(p.word)
	case ",", "G":
		unless(w.inNumber, ",")
	case "L":
		w.out.WriteByte(' ')
	case "RN", "rn":
		s := w.number
		if p.word == "rn" {
			s = strings.ToLower(s)
		}
		if !w.fill {
			s = strings.Repeat(" ", max(15-len(s), 0)) + s
		}
		w.out.WriteString(s)
	case "TH", "th", "Th", "tH":
		if w.roman || strings.HasPrefix(w.number, "#") || w.negative || w.decimal {
			return
		}
		if last := w.ch(len(w.number) - 1); last < '0' || last > '9' {
			// So it is for a format without digits, and for NaN.
			w.err = sqlstate.New(sqlstate.InvalidTextRepresentation, `"%s" is not a number`, w.number)
			return
		}
		end := ordinal(w.number)
		if p.word == "TH" {
			end = strings.ToUpper(end)
		}
		w.out.WriteString(end)
	case "MI":
		unless(w.negative, "-")
	case "PL":
		unless(!w.negative && !w.roman, "+")
	case "SG":
		w.out.WriteString(w.signText())
	}
}

// signText returns the sign. Roman numerals have none; PostgreSQL writes a NUL, with which the result ends.
func (w *numberWriter) signText() string {
	switch {
	case w.roman:
		return "\x00"
	case w.negative:
		return "-"
	}
	return "+"
}

// leadingZero reports whether the zero before the decimal point is omitted: 9.9 formats 0.1 as " .1".
func (w *numberWriter) leadingZero() bool {
	return !w.zero && w.at == 0 && strings.HasPrefix(w.number, "0") && w.post != 0
}

func (w *numberWriter) ch(at int) byte {
	if at >= 0 && at < len(w.number) {
		return w.number[at]
	}
	return 0
}

// digit writes a digit or the decimal point (NUM_numpart_to_char).
func (w *numberWriter) digit(word string) {
	if w.roman {
		return
	}
	w.inNumber = false
	pointLast := w.relevant >= 0 && w.ch(w.relevant) == '.'
	if !w.signDone && (w.current >= w.preSpaces || w.zero && w.zeroStart == w.current) &&
		(!w.leadingZero() || pointLast) {
		switch {
		case w.locale:
			if w.sign == signBefore {
				w.out.WriteString(w.signText())
				w.signDone = true
			}
		case w.bracket:
			w.out.WriteByte(map[bool]byte{true: '<', false: ' '}[w.negative])
			w.signDone = true
		case w.negative:
			w.out.WriteByte('-')
			w.signDone = true
		default:
			if !w.fill {
				w.out.WriteByte(' ')
			}
			w.signDone = true
		}
	}
	switch {
	case w.current < w.preSpaces && (w.zeroStart > w.current || !w.zero):
		if !w.fill {
			w.out.WriteByte(' ')
		}
	case w.zero && w.current < w.preSpaces && w.zeroStart <= w.current:
		w.out.WriteByte('0')
		w.inNumber = true
	default:
		switch {
		case w.ch(w.at) == '.':
			if !pointLast || w.fill {
				w.out.WriteByte('.')
			}
		case w.relevant >= 0 && w.at > w.relevant && word != "0":
		case w.leadingZero():
			if !w.fill {
				w.out.WriteByte(' ')
			} else if pointLast {
				w.out.WriteByte('0')
			}
		default:
			// At the end of the number PostgreSQL writes the NUL that ends it, and with it ends the result.
			w.out.WriteByte(w.ch(w.at))
			w.inNumber = true
		}
		if w.at < len(w.number) {
			w.at++
		}
	}
	end := w.count
	if w.preSpaces > 0 {
		end++
	}
	if w.decimal {
		end++
	}
	if w.relevant >= 0 && w.relevant == w.at {
		end = w.current
	}
	if w.current+1 == end {
		switch {
		case w.signDone && w.bracket:
			w.out.WriteByte(map[bool]byte{true: '>', false: ' '}[w.negative])
		case w.locale && w.sign == signAfter:
			w.out.WriteString(w.signText())
		}
	}
	w.current++
}

// romanOf returns a number in Roman numerals, or what PostgreSQL writes for numbers that have none.
func romanOf(n int64) string {
	if n < 1 || n > 3999 {
		return strings.Repeat("#", 15)
	}
	var b strings.Builder
	for _, r := range []struct {
		value int64
		text  string
	}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"},
		{9, "IX"},
		{5, "V"}, {4, "IV"}, {1, "I"}} {
		for n >= r.value {
			b.WriteString(r.text)
			n -= r.value
		}
	}
	return b.String()
}
