package quantities_test

import (
	"errors"
	"testing"

	"github.com/divandb/divan/query/quantities"
	"github.com/divandb/divan/query/sqlstate"
)

// TestUnsupported sets values that would change what statements mean, some that do not, and some that no server takes.
func TestUnsupported(t *testing.T) {
	nulls, abbreviations := quantities.Switch("array_nulls"), quantities.Word("timezone_abbreviations")
	times := quantities.Locale("lc_time", "en_US")
	const ok, refused, invalid = sqlstate.Code(""), sqlstate.FeatureNotSupported, sqlstate.InvalidParameterValue
	for _, c := range []struct {
		check func(string) (string, error)
		value string
		code  sqlstate.Code
	}{
		{nulls, "on", ok}, {nulls, "1", ok}, {nulls, "of", refused}, {nulls, "x", invalid},
		{quantities.Switch("transform_null_equals"), "off", ok},
		{quantities.Switch("transform_null_equals"), "yes", refused},
		{quantities.Switch("enable_sort"), "off", ok}, {quantities.Switch("enable_sort"), "on", ok},
		{abbreviations, "Default", ok}, {abbreviations, "India", refused}, {abbreviations, "default", invalid},
		{times, "", ok}, {times, "POSIX", ok}, {times, "C.utf8", ok}, {times, "C.UTF-8", ok}, {times, "en_US", ok},
		{times, "en_US.UTF-8", ok}, {times, "de_DE.UTF-8", refused}, {times, "de_DE@euro", refused},
		{times, "c", invalid}, {times, "xx", invalid}, {times, "C.UTF-9", invalid}, {times, "german", invalid},
	} {
		_, err := c.check(c.value)
		var e *sqlstate.Error
		switch {
		case c.code == ok:
			if err != nil {
				t.Errorf("%q: %v", c.value, err)
			}
		case !errors.As(err, &e) || e.Code != c.code || (c.code == refused) != (e.Hint != ""):
			t.Errorf("%q: got %+v, want %s", c.value, err, c.code)
		}
	}
}
