package types

import (
	"time"

	"github.com/divandb/divan/query/datetime"
)

// Env is what text forms depend on in a session.
type Env struct {
	// Location is the session's time zone; nil is UTC.
	Location *time.Location
	// ByteaEscape selects bytea_output = escape.
	ByteaEscape bool
	// DateOrder is how 1/2/2024 is read: "MDY", which "" is too, "DMY", or "YMD", in which it is no date.
	DateOrder string
	// IntervalStyle is PostgreSQL's setting; "" is postgres.
	IntervalStyle string
	// LooseJSON reads what is compared with a jsonb: a text that is not valid JSON is the string that it spells.
	LooseJSON bool
}

func (e *Env) intervalStyle() datetime.Style {
	if e == nil {
		return ""
	}
	return datetime.Style(e.IntervalStyle)
}

func (e *Env) location() *time.Location {
	if e == nil || e.Location == nil {
		return time.UTC
	}
	return e.Location
}
