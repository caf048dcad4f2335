package quantities

import (
	"regexp"
	"slices"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
)

// unsupported has the switches that can be set in one way only, because statements mean the same either way here. It
// has the value that is refused, and what to do instead.
var unsupported = map[string]struct{ value, hint string }{
	"array_nulls":                 {"off", `Write "NULL" with quotes for an item with that text.`},
	"standard_conforming_strings": {"off", "Write E'...' for escapes."},
	"transform_null_equals":       {"on", "Write IS NULL."},
}

// Switch returns a check for a boolean setting. A value that would change what statements mean is refused, if Divan
// does not implement it.
func Switch(name string) func(string) (string, error) {
	not, some := unsupported[name]
	if !some {
		return Boolean
	}
	return func(v string) (string, error) {
		b, err := Boolean(v)
		if err == nil && b == not.value {
			return "", sqlstate.Unsupported(-1, not.hint, "%s cannot be turned %s", name, b)
		}
		return b, err
	}
}

// Word returns a check for a setting that is a text, nil if every text will do.
func Word(name string) func(string) (string, error) {
	if name == "timezone_abbreviations" {
		return abbreviations
	}
	return nil
}

// abbreviations checks the name of a set of abbreviations of time zones. PostgreSQL is installed with three.
func abbreviations(v string) (string, error) {
	switch v {
	case "Default":
		return v, nil
	case "Australia", "India":
		return "", sqlstate.Unsupported(-1, "Write an offset, such as +05:30, or the name of a zone.",
			`timezone_abbreviations "%s" is not supported`, v)
	}
	return "", ErrInvalid
}

// locale is a name of a locale as setlocale takes them: language, country, character set and modifier.
var locale = regexp.MustCompile(`^([a-z]{2,3}_[A-Z]{2})(\.[A-Za-z0-9-]+)?(@[A-Za-z]+)?$`)

// Locale returns a check for the name of a locale. The one of C is the only one that Divan has; same are others that
// write the same, such as en_US.
func Locale(name string, same ...string) func(string) (string, error) {
	return func(v string) (string, error) {
		m := locale.FindStringSubmatch(v)
		switch base, set, _ := strings.Cut(v, "."); {
		case v == "", v == "C", v == "POSIX":
			return v, nil
		case base == "C" && (strings.EqualFold(set, "UTF-8") || strings.EqualFold(set, "utf8")):
			return v, nil
		case m == nil:
			return "", ErrInvalid
		case slices.Contains(same, m[1]):
			return v, nil
		}
		return "", sqlstate.Unsupported(-1, "Use C, and format texts in the client.",
			`%s "%s" is not supported`, name, v)
	}
}
