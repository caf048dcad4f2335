// Package quantities checks the values of settings that are numbers, with units of time and of memory, or words. Which
// settings there are is in package query.
package quantities

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
)

// ErrInvalid is the error for a value that is no number. The caller replaces its message.
var ErrInvalid = sqlstate.New(sqlstate.InvalidParameterValue, "invalid value")

// Unit is a unit of a setting, in terms of the smallest unit of its kind.
type Unit struct {
	Name string
	N    float64
}

// memoryUnits and TimeUnits are sorted from the smallest to the largest.
var (
	memoryUnits = []Unit{{"B", 1}, {"kB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"TB", 1 << 40}}
	TimeUnits   = []Unit{{"us", 1}, {"ms", 1e3}, {"s", 1e6}, {"min", 60e6}, {"h", 3600e6}, {"d", 86400e6}}
)

// Quantity checks a number with an optional unit, and formats it as PostgreSQL does (guc.c).
type Quantity struct {
	Name      string
	Low, High float64
	Unit      string // of a number without a unit; "" if it has none
	Whole     bool
}

// Check reads a value and returns it in its canonical form.
func (q Quantity) Check(v string) (string, error) {
	s := strings.TrimSpace(v)
	n := len(s) - len(strings.TrimLeft(s, "0123456789.+-"))
	if rest := s[n:]; n > 0 && len(rest) > 1 && rest[0]|0x20 == 'e' && strings.ContainsAny(rest[1:2], "0123456789+-") {
		n += 1 + len(rest[1:]) - len(strings.TrimLeft(rest[1:], "0123456789+-"))
	}
	f, err := strconv.ParseFloat(s[:n], 64)
	if err != nil {
		return "", ErrInvalid
	}
	units, base := q.Units()
	if word := strings.TrimSpace(s[n:]); word != "" {
		i := slices.IndexFunc(units, func(u Unit) bool { return u.Name == word })
		if i < 0 {
			return "", q.badUnit(units)
		}
		f = f * units[i].N / base
	}
	if q.Whole {
		f = math.RoundToEven(f)
	}
	if f < q.Low || f > q.High {
		space := ""
		if q.Unit != "" {
			space = " "
		}
		return "", sqlstate.New(sqlstate.InvalidParameterValue,
			`%s%s%s is outside the valid range for parameter "%s" (%s .. %s)`,
			Number(f), space, q.Unit, q.Name, Number(q.Low), Number(q.High))
	}
	if f <= 0 || q.Unit == "" {
		return Number(f), nil
	}
	// Use the largest unit of which it is a multiple.
	shown, in := f*base, units[0]
	for _, u := range units {
		if rest := math.Mod(shown, u.N); rest == 0 {
			in = u
		}
	}
	return Number(shown/in.N) + in.Name, nil
}

// Units returns the units that a value may have, and the size of the setting's own.
func (q Quantity) Units() ([]Unit, float64) {
	if q.Unit == "8kB" {
		return memoryUnits, 8 << 10
	}
	for _, units := range [][]Unit{memoryUnits, TimeUnits} {
		if i := slices.IndexFunc(units, func(u Unit) bool { return u.Name == q.Unit }); i >= 0 {
			return units, units[i].N
		}
	}
	return nil, 1
}

func (q Quantity) badUnit(units []Unit) error {
	if units == nil {
		return ErrInvalid
	}
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = strconv.Quote(u.Name)
	}
	last := len(names) - 1
	c := *ErrInvalid
	c.Hint = "Valid units for this parameter are " + strings.Join(names[:last], ", ") + ", and " + names[last] + "."
	return &c
}

// Number prints a number as PostgreSQL prints those of settings.
func Number(f float64) string { return strconv.FormatFloat(f, 'g', 15, 64) }
