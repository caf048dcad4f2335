package datetime

import (
	"errors"

	"github.com/divandb/divan/query/sqlstate"
)

// fault is the reason why a text cannot be read.
type fault uint8

const (
	badFormat fault = iota + 1
	fieldOverflow
	monthOverflow // a month or a day that is valid in another order of the fields
	zoneOverflow
)

func (f fault) Error() string { return "cannot be read" }

// explain returns the error that PostgreSQL reports for a fault in the text of a type.
func explain(err error, text, typ string) error {
	var f fault
	if !errors.As(err, &f) {
		return err
	}
	text = sqlstate.Excerpt(text)
	switch f {
	case fieldOverflow:
		return sqlstate.New(sqlstate.DatetimeOverflow, "date/time field value out of range: \"%s\"", text)
	case monthOverflow:
		return sqlstate.New(sqlstate.DatetimeOverflow, "date/time field value out of range: \"%s\"", text).
			WithHint("Perhaps you need a different \"datestyle\" setting.")
	case zoneOverflow:
		return sqlstate.New(sqlstate.InvalidZoneDisplacement, "time zone displacement out of range: \"%s\"", text)
	}
	return sqlstate.New(sqlstate.InvalidDatetimeFormat, "invalid input syntax for type %s: \"%s\"", typ, text)
}

func errRange(what string) error {
	return sqlstate.New(sqlstate.DatetimeOverflow, "%s out of range", what)
}
