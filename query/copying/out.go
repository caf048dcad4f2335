// Package copying reads and writes the formats of COPY: text, csv and binary. The options are parsed in package parse,
// and the messages of the protocol are those of package pgwire.
package copying

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/charset"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/types"
)

// Column is a column of the rows that are copied.
type Column struct {
	Name string
	Type types.OID
}

// Out writes rows in the formats of COPY TO STDOUT (PostgreSQL 15, COPY, "File Formats").
type Out struct {
	opts   *ast.Copy
	names  []string
	types  []types.OID
	force  []bool // FORCE_QUOTE
	env    *types.Env
	Line   []byte // what was written last
	begun  bool
	signed bool
	ended  bool
	rows   int64
	buffer []byte
	// escapes is for the text format.
	escapes [256]byte
}

// binarySignature begins a binary copy: the signature, the flags and the length of the header extension.
const binarySignature = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// NewOut returns an Out for the columns of a query.
func NewOut(o *ast.Copy, cols []Column, env *types.Env) *Out {
	c := &Out{opts: o, env: env, escapes: textEscapes(o.Delimiter)}
	for _, col := range cols {
		c.names = append(c.names, col.Name)
		c.types = append(c.types, col.Type)
		c.force = append(c.force, slices.Contains(o.ForceQuote, "*") || slices.Contains(o.ForceQuote, col.Name))
	}
	return c
}

// Binary reports whether the format is binary.
func (c *Out) Binary() bool { return c.opts.Format == "binary" }

// Tag counts rows, without the header line.
func (c *Out) Tag(int64) string { return "COPY " + strconv.FormatInt(c.rows, 10) }

// AppendLine appends the line in the character set of the data.
func (c *Out) AppendLine(dst []byte) ([]byte, error) {
	if e := charsetOf(c.opts, c.env); e != nil {
		return e.Encode(dst, string(c.Line))
	}
	return append(dst, c.Line...), nil
}

// charsetOf returns the character set of the data of a COPY, nil if it is not converted as a whole: UTF-8, and the
// binary format, whose values have the client's.
func charsetOf(o *ast.Copy, env *types.Env) *charset.Encoding {
	e := env.Charset
	if o.Encoding != "" {
		e, _ = charset.Find(o.Encoding)
	}
	if o.Format == "binary" || !e.Converts() {
		return nil
	}
	return e
}

// Begin writes the header line if there is one and it has not been sent yet.
func (c *Out) Begin() bool {
	if c.begun {
		return false
	}
	c.begun = true
	if c.opts.Header && !c.Binary() {
		c.Line = c.Line[:0]
		for i, n := range c.names {
			if i > 0 {
				c.Line = append(c.Line, c.opts.Delimiter...)
			}
			if c.opts.Format == "csv" {
				c.Line = c.csv(c.Line, n, false)
			} else {
				c.Line = c.text(c.Line, n)
			}
		}
		c.Line = append(c.Line, '\n')
		return true
	}
	return false
}

// signature adds the header of the binary format. Clients expect it in one message with what follows: the first row, or
// the trailer.
func (c *Out) signature() {
	if c.Binary() && !c.signed {
		c.signed = true
		c.Line = append(c.Line, binarySignature...)
	}
}

// Finish writes the trailer of the binary format.
func (c *Out) Finish() bool {
	if c.ended || !c.Binary() {
		return false
	}
	c.ended = true
	c.Line = c.Line[:0]
	c.signature()
	c.Line = append(c.Line, 0xff, 0xff)
	return true
}

// Row writes a row.
func (c *Out) Row(row []types.Datum) error {
	c.rows++
	c.Line = c.Line[:0]
	if c.Binary() {
		return c.binaryRow(row)
	}
	for i := range row {
		if i > 0 {
			c.Line = append(c.Line, c.opts.Delimiter...)
		}
		d := &row[i]
		var s string
		switch d.K {
		case types.KNull:
			c.Line = append(c.Line, c.opts.Null...)
			continue
		case types.KJSON:
			s = d.S // the document's own text
		case types.KText:
			s = types.TextOf(*d, c.types[i], c.env)
		default:
			c.buffer = types.AppendText(c.buffer[:0], *d, c.types[i], c.env)
			s = string(c.buffer)
		}
		if c.opts.Format == "csv" {
			c.Line = c.csv(c.Line, s, c.force[i])
		} else {
			c.Line = c.text(c.Line, s)
		}
	}
	c.Line = append(c.Line, '\n')
	return nil
}

func (c *Out) binaryRow(row []types.Datum) error {
	c.signature()
	c.Line = binary.BigEndian.AppendUint16(c.Line, uint16(len(row)))
	for i, d := range row {
		at := len(c.Line)
		c.Line = append(c.Line, 0xff, 0xff, 0xff, 0xff)
		if d.IsNull() {
			continue
		}
		var err error
		if c.Line, err = types.AppendBinary(c.Line, d, c.types[i], c.env); err != nil {
			return err
		}
		binary.BigEndian.PutUint32(c.Line[at:], uint32(len(c.Line)-at-4))
	}
	return nil
}

// text escapes for the text format.
func (c *Out) text(dst []byte, s string) []byte {
	from := 0 // what is before it has been written
	for i := range len(s) {
		if e := c.escapes[s[i]]; e != 0 {
			dst = append(append(dst, s[from:i]...), '\\', e)
			from = i + 1
		}
	}
	return append(dst, s[from:]...)
}

// textEscapes returns the letter that follows a backslash in place of each byte, or 0 for bytes that are not escaped.
func textEscapes(delimiter string) (letters [256]byte) {
	if delimiter != "" {
		letters[delimiter[0]] = delimiter[0]
	}
	for b, letter := range map[byte]byte{'\\': '\\', '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f', '\v': 'v'} {
		letters[b] = letter
	}
	return letters
}

// csv quotes a value if necessary: if it contains the delimiter, the quote or a line break, if it reads as NULL, or if
// it is \. on its own line.
func (c *Out) csv(dst []byte, s string, force bool) []byte {
	if !force && s != c.opts.Null && !(s == `\.` && len(c.names) == 1) &&
		!strings.ContainsAny(s, c.opts.Delimiter+c.opts.Quote+"\n\r") {
		return append(dst, s...)
	}
	q, e := c.opts.Quote[0], c.opts.Escape[0]
	dst = append(dst, q)
	for i := range len(s) {
		if s[i] == q || s[i] == e {
			dst = append(dst, e)
		}
		dst = append(dst, s[i])
	}
	return append(dst, q)
}
