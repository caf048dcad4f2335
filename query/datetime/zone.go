package datetime

import (
	"strings"
	"time"
)

// Zone is what a text names as a time zone: so many seconds east of UTC, or a place with rules, of which an
// abbreviation as MSK may name one.
type Zone struct {
	offset int
	place  *time.Location // nil for an offset
	abbrev string         // in capitals, "" for all of the place
}

// FindZone finds a zone by an abbreviation, a name of the IANA's, or POSIX's form, where the sign is the other one.
func FindZone(name string) (Zone, bool) {
	if z, ok := findAbbrev(strings.ToLower(name)); ok {
		return z, true
	}
	place, ok := FindPlace(name)
	return Zone{place: place}, ok
}

// Offset is how many seconds the clocks of a zone are ahead of UTC's at a moment.
func (z Zone) Offset(moment int64) int {
	if z.place == nil {
		return z.offset
	}
	if z.abbrev != "" {
		if off, ok := abbrevOffset(Time(moment).In(z.place), z.abbrev); ok {
			return off
		}
	}
	_, off := Time(moment).In(z.place).Zone()
	return off
}

// WallOffset is Offset for the moment at which the clocks show a wall clock.
func (z Zone) WallOffset(wall int64) int {
	if z.place == nil {
		return z.offset
	}
	at := Instant(wall, z.place)
	if z.abbrev != "" {
		return z.Offset(at)
	}
	return int((wall - at) / Second)
}

// Wall is what the clocks of a zone show at a moment, and Instant the way back.
func (z Zone) Wall(moment int64) int64 {
	if IsInfinite(moment) {
		return moment
	}
	return moment + int64(z.Offset(moment))*Second
}

// Instant is the moment at which the clocks of a zone show a wall clock.
func (z Zone) Instant(wall int64) int64 {
	if IsInfinite(wall) {
		return wall
	}
	return wall - int64(z.WallOffset(wall))*Second
}

// constant is the offset of a zone that has but one.
func (z Zone) constant() (int, bool) {
	if z.place == nil {
		return z.offset, true
	}
	t := time.Unix(0, 0).In(z.place)
	if from, to := t.ZoneBounds(); !from.IsZero() || !to.IsZero() {
		return 0, false
	}
	_, off := t.Zone()
	return off, true
}

// abbrevOffset is what an abbreviation stood for in a zone when it was last used before t, or else next after it.
func abbrevOffset(t time.Time, abbrev string) (int, bool) {
	const most = 300 // changes of the clocks, more than any zone has had
	for from, i := t, 0; i < most; i++ {
		name, off := from.Zone()
		if name == abbrev {
			return off, true
		}
		start, _ := from.ZoneBounds()
		if start.IsZero() {
			break
		}
		from = start.Add(-time.Second)
	}
	for to, i := t, 0; i < most; i++ {
		_, end := to.ZoneBounds()
		if end.IsZero() {
			break
		}
		if name, off := end.Zone(); name == abbrev {
			return off, true
		}
		to = end
	}
	return 0, false
}

// FindPlace finds a zone by the IANA's name, in large or small letters, or by POSIX's form.
func FindPlace(name string) (*time.Location, bool) {
	const longest = 255
	if name == "" || len(name) > longest || strings.HasPrefix(name, "/") || strings.EqualFold(name, "local") {
		return nil, false
	}
	for _, n := range spellings(name) {
		if l, err := time.LoadLocation(n); err == nil {
			return l, true
		}
	}
	if abbrev := universal[strings.ToLower(name)]; abbrev != "" {
		return time.FixedZone(abbrev, 0), true
	}
	return posixPlace(name)
}

// universal are names of UTC, with its abbreviation, for machines that have no database of zones.
var universal = map[string]string{"utc": "UTC", "etc/utc": "UTC", "zulu": "UTC", "gmt": "GMT", "etc/gmt": "GMT"}

// CanonicalZone is the spelling of a place's name that the IANA has, or the name itself.
func CanonicalZone(name string) string {
	for _, n := range spellings(name) {
		if _, err := time.LoadLocation(n); err == nil {
			return n
		}
	}
	return name
}

// oddNames are parts of names that are not words with a capital in front.
var oddNames = map[string]string{"of": "of", "au": "au", "es": "es", "utc": "UTC", "uct": "UCT", "gmt": "GMT",
	"us":             "US",
	"dumontdurville": "DumontDUrville", "mcmurdo": "McMurdo", "comodrivadavia": "ComodRivadavia", "act": "ACT",
	"nsw": "NSW",
	"lhi": "LHI", "bajanorte": "BajaNorte", "bajasur": "BajaSur", "easterisland": "EasterIsland",
	"denoronha": "DeNoronha",
	"in":        "IN", "gb": "GB", "su": "SU", "chat": "CHAT", "nz": "NZ"}

// spellings are the ways in which the IANA might write a name: as it is, in capitals, or as words.
func spellings(name string) []string {
	var b strings.Builder
	for rest := strings.ToLower(name); rest != ""; {
		n := strings.IndexFunc(rest, func(r rune) bool { return r < 'a' || r > 'z' })
		if n < 0 {
			n = len(rest)
		}
		part := rest[:n]
		if odd := oddNames[part]; odd != "" {
			part = odd
		} else if part != "" {
			part = strings.ToUpper(part[:1]) + part[1:]
		}
		b.WriteString(part)
		if n < len(rest) {
			b.WriteByte(rest[n])
			n++
		}
		rest = rest[n:]
	}
	return []string{name, b.String(), strings.ToUpper(name)}
}

// Instant is the moment at which the clocks of a zone show a wall clock. A wall clock that there is twice, when summer
// time ends, is the later one; one that there is not is as if the clocks had not been moved. That is PostgreSQL's
// choice (DetermineTimeZoneOffset in its datetime.c); package time leaves it open.
func Instant(wall int64, loc *time.Location) int64 {
	if IsInfinite(wall) {
		return wall
	}
	u := Time(wall)
	t := time.Date(u.Year(), u.Month(), u.Day(), u.Hour(), u.Minute(), u.Second(), u.Nanosecond(), loc)
	start, end := t.ZoneBounds()
	for _, change := range []time.Time{start, end} {
		if change.IsZero() {
			continue
		}
		_, was := change.Add(-time.Nanosecond).Zone()
		_, is := change.Zone()
		at, before, after := Moment(change), wall-int64(was)*Second, wall-int64(is)*Second
		switch {
		case before >= at && after < at:
			return before
		case before < at && after >= at:
			return after
		}
	}
	return Moment(t)
}

// WallClock is what the clocks of a place show at a moment.
func WallClock(moment int64, loc *time.Location) int64 { return Zone{place: loc}.Wall(moment) }
