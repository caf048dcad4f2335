package templates

import (
	"fmt"
	"strings"
	"time"
)

func init() {
	dateWords = map[byte][]dateWord{}
	add := func(p dateWord) { dateWords[p.word[0]] = append(dateWords[p.word[0]], p) }
	number := func(word string, width int, f func(c *clock) int) dateWord {
		return dateWord{word: word, ordinal: true, write: func(c *clock, fill bool) string {
			return digits(f(c), width, fill)
		}}
	}
	// Patterns for numbers mean the same in both cases. Longer patterns come before their prefixes.
	both := func(p dateWord) {
		add(p)
		if low := strings.ToLower(p.word); low != p.word {
			p.word = low
			add(p)
		}
	}
	halves(add)
	names(add)
	both(number("CC", 2, (*clock).century))
	both(number("DDD", 3, func(c *clock) int { return c.yearday }))
	both(dateWord{word: "DD", ordinal: true, write: func(c *clock, fill bool) string {
		if !fill {
			return fmt.Sprint(c.day)
		}
		return fmt.Sprintf("%02d", c.day)
	}})
	weekday := number("D", 0, func(c *clock) int { return c.weekday + 1 })
	weekday.calendar = true
	both(weekday)
	for i := 1; i <= 6; i++ {
		both(fraction(fmt.Sprintf("FF%d", i), i))
	}
	both(dateWord{word: "FX", write: func(*clock, bool) string { return "" }})
	both(number("HH24", 2, func(c *clock) int { return c.hour }))
	both(number("HH12", 2, (*clock).hour12))
	both(number("HH", 2, (*clock).hour12))
	both(number("IDDD", 3, func(c *clock) int { return (c.isoWeek-1)*7 + (c.weekday+6)%7 + 1 }))
	iso := number("ID", 0, func(c *clock) int { return (c.weekday+6)%7 + 1 })
	iso.calendar = true
	both(iso)
	both(number("IW", 2, func(c *clock) int { return c.isoWeek }))
	years(both, "IYYY", func(c *clock) int { return c.shownYear(c.isoYear) })
	both(number("J", 0, (*clock).julian))
	both(number("MI", 2, func(c *clock) int { return c.min }))
	both(number("MM", 2, func(c *clock) int { return c.month }))
	both(fraction("MS", 3))
	both(dateWord{word: "OF", calendar: true, write: (*clock).zoneOffset})
	both(dateWord{word: "Q", ordinal: true, write: func(c *clock, _ bool) string {
		if c.month == 0 {
			return ""
		}
		return fmt.Sprint((c.month-1)/3 + 1)
	}})
	add(dateWord{word: "RM", write: (*clock).roman})
	add(dateWord{word: "rm", write: func(c *clock, fill bool) string { return strings.ToLower(c.roman(fill)) }})
	seconds := func(c *clock) int { return c.hour*3600 + c.min*60 + c.sec }
	both(number("SSSSS", 0, seconds))
	both(number("SSSS", 0, seconds))
	both(number("SS", 2, func(c *clock) int { return c.sec }))
	both(dateWord{word: "TZH", calendar: true, write: func(c *clock, _ bool) string {
		return fmt.Sprintf("%c%02d", c.east(), abs(c.offset)/3600)
	}})
	both(dateWord{word: "TZM", calendar: true, write: func(c *clock, _ bool) string {
		return fmt.Sprintf("%02d", abs(c.offset)%3600/60)
	}})
	add(dateWord{word: "TZ", calendar: true, write: func(c *clock, _ bool) string { return c.zone }})
	add(dateWord{word: "tz", calendar: true, write: func(c *clock, _ bool) string { return strings.ToLower(c.zone) }})
	both(fraction("US", 6))
	both(number("WW", 2, func(c *clock) int { return (c.yearday-1)/7 + 1 }))
	both(number("W", 0, func(c *clock) int { return (c.day-1)/7 + 1 }))
	both(dateWord{word: "Y,YYY", ordinal: true, write: func(c *clock, _ bool) string {
		y := c.shownYear(c.year)
		return fmt.Sprintf("%d,%03d", y/1000, y%1000)
	}})
	years(both, "YYYY", func(c *clock) int { return c.shownYear(c.year) })
}

// fraction is the pattern for n digits of the second's fraction.
func fraction(word string, n int) dateWord {
	return dateWord{word: word, ordinal: true, write: func(c *clock, _ bool) string {
		unit := 1
		for range 6 - n {
			unit *= 10
		}
		return fmt.Sprintf("%0*d", n, c.micros/unit)
	}}
}

// years adds a pattern of four letters, and its prefixes of three, two and one letters for the last digits.
func years(add func(dateWord), word string, year func(c *clock) int) {
	for i, unit := range []int{1 << 30, 1000, 100, 10} {
		n := 4 - i
		add(dateWord{word: word[:n], ordinal: true, write: func(c *clock, fill bool) string {
			width := n
			if !fill || n == 1 {
				width = 0
			} else if c.shownYear(c.year) < 0 { // also for the year of ISO, whose sign may be another
				width++
			}
			return fmt.Sprintf("%0*d", width, year(c)%unit)
		}})
	}
}

// halves adds the patterns for am and pm, and BC and AD.
func halves(add func(dateWord)) {
	for _, w := range []struct {
		words    [2]string
		second   func(c *clock) bool
		calendar bool
	}{
		{[2]string{"A.D.", "B.C."}, func(c *clock) bool { return c.year <= 0 }, true},
		{[2]string{"A.M.", "P.M."}, func(c *clock) bool { return c.hour%24 >= 12 }, false},
		{[2]string{"AD", "BC"}, func(c *clock) bool { return c.year <= 0 }, true},
		{[2]string{"AM", "PM"}, func(c *clock) bool { return c.hour%24 >= 12 }, false},
	} {
		for _, word := range w.words {
			for _, lower := range []bool{false, true} {
				words := w.words
				if lower {
					word, words = strings.ToLower(word), [2]string{strings.ToLower(words[0]), strings.ToLower(words[1])}
				}
				add(dateWord{word: word, calendar: w.calendar, write: func(c *clock, _ bool) string {
					if w.second(c) {
						return words[1]
					}
					return words[0]
				}})
			}
		}
	}
}

// names adds the patterns for long and short names of months and days.
func names(add func(dateWord)) {
	month := func(c *clock) string { return time.Month(c.month).String() }
	day := func(c *clock) string { return time.Weekday(c.weekday).String() }
	for _, w := range []struct {
		long, short string
		name        func(c *clock) string
	}{{"Month", "Mon", month}, {"Day", "Dy", day}} {
		for _, form := range []func(string) string{strings.ToUpper, func(s string) string {
			return s
		}, strings.ToLower} {
			add(dateWord{word: form(w.long), calendar: true, name: true, write: func(c *clock, fill bool) string {
				if fill {
					return form(fmt.Sprintf("%-9s", w.name(c)))
				}
				return form(w.name(c))
			}})
			add(dateWord{word: form(w.short), calendar: true, write: func(c *clock, _ bool) string {
				return form(w.name(c)[:3])
			}})
		}
	}
}

func (c *clock) east() byte {
	if c.offset < 0 {
		return '-'
	}
	return '+'
}

func (c *clock) zoneOffset(fill bool) string {
	n := abs(c.offset)
	s := string(c.east()) + digits(n/3600, 2, fill)
	if n%3600/60 != 0 {
		s += fmt.Sprintf(":%02d", n%3600/60)
	}
	return s
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
