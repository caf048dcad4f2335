package datetime

import "strings"

// class is the kind of meaning that a word has in the text of a date or an interval.
type class uint8

const (
	unknownWord class = iota
	ignoredWord
	reservedWord
	monthWord
	weekdayWord
	halfWord
	eraWord
	dstWord
	unitWord
	timeWord // T before a time of day
	agoWord
)

// unit is a unit of time, named by a word or by a label as in y2024m02d03.
type unit uint8

const (
	noUnit unit = iota
	microsecond
	millisecond
	second
	minute
	hour
	day
	week
	month
	quarter
	year
	decade
	century
	millennium
	julianDay
	isoYear
	clockTime
)

// Values of reserved words, of am and pm, and of eras.
const (
	wordEpoch = iota
	wordInfinity
	wordNegInfinity
	wordNow
	wordToday
	wordTomorrow
	wordYesterday
	wordMidnight
)

type word struct {
	class class
	value int
}

// longestWord is the number of letters by which words are compared.
const longestWord = 10

// momentWords are the words of dates and times, intervalWords those of intervals.
var momentWords, intervalWords = map[string]word{}, map[string]word{}

func init() {
	add := func(to map[string]word, c class, value int, names string) {
		for _, name := range strings.Fields(names) {
			to[name[:min(len(name), longestWord)]] = word{c, value}
		}
	}
	for i, names := range []string{"jan january", "feb february", "mar march", "apr april", "may", "jun june",
		"jul july",
		"aug august", "sep sept september", "oct october", "nov november", "dec december"} {
		add(momentWords, monthWord, i+1, names)
	}
	add(momentWords, weekdayWord, 0, `sun sunday mon monday tue tues tuesday wed weds wednesday thu thur
		thurs thursday fri friday sat saturday`)
	add(momentWords, ignoredWord, 0, "at on")
	add(momentWords, eraWord, 0, "ad")
	add(momentWords, eraWord, 1, "bc")
	add(momentWords, halfWord, 0, "am")
	add(momentWords, halfWord, 1, "pm")
	add(momentWords, dstWord, 3600, "dst")
	add(momentWords, timeWord, int(clockTime), "t")
	for value, name := range []string{"epoch", "infinity", "-infinity", "now", "today", "tomorrow", "yesterday",
		"allballs"} {
		add(momentWords, reservedWord, value, name)
	}
	for u, names := range map[unit]string{day: "d", hour: "h", julianDay: "j jd julian", month: "m", minute: "mm",
		second: "s",
		year:   "y", isoYear: "isoyear"} {
		add(momentWords, unitWord, int(u), names)
	}
	add(intervalWords, agoWord, 0, "ago")
	for u, names := range map[unit]string{
		microsecond: "us usec usecond useconds usecs microsecond",
		millisecond: "ms msec msecond mseconds msecs millisecond",
		second:      "s sec second seconds secs",
		minute:      "m min mins minute minutes",
		hour:        "h hour hours hr hrs",
		day:         "d day days",
		week:        "w week weeks",
		month:       "mon mons month months",
		quarter:     "qtr quarter",
		year:        "y year years yr yrs",
		decade:      "dec decade decades decs",
		century:     "c cent centuries century",
		millennium:  "mil millennia millennium mils",
	} {
		add(intervalWords, unitWord, int(u), names)
	}
}

func find(in map[string]word, text string) word { return in[text[:min(len(text), longestWord)]] }
