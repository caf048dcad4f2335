package query

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// copier writes rows in the formats of COPY TO STDOUT (PostgreSQL 15, COPY, "File Formats").
type copier struct {
	opts   *ast.Copy
	names  []string
	types  []types.OID
	force  []bool // FORCE_QUOTE
	env    *types.Env
	line   []byte
	begun  bool
	signed bool
	ended  bool
	rows   int64
	buffer []byte
}

// binarySignature begins a binary copy: the signature, the flags and the length of the header extension.
const binarySignature = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

func newCopier(o *ast.Copy, cols []pgwire.Column, env *types.Env) *copier {
	c := &copier{opts: o, env: env}
	for _, col := range cols {
		c.names = append(c.names, col.Name)
		c.types = append(c.types, types.OID(col.OID))
		c.force = append(c.force, slices.Contains(o.ForceQuote, "*") || slices.Contains(o.ForceQuote, col.Name))
	}
	return c
}

// checkCopy checks the encoding and the names of columns. err is the error of binding the query.
func checkCopy(c *ast.Copy, bound *bind.Bound, err error) error {
	if c.Encoding != "" {
		switch _, err := utf8Only(c.Encoding); {
		case errors.Is(err, errInvalid):
			return sqlstate.New(sqlstate.InvalidParameterValue,
				"argument to option %q must be a valid encoding name", "encoding").At(c.EncodingAt.Pos())
		case err != nil:
			return sqlstate.Unsupported(c.EncodingAt.Pos(), "Use UTF8.", "encoding %q is not supported", c.Encoding)
		}
	}
	missing := func(message string) string {
		if c.Table == nil {
			return message
		}
		of := fmt.Sprintf("of relation %q does not exist", c.Table.Name[len(c.Table.Name)-1])
		return strings.Replace(message, "does not exist", of, 1)
	}
	if err != nil {
		var e *sqlstate.Error
		if errors.As(err, &e) && e.Code == sqlstate.UndefinedColumn {
			of := *e
			of.Message, err = missing(e.Message), &of
		}
		return err
	}
	copied := make([]string, len(bound.Columns))
	for i, col := range bound.Columns {
		copied[i] = col.Name
	}
	known := copied
	if c.Table != nil {
		known = bound.Relation()
	}
	if c.Columns != nil {
		if err := distinctColumns(c.Columns); err != nil {
			return err
		}
	}
	if len(c.ForceQuote) == 1 && c.ForceQuote[0] == "*" {
		return nil
	}
	for _, name := range c.ForceQuote {
		if !slices.Contains(known, name) {
			return sqlstate.New(sqlstate.UndefinedColumn, "%s", missing(fmt.Sprintf("column %q does not exist", name)))
		}
	}
	if err := distinctColumns(c.ForceQuote); err != nil {
		return err
	}
	for _, name := range c.ForceQuote {
		if !slices.Contains(copied, name) {
			return sqlstate.New(sqlstate.InvalidColumnReference, "FORCE_QUOTE column %q not referenced by COPY", name)
		}
	}
	return nil
}

// distinctColumns refuses a column that is named twice.
func distinctColumns(names []string) error {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return sqlstate.New(sqlstate.DuplicateColumn, "column %q specified more than once", name)
		}
	}
	return nil
}

func (c *copier) binary() bool { return c.opts.Format == "binary" }

// tag counts rows, without the header line.
func (c *copier) tag(int64) string { return "COPY " + strconv.FormatInt(c.rows, 10) }

// begin writes the header line if there is one and it has not been sent yet.
func (c *copier) begin() bool {
	if c.begun {
		return false
	}
	c.begun = true
	if c.opts.Header && !c.binary() {
		c.line = c.line[:0]
		for i, n := range c.names {
			if i > 0 {
				c.line = append(c.line, c.opts.Delimiter...)
			}
			if c.opts.Format == "csv" {
				c.line = c.csv(c.line, n, false)
			} else {
				c.line = c.text(c.line, n)
			}
		}
		c.line = append(c.line, '\n')
		return true
	}
	return false
}

// signature adds the header of the binary format. Clients expect it in one message with what follows: the first row, or
// the trailer.
func (c *copier) signature() {
	if c.binary() && !c.signed {
		c.signed = true
		c.line = append(c.line, binarySignature...)
	}
}

// finish writes the trailer of the binary format.
func (c *copier) finish() bool {
	if c.ended || !c.binary() {
		return false
	}
	c.ended = true
	c.line = c.line[:0]
	c.signature()
	c.line = append(c.line, 0xff, 0xff)
	return true
}

func (c *copier) row(row []types.Datum) error {
	c.rows++
	c.line = c.line[:0]
	if c.binary() {
		return c.binaryRow(row)
	}
	for i, d := range row {
		if i > 0 {
			c.line = append(c.line, c.opts.Delimiter...)
		}
		if d.IsNull() {
			c.line = append(c.line, c.opts.Null...)
			continue
		}
		if d.K == types.KJSON {
			c.buffer = append(c.buffer[:0], d.S...) // the document's own text
		} else {
			c.buffer = types.AppendText(c.buffer[:0], d, c.types[i], c.env)
		}
		if c.opts.Format == "csv" {
			c.line = c.csv(c.line, string(c.buffer), c.force[i])
		} else {
			c.line = c.text(c.line, string(c.buffer))
		}
	}
	c.line = append(c.line, '\n')
	return nil
}

func (c *copier) binaryRow(row []types.Datum) error {
	c.signature()
	c.line = binary.BigEndian.AppendUint16(c.line, uint16(len(row)))
	for i, d := range row {
		at := len(c.line)
		c.line = append(c.line, 0xff, 0xff, 0xff, 0xff)
		if d.IsNull() {
			continue
		}
		var err error
		if c.line, err = types.AppendBinary(c.line, d, c.types[i], c.env); err != nil {
			return err
		}
		binary.BigEndian.PutUint32(c.line[at:], uint32(len(c.line)-at-4))
	}
	return nil
}

// text escapes for the text format.
func (c *copier) text(dst []byte, s string) []byte {
	for i := range len(s) {
		switch b := s[i]; b {
		case '\\':
			dst = append(dst, '\\', '\\')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\v':
			dst = append(dst, '\\', 'v')
		case c.opts.Delimiter[0]:
			dst = append(dst, '\\', b)
		default:
			dst = append(dst, b)
		}
	}
	return dst
}

// csv quotes a value if necessary: if it contains the delimiter, the quote or a line break, if it reads as NULL, or if
// it is \. on its own line.
func (c *copier) csv(dst []byte, s string, force bool) []byte {
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
