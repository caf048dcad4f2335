package pgwire

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/divandb/divan/query/sqlstate"
)

// SetEncoding implements Client.
func (l *link) SetEncoding(e Encoding) { l.encoding = e }

// decode converts texts of a message to UTF-8.
func (c *conn) decode(texts ...*string) error {
	if c.encoding == nil {
		return nil
	}
	for _, text := range texts {
		if n := int64(len(*text)); n > freeMessage {
			// The converted text may be three times as long.
			if err := c.session.Grow(3 * n); err != nil {
				return err
			}
			c.in.held += 3 * n
		}
		var err error
		if *text, err = c.encoding.Decode(*text); err != nil {
			return err
		}
	}
	return nil
}

// encode converts a text for a message.
func (l *link) encode(text string) (string, error) {
	if l.encoding == nil {
		return text, nil
	}
	out, err := l.encoding.Encode(nil, text)
	return string(out), err
}

// encodeAnyway is encode with question marks for what the client's character set does not have.
func (l *link) encodeAnyway(text string) string {
	if out, err := l.encode(text); err == nil {
		return out
	}
	var out []byte
	for _, r := range text {
		var err error
		if out, err = l.encoding.Encode(out, string(r)); err != nil {
			out = append(out, '?')
		}
	}
	return string(out)
}

// errorResponse makes the message of an error. If its text cannot be converted, that is the error, as in PostgreSQL.
func (l *link) errorResponse(severity string, e *sqlstate.Error) *pgproto3.ErrorResponse {
	m := errorResponse(severity, e)
	for _, text := range []*string{&m.Message, &m.Detail, &m.Hint, &m.Where, &m.SchemaName, &m.TableName,
		&m.ColumnName, &m.ConstraintName} {
		var err error
		if *text, err = l.encode(*text); err != nil {
			return errorResponse(severity, sqlstate.From(err))
		}
	}
	return m
}
