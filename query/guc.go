package query

import (
	_ "embed"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
)

// postgresSettings lists settings of PostgreSQL that have no effect here. Clients set some of them routinely, and read
// others.
//
//go:embed postgres_settings.txt
var postgresSettings string

// harmless maps the names to postgresSettings.
var harmless = func() map[string]*setting {
	out := map[string]*setting{}
	for _, line := range strings.Split(strings.TrimSpace(postgresSettings), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := append(strings.Split(line, "|"), "", "", "", "")
		s := &setting{name: f[0], value: f[2], kind: &settingKind{vartype: f[1], unit: f[4], context: f[5]}}
		s.fixed = s.kind.context != "" && s.kind.context != "superuser"
		switch f[1] {
		case "bool":
			s.check = boolean
		case "enum":
			s.kind.values = strings.Split(f[3], ",")
			s.check = oneOf(s.kind.values...)
		case "int", "real":
			lowest, highest, _ := strings.Cut(f[3], "..")
			s.kind.low, s.kind.high = lowest, highest
			low, _ := strconv.ParseFloat(lowest, 64)
			high, _ := strconv.ParseFloat(highest, 64)
			s.check = quantity{name: f[0], low: low, high: high, unit: f[4], whole: f[1] == "int"}.check
		}
		out[s.name] = s
	}
	return out
}()

// unit is a unit of a setting, in terms of the smallest unit of its kind.
type unit struct {
	name string
	n    float64
}

// memoryUnits and timeUnits are sorted from the smallest to the largest.
var (
	memoryUnits = []unit{{"B", 1}, {"kB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"TB", 1 << 40}}
	timeUnits   = []unit{{"us", 1}, {"ms", 1e3}, {"s", 1e6}, {"min", 60e6}, {"h", 3600e6}, {"d", 86400e6}}
)

// quantity checks a number with an optional unit, and formats it as PostgreSQL does (guc.c).
type quantity struct {
	name      string
	low, high float64
	unit      string // of a number without a unit; "" if it has none
	whole     bool
}

func (q quantity) check(v string) (string, error) {
	s := strings.TrimSpace(v)
	n := len(s) - len(strings.TrimLeft(s, "0123456789.+-"))
	if rest := s[n:]; n > 0 && len(rest) > 1 && rest[0]|0x20 == 'e' && strings.ContainsAny(rest[1:2], "0123456789+-") {
		n += 1 + len(rest[1:]) - len(strings.TrimLeft(rest[1:], "0123456789+-"))
	}
	f, err := strconv.ParseFloat(s[:n], 64)
	if err != nil {
		return "", errInvalid
	}
	units, base := q.units()
	if word := strings.TrimSpace(s[n:]); word != "" {
		i := slices.IndexFunc(units, func(u unit) bool { return u.name == word })
		if i < 0 {
			return "", q.badUnit(units)
		}
		f = f * units[i].n / base
	}
	if q.whole {
		f = math.RoundToEven(f)
	}
	if f < q.low || f > q.high {
		space := ""
		if q.unit != "" {
			space = " "
		}
		return "", sqlstate.New(sqlstate.InvalidParameterValue,
			"%s%s%s is outside the valid range for parameter %q (%s .. %s)",
			number(f), space, q.unit, q.name, number(q.low), number(q.high))
	}
	if f <= 0 || q.unit == "" {
		return number(f), nil
	}
	// Use the largest unit of which it is a multiple.
	shown, in := f*base, units[0]
	for _, u := range units {
		if rest := math.Mod(shown, u.n); rest == 0 {
			in = u
		}
	}
	return number(shown/in.n) + in.name, nil
}

// units returns the units that a value may have, and the size of the setting's own.
func (q quantity) units() ([]unit, float64) {
	if q.unit == "8kB" {
		return memoryUnits, 8 << 10
	}
	for _, units := range [][]unit{memoryUnits, timeUnits} {
		if i := slices.IndexFunc(units, func(u unit) bool { return u.name == q.unit }); i >= 0 {
			return units, units[i].n
		}
	}
	return nil, 1
}

func (q quantity) badUnit(units []unit) error {
	if units == nil {
		return errInvalid
	}
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = strconv.Quote(u.name)
	}
	last := len(names) - 1
	c := *errInvalid
	c.Hint = "Valid units for this parameter are " + strings.Join(names[:last], ", ") + ", and " + names[last] + "."
	return &c
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', 15, 64) }
