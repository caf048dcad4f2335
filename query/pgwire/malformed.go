package pgwire

import (
	"bytes"
	"encoding/binary"

	"github.com/divandb/divan/query/sqlstate"
)

// layouts are the fields of messages: s a text that ends with a zero byte, c a byte, i a number of 4 bytes, h a list of
// numbers of 2 bytes, l a list of numbers of 4 bytes, v a list of values.
var layouts = map[byte]string{'Q': "s", 'P': "ssl", 'B': "sshvh", 'D': "cs", 'E': "si", 'C': "cs", 'f': "s"}

// malformed returns the error of a message that could not be decoded, as PostgreSQL finds it (pqformat.c).
func malformed(typ byte, body []byte) error {
	b := &fields{rest: body}
	for _, kind := range layouts[typ] {
		switch kind {
		case 's':
			end := bytes.IndexByte(b.rest, 0)
			if end < 0 {
				return sqlstate.New(sqlstate.ProtocolViolation, "invalid string in message")
			}
			b.rest = b.rest[end+1:]
		case 'c':
			b.skip(1)
		case 'i':
			b.skip(4)
		case 'h':
			b.skip(2 * b.count())
		case 'l':
			b.skip(4 * b.count())
		case 'v':
			for n := b.count(); n > 0 && !b.short; n-- {
				b.skip(max(b.size(), 0))
			}
		}
		if b.short {
			return sqlstate.New(sqlstate.ProtocolViolation, "insufficient data left in message")
		}
	}
	return errFormat
}

// errFormat is the error of a message with more than its fields.
var errFormat = sqlstate.New(sqlstate.ProtocolViolation, "invalid message format")

// fields reads the fields of a message.
type fields struct {
	rest  []byte
	short bool
}

func (f *fields) skip(n int) []byte {
	if f.short = f.short || n > len(f.rest); f.short {
		return make([]byte, 4)
	}
	b := f.rest[:n]
	f.rest = f.rest[n:]
	return b
}

func (f *fields) count() int { return max(int(int16(binary.BigEndian.Uint16(f.skip(2)))), 0) }
func (f *fields) size() int  { return int(int32(binary.BigEndian.Uint32(f.skip(4)))) }
