package types

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Dates that are not in ISO 8601's forms: 1/8/1999 in the order of DateStyle, 8 Jan 1999, January 8, 1999 and
// 1999-Jan-08.
var (
	// basicDate is ISO 8601's form without marks, 20240101T101112.
	basicDate = regexp.MustCompile(`^(\d{4})(\d\d)(\d\d)[T ](\d\d)(\d\d)(\d\d)?((?:\.\d+)?\s*(?:[-+Zz].*)?)$`)
	slashDate = regexp.MustCompile(`^(\d{1,2})[/-](\d{1,2})[/-](\d{4})$`)
	wordDates = []*regexp.Regexp{
		regexp.MustCompile(`^(?P<m>[a-z]{3,9})\.?[ -]*(?P<d>\d{1,2})(?:,? +|-)(?P<y>\d{4})$`),
		regexp.MustCompile(`^(?P<d>\d{1,2})[ -]*(?P<m>[a-z]{3,9})\.?[ ,-]+(?P<y>\d{4})$`),
		regexp.MustCompile(`^(?P<y>\d{4})[ -](?P<m>[a-z]{3,9})[ -](?P<d>\d{1,2})$`),
	}
	// clockAfter is where the time of day begins behind a date that has spaces.
	clockAfter = regexp.MustCompile(`[ T]\d{1,2}:\d{2}`)
)

// isoDate puts such a date into ISO 8601's form; ok is false for others.
func isoDate(s string, env *Env) (iso string, ok bool) {
	if len(s) > 5 && s[4] == '-' && s[5] >= '0' && s[5] <= '9' {
		return "", false // nearly all are, and need no look at the forms below
	}
	if p := basicDate.FindStringSubmatch(s); p != nil {
		if p[6] == "" {
			p[6] = "00"
		}
		return p[1] + "-" + p[2] + "-" + p[3] + " " + p[4] + ":" + p[5] + ":" + p[6] + p[7], true
	}
	rest := ""
	if at := clockAfter.FindStringIndex(s); at != nil {
		s, rest = s[:at[0]], s[at[0]:]
	}
	write := func(y, m, d string) (string, bool) {
		if len(m) < 2 {
			m = "0" + m
		}
		if len(d) < 2 {
			d = "0" + d
		}
		return y + "-" + m + "-" + d + rest, true
	}
	if p := slashDate.FindStringSubmatch(s); p != nil {
		switch {
		case env == nil || env.DateOrder == "" || env.DateOrder == "MDY":
			return write(p[3], p[1], p[2])
		case env.DateOrder == "DMY":
			return write(p[3], p[2], p[1])
		}
		return "", false
	}
	s = strings.ToLower(s)
	for _, form := range wordDates {
		if p := form.FindStringSubmatch(s); p != nil {
			month := monthOf(p[form.SubexpIndex("m")])
			if month == 0 {
				return "", false
			}
			return write(p[form.SubexpIndex("y")], strconv.Itoa(month), p[form.SubexpIndex("d")])
		}
	}
	return "", false
}

// monthOf is the number of a month's name, whole or its first three letters; 0 for none.
func monthOf(name string) int {
	for m := time.January; m <= time.December; m++ {
		full := strings.ToLower(m.String())
		if name == full || name == full[:3] || name == "sept" && m == time.September {
			return int(m)
		}
	}
	return 0
}

// zoneOffsets are abbreviations of zones that PostgreSQL knows without a file of rules, in hours.
var zoneOffsets = map[string]int{
	"pst": -8, "pdt": -7, "mst": -7, "mdt": -6, "cst": -6, "cdt": -5, "est": -5, "edt": -4, "akst": -9, "akdt": -8,
	"hst": -10, "wet": 0, "west": 1, "bst": 1, "cet": 1, "cest": 2, "met": 1, "mest": 2, "eet": 2, "eest": 3, "msk": 3,
	"jst": 9, "kst": 9, "aest": 10, "aedt": 11, "awst": 8, "nzst": 12, "nzdt": 13,
}
