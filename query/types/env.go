package types

import (
	"time"

	"github.com/divandb/divan/query/charset"
	"github.com/divandb/divan/query/datetime"
	"github.com/divandb/divan/query/sqlstate"
)

// Env holds the session settings that text forms depend on.
type Env struct {
	// Location is the session's time zone; nil is UTC.
	Location *time.Location
	// ByteaEscape selects bytea_output = escape.
	ByteaEscape bool
	// QuoteAll is quote_all_identifiers.
	QuoteAll bool
	// DateOrder is how 1/2/2024 is read: "MDY" (also ""), "DMY", or "YMD", which refuses it.
	DateOrder string
	// IntervalStyle is PostgreSQL's setting; "" is postgres.
	IntervalStyle string
	// LooseJSON is set when a text is read for a comparison with a jsonb: a text that is not valid JSON stands for the
	// JSON string of its characters.
	LooseJSON bool
	// Charset is the client's character set, which the binary forms of texts have too; nil is UTF-8.
	Charset *charset.Encoding
	// Now is what the word now means: the start of the transaction. The zero time is the present.
	Now time.Time
}

func (e *Env) now() time.Time {
	if e == nil || e.Now.IsZero() {
		return time.Now()
	}
	return e.Now
}

// Encode appends a text in the client's character set.
func (e *Env) Encode(dst []byte, text string) ([]byte, error) {
	if e == nil || e.Charset == nil {
		return append(dst, text...), nil
	}
	return e.Charset.Encode(dst, text)
}

// Decode returns a text of the client in UTF-8.
func (e *Env) Decode(text string) (string, error) {
	if e == nil || e.Charset == nil {
		return text, sqlstate.CheckUTF8(text)
	}
	return e.Charset.Decode(text)
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
