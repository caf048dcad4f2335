package funcs

import "strings"

// units are the names of parts of times that PostgreSQL takes, with the one that is used here (deltatktbl and datetktbl
// in its datetime.c). Longer names are told apart by their first ten letters there.
var units = map[string]string{}

func init() {
	for unit, names := range map[string]string{
		"microseconds": "microsecond us usec usecs usecond useconds",
		"milliseconds": "millisecond ms msec msecs msecond mseconds",
		"second":       "seconds s sec secs",
		"minute":       "minutes m min mins",
		"hour":         "hours h hr hrs",
		"day":          "days d",
		"week":         "weeks w",
		"month":        "months mon mons",
		"quarter":      "qtr",
		"year":         "years y yr yrs",
		"decade":       "decades dec decs",
		"century":      "centuries c cent",
		"millennium":   "millennia mil mils",
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
