package ranges

import (
	"strings"

	"github.com/divandb/divan/query/types"
)

// The first texts in the order of their bytes are found in a view, whose order is another one, by looking for strings
// that may come before those found so far. Two strings that have the same beginning, and then characters with different
// places, collate like these characters, whatever follows. So the strings that precede a text by their bytes are, for
// each of its positions, those with the same characters before and one of some characters there, which are a few
// ranges of the view.

// Seek describes a search for the first texts of an order.
type Seek struct {
	Desc bool
	// LowerCase is set if the strings of the view may have lower-case letters.
	LowerCase bool
}

// maxSeek is the number of positions of a text that are looked at.
const maxSeek = 64

// Preceding returns intervals of JSON strings that contain a text and all strings of a view which come before it in the
// order of bytes or, if that is descending, after it. Intervals that lie wholly before the string from in the order of
// the view, or wholly after it if the order is descending, may be left out; from is "" for none. The strings of the
// view have no control characters that the view ignores (collate.HasControls); if the order is descending, they have
// only printable characters of ASCII.
func (s Seek) Preceding(text, from string) Intervals {
	var out []Interval
	same := from != "" // up to the position, from has the characters of the text
	for i := 0; ; i++ {
		prefix := text[:i]
		same = same && len(from) > i
		if i == len(text) {
			if s.Desc {
				out = append(out, between(prefix, successor(prefix)))
			} else {
				out = append(out, Point(Text(text)))
			}
			break
		}
		at := placeOf(text[i])
		if at < 0 || i == maxSeek {
			if i == maxSeek || !s.Desc || text[i] < ' ' {
				out = append(out, between(prefix, successor(prefix)))
			}
			break
		}
		low, high := 0, len(asciiOrder)-1
		fromAt := -1
		if same {
			if fromAt = placeOf(from[i]); fromAt >= 0 && s.Desc {
				high = fromAt
			} else if fromAt >= 0 {
				low = fromAt
			}
		}
		if !s.Desc && low == 0 {
			// The beginning itself, and white space below the blank.
			out = append(out, between(prefix, prefix+" "))
		}
		for _, run := range s.runs(text[i], low, high) {
			out = append(out, between(prefix+asciiOrder[run[0]:run[0]+1],
				successor(prefix+asciiOrder[run[1]:run[1]+1])))
		}
		if same && fromAt >= 0 && fromAt != at && (fromAt < at) == s.Desc {
			break // what has the character at this position lies before from
		}
		same = same && from[i] == text[i]
	}
	return Union(out)
}

// between returns the strings from one up to another one, which is excluded; "" is no bound.
func between(low, high string) Interval {
	iv := Interval{Limit{Val: Text(low)}, Below(AtArrays)}
	if high != "" {
		iv.High = Limit{Val: Text(high), Open: true}
	}
	return iv
}

// firstDigit is the place of the first digit: that of all punctuation is below it.
var firstDigit = strings.IndexByte(asciiOrder, '0')

// runs returns the places from low to high, as first and last ones, of the characters that precede c. Punctuation in
// between is included, but not c: it is rare where c is something else, and one range is found faster than many.
func (s Seek) runs(c byte, low, high int) (list [][2]int) {
	of := placeOf(c)
	for at := low; at <= high; at++ {
		if !s.precedes(asciiOrder[at], c) {
			continue
		}
		n := len(list)
		if n > 0 && (list[n-1][1] == at-1 || at < firstDigit && (list[n-1][1] > of || of > at)) {
			list[n-1][1] = at
		} else {
			list = append(list, [2]int{at, at})
		}
	}
	return list
}

// precedes reports whether a character, or the upper-case letter with the same place, comes before another one.
func (s Seek) precedes(x, c byte) bool {
	if x < 'a' || x > 'z' {
		return s.before(x, c)
	}
	return s.before(x&^0x20, c) || s.LowerCase && s.before(x, c)
}

func (s Seek) before(x, c byte) bool {
	if s.Desc {
		return x > c
	}
	return x < c
}

// Upto returns the JSON numbers and strings whose cast to a type of numbers comes before a value or is equal to it in
// an order.
func (s Seek) Upto(d types.Datum, typ types.OID) Intervals {
	iv := Interval{None, Limit{Val: d}}
	if s.Desc {
		iv = Interval{Limit{Val: d}, None}
	}
	return Intervals{numbersOf(iv, Form{}.cast(asParsed, typ)), AllStrings}
}

// Contain reports whether the intervals have a value.
func (s Intervals) Contain(d types.Datum) bool {
	at := Limit{Val: d}
	for _, iv := range s {
		if CompareLow(iv.Low, at) <= 0 && CompareHigh(at, iv.High) <= 0 {
			return true
		}
	}
	return false
}

// Without returns the values of a set that are not in an interval.
func (s Intervals) Without(iv Interval) Intervals {
	var rest []Interval
	if !iv.Low.Inf {
		rest = append(rest, Interval{None, Limit{Val: iv.Low.Val, Open: !iv.Low.Open}})
	}
	if !iv.High.Inf {
		rest = append(rest, Interval{Limit{Val: iv.High.Val, Open: !iv.High.Open}, None})
	}
	return s.Intersect(Intervals(rest))
}
