package quantities

import (
	"fmt"
	"slices"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
)

// ErrBoolean is the error for a value that is no boolean. The caller replaces its message.
var ErrBoolean = sqlstate.New(sqlstate.InvalidParameterValue, "requires a Boolean value")

// OneOf returns a check for a setting that has one of some values.
func OneOf(values ...string) func(string) (string, error) {
	return func(v string) (string, error) {
		if i := slices.Index(values, strings.ToLower(v)); i >= 0 {
			return values[i], nil
		}
		c := *ErrInvalid
		c.Hint = "Available values: " + strings.Join(values, ", ") + "."
		return "", &c
	}
}

// Boolean checks a boolean.
func Boolean(v string) (string, error) {
	switch strings.ToLower(v) {
	case "on", "true", "tru", "tr", "t", "yes", "ye", "y", "1":
		return "on", nil
	case "off", "of", "false", "fals", "fal", "fa", "f", "no", "n", "0":
		return "off", nil
	}
	return "", ErrBoolean
}

// DateStyle accepts ISO with any field order. The order is used for reading dates.
func DateStyle(v string) (string, error) {
	order := "MDY"
	for _, word := range strings.Split(strings.ToLower(v), ",") {
		switch word = strings.TrimSpace(word); word {
		case "", "iso":
		case "ymd", "dmy", "mdy":
			order = strings.ToUpper(word)
		case "euro", "european":
			order = "DMY"
		case "us", "noneuro", "noneuropean", "default":
			order = "MDY"
		case "sql", "postgres", "postgresql", "german":
			return "", sqlstate.Unsupported(-1, "Use ISO.", `DateStyle "%s" is not supported`, v)
		default:
			c := *ErrInvalid
			c.Detail = fmt.Sprintf(`Unrecognized key word: "%s".`, strings.TrimSpace(word))
			return "", &c
		}
	}
	return "ISO, " + order, nil
}
