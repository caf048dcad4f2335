package templates

import (
	"strings"
	"unicode/utf8"
)

// dateMode is a way to give a date. A template for reading must not mix them.
type dateMode uint8

const (
	anyMode dateMode = iota
	gregorian
	isoWeek
)

// field is a pattern of a template for dates and times.
type field struct {
	name  string // as it is written
	id    string // in upper case
	digit bool   // it is read as digits
	mode  dateMode
}

// fieldNames lists the patterns in the order in which they are tried: those with # are read as digits, those with g
// belong to the Gregorian calendar, and those with w to ISO's weeks. Each may also be written in lower case.
const fieldNames = `A.D. A.M. AD AM B.C. BC CC# DAY DDD#g DD#g DY D#g FF1# FF2# FF3# FF4# FF5# FF6# FX HH24# HH12# HH#
	IDDD#w ID#w IW#w IYYY#w IYY#w IY#w I#w J# MI# MM#g MONTH/g MON/g MS# OF P.M. PM Q# RM/g SSSSS# SSSS# SS# TZH TZM# TZ
	US#
	WW#g W#g Y,YYY#g YYYY#g YYY#g YY#g Y#g`

// fields has the patterns by their first byte.
var fields = func() map[byte][]field {
	all := map[byte][]field{}
	add := func(f field) { all[f.name[0]] = append(all[f.name[0]], f) }
	for _, word := range strings.Fields(fieldNames) {
		name, rest, _ := strings.Cut(strings.ReplaceAll(word, "/", "#"), "#")
		f := field{name: name, id: name, digit: strings.Contains(word, "#")}
		switch rest {
		case "g":
			f.mode = gregorian
		case "w":
			f.mode = isoWeek
		}
		add(f)
		switch name {
		case "DAY", "DY", "MONTH", "MON":
			f.name = name[:1] + strings.ToLower(name[1:])
			add(f)
		}
		f.name = strings.ToLower(name)
		add(f)
	}
	return all
}()

// node is a part of a template: a field, or one character of another text.
type node struct {
	*field
	char      string
	separator bool // the character is a space, or no letter or digit
	quoted    bool // the character is in quotes
	fill, th  bool // FM before the field, TH after it
}

// parseTemplate divides a template into its parts.
func parseTemplate(s string) []node {
	var out []node
	for s != "" {
		var n node
		switch {
		case strings.HasPrefix(s, "FM"), strings.HasPrefix(s, "fm"):
			n.fill, s = true, s[2:]
		case strings.HasPrefix(s, "TM"), strings.HasPrefix(s, "tm"): // names of the locale, which is C
			s = s[2:]
		}
		if s == "" {
			break
		}
		if n.field = fieldAt(s); n.field != nil {
			s = s[len(n.name):]
			switch {
			case strings.HasPrefix(s, "TH"), strings.HasPrefix(s, "th"):
				n.th, s = true, s[2:]
			case strings.HasPrefix(s, "SP"):
				s = s[2:]
			}
			out = append(out, n)
			continue
		}
		if s[0] == '"' {
			out, s = quoted(out, s[1:])
			continue
		}
		if strings.HasPrefix(s, `\"`) { // a backslash is only special there
			s = s[1:]
		}
		_, size := utf8.DecodeRuneInString(s)
		out = append(out, node{char: s[:size], separator: isSpace(s[0]) || isSeparator(s[0])})
		s = s[size:]
	}
	return out
}

func fieldAt(s string) *field {
	list := fields[s[0]]
	for i := range list {
		if strings.HasPrefix(s, list[i].name) {
			return &list[i]
		}
	}
	return nil
}

// quoted appends the characters of a text up to the closing quote, and returns what follows it.
func quoted(out []node, s string) ([]node, string) {
	for s != "" && s[0] != '"' {
		if s[0] == '\\' && len(s) > 1 {
			s = s[1:]
		}
		_, size := utf8.DecodeRuneInString(s)
		out = append(out, node{char: s[:size], quoted: true})
		s = s[size:]
	}
	return out, s[min(1, len(s)):]
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isSeparator(c byte) bool {
	return c > ' ' && c < 0x7f && !isDigit(c) && !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z')
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
