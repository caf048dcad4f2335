package times

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// units maps PostgreSQL's names for the parts of a time to the names used here (deltatktbl and datetktbl in its
// datetime.c). Only the first ten letters of a longer name count.
var units = map[string]string{}

func init() {
	for unit, names := range map[string]string{
		"microseconds":    "microsecond us usec usecs usecond useconds",
		"milliseconds":    "millisecond ms msec msecs msecond mseconds",
		"second":          "seconds s sec secs",
		"minute":          "minutes m min mins",
		"hour":            "hours h hr hrs",
		"day":             "days d",
		"week":            "weeks w",
		"month":           "months mon mons",
		"quarter":         "qtr",
		"year":            "years y yr yrs",
		"decade":          "decades dec decs",
		"century":         "centuries c cent",
		"millennium":      "millennia mil mils",
		"timezone_hour":   "timezone_h",
		"timezone_minute": "timezone_m",
	} {
		for _, name := range strings.Fields(names) {
			units[name] = unit
		}
	}
}

// unitOf returns the name used here for a part of a time.
func unitOf(name string) string {
	name = lowerASCII(name)
	if unit, ok := units[name]; ok {
		return unit
	}
	return name
}

// lowerASCII lowers only the letters of ASCII, as PostgreSQL does with key words.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

// knownUnits lists all parts of a time that some type has.
var knownUnits = []string{"microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter",
	"year", "decade", "century", "millennium", "julian", "dow", "isodow", "doy", "isoyear", "epoch", "timezone",
	"timezone_hour", "timezone_minute"}

// badUnit returns the error for a part that a type does not have: "not supported" if other types have it, otherwise
// "not recognized". few is set for functions that accept fewer parts than extract.
func badUnit(name string, t types.OID, few bool) error {
	name = lowerASCII(name)
	code, what := sqlstate.InvalidParameterValue, "recognized"
	known := knownUnits
	if few {
		known = []string{"timezone", "timezone_hour", "timezone_minute", "isoyear", "julian"}
	}
	if slices.Contains(known, unitOf(name)) {
		code, what = sqlstate.FeatureNotSupported, "supported"
	}
	return sqlstate.New(code, "unit \"%s\" not %s for type %s", name, what, types.NameOf(t))
}
