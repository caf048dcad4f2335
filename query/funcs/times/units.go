package times

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// units are the names of parts of times that PostgreSQL takes, with the one that is used here (deltatktbl and datetktbl
// in its datetime.c). Longer names are told apart by their first ten letters there.
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

// unitOf is the name used here of a part of a time.
func unitOf(name string) string {
	name = strings.ToLower(name)
	if unit, ok := units[name]; ok {
		return unit
	}
	return name
}

// knownUnits are all parts of times that have a meaning for some type.
var knownUnits = []string{"microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter",
	"year", "decade", "century", "millennium", "julian", "dow", "isodow", "doy", "isoyear", "epoch", "timezone",
	"timezone_hour", "timezone_minute"}

// badUnit is the error for a part that a type does not have: one that others have is not supported, and otherwise not
// recognized. Some functions know fewer parts than extract, which only is for them.
func badUnit(name string, t types.OID, few bool) error {
	name = strings.ToLower(name)
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
