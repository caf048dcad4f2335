package datetime

import (
	"encoding/binary"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// posixForm matches a zone in POSIX's form: a name, hours west of UTC, and optionally the name of summer time, its
// hours and its rules. The name may be empty.
var posixForm = regexp.MustCompile(`^(<[^>]*>|[^0-9,+\-<]*)` + posixHours + `(?:(<[^>]*>|[^0-9,;+\-<]+)(?:` +
	posixHours +
	`)?(?:[,;](.+))?)?$`)

const posixHours = `([+-]?)(\d{1,3})(?::(\d{1,2}))?(?::(\d{1,2}))?`

// summerRules are the default rules of summer time.
const summerRules = "M3.2.0,M11.1.0"

func posixPlace(name string) (*time.Location, bool) {
	m := posixForm.FindStringSubmatch(name)
	if m == nil {
		return nil, false
	}
	bare := func(s string) string { return strings.Trim(s, "<>") }
	west, ok := posixSeconds(m[2:6])
	if !ok {
		return nil, false
	}
	if m[6] == "" {
		return time.FixedZone(bare(m[1]), -west), true
	}
	summer := west - 3600
	if m[8] != "" {
		if summer, ok = posixSeconds(m[7:11]); !ok {
			return nil, false
		}
	}
	rules := m[11]
	if rules == "" {
		rules = summerRules
	}
	form := func(name string, west int) string {
		sign := ""
		if west < 0 {
			sign, west = "-", -west
		}
		return "<" + bare(name) + ">" + sign + strconv.Itoa(west/3600) + ":" + strconv.Itoa(west/60%60) + ":" +
			strconv.Itoa(west%60)
	}
	loc, err := time.LoadLocationFromTZData(name,
		tzFile(bare(m[1]), -west, form(m[1], west)+form(m[6], summer)+","+rules))
	if err != nil {
		return nil, false
	}
	// A year without changes means that the rules could not be read.
	t := time.Date(2001, 1, 1, 0, 0, 0, 0, loc)
	if _, end := t.ZoneBounds(); end.IsZero() {
		return nil, false
	}
	return loc, true
}

func posixSeconds(parts []string) (int, bool) {
	n := [3]int{}
	for i := range n {
		n[i], _ = strconv.Atoi("0" + parts[i+1])
	}
	if n[0] > 167 || n[1] > 59 || n[2] > 60 {
		return 0, false
	}
	secs := n[0]*3600 + n[1]*60 + n[2]
	if parts[0] == "-" {
		secs = -secs
	}
	return secs, true
}

// tzFile returns a file of the IANA's format (RFC 8536) that contains only the rules in POSIX's form at its end.
func tzFile(name string, offset int, rules string) []byte {
	head := func(dst []byte) []byte {
		dst = append(dst, "TZif2"...)
		dst = append(dst, make([]byte, 15)...)
		for _, count := range []int{0, 0, 0, 0, 1, len(name) + 1} {
			dst = binary.BigEndian.AppendUint32(dst, uint32(count))
		}
		dst = binary.BigEndian.AppendUint32(dst, uint32(int32(offset)))
		dst = append(dst, 0, 0)
		dst = append(dst, name...)
		return append(dst, 0)
	}
	return append(head(head(nil)), "\n"+rules+"\n"...)
}
