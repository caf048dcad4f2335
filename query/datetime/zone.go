package datetime

import (
	"strings"
	"time"
)

// Zone is a time zone as named in a text: a fixed offset in seconds east of UTC, or a place with rules. An abbreviation
// such as MSK may stand for a place.
type Zone struct {
	offset int
	place  *time.Location // nil for a fixed offset
	abbrev string         // upper case; "" for the place's current rules
}

// FindZone finds a zone by an abbreviation, an IANA name, or POSIX's form, whose sign is positive west of UTC.
func FindZone(name string) (Zone, bool) {
	if z, ok := findAbbrev(strings.ToLower(name)); ok {
		return z, true
	}
	place, ok := FindPlace(name)
	return Zone{place: place}, ok
}

// Offset returns the seconds by which the zone's clocks are ahead of UTC at a moment.
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

// WallOffset returns the zone's offset at a wall clock time.
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

// Wall returns the zone's wall clock time at a moment. Instant is its inverse.
func (z Zone) Wall(moment int64) int64 {
	if IsInfinite(moment) {
		return moment
	}
	return moment + int64(z.Offset(moment))*Second
}

// Instant returns the moment at which the zone's clocks show a wall clock time.
func (z Zone) Instant(wall int64) int64 {
	if IsInfinite(wall) {
		return wall
	}
	return wall - int64(z.WallOffset(wall))*Second
}

// constant returns the offset of a zone that has only one.
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

// abbrevOffset returns the offset of an abbreviation in a zone: its last use before t, otherwise its next one after t.
func abbrevOffset(t time.Time, abbrev string) (int, bool) {
	const most = 300 // a limit on changes of the clocks; more than any zone has had
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

// FindPlace finds a zone by its IANA name in any case, or by POSIX's form.
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

// universal maps names of UTC to its abbreviation, for machines without a time zone database.
var universal = map[string]string{"utc": "UTC", "etc/utc": "UTC", "zulu": "UTC", "gmt": "GMT", "etc/gmt": "GMT"}

// CanonicalZone returns the IANA's spelling of a place's name, or the name itself.
func CanonicalZone(name string) string {
	for _, n := range spellings(name) {
		if _, err := time.LoadLocation(n); err == nil {
			return n
		}
	}
	return name
}

// oddNames are parts of names that are not capitalized words.
var oddNames = map[string]string{"of": "of", "au": "au", "es": "es", "utc": "UTC", "uct": "UCT", "gmt": "GMT",
	"us":             "US",
	"dumontdurville": "DumontDUrville", "mcmurdo": "McMurdo", "comodrivadavia": "ComodRivadavia", "act": "ACT",
	"nsw": "NSW",
	"lhi": "LHI", "bajanorte": "BajaNorte", "bajasur": "BajaSur", "easterisland": "EasterIsland",
	"denoronha": "DeNoronha",
	"in":        "IN", "gb": "GB", "su": "SU", "chat": "CHAT", "nz": "NZ"}

// spellings returns the possible IANA spellings of a name: unchanged, in upper case, or as capitalized words.
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

// Instant returns the moment at which the clocks of a place show a wall clock time. Of a time that exists twice, when
// summer time ends, it returns the later one. A time that does not exist is read as if the clocks had not been changed.
// This is PostgreSQL's choice (DetermineTimeZoneOffset in its datetime.c); package time leaves it open.
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

// WallClock returns the wall clock time of a place at a moment.
func WallClock(moment int64, loc *time.Location) int64 { return Zone{place: loc}.Wall(moment) }
