package copying

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// In reads rows in the formats of COPY FROM STDIN (PostgreSQL 15, COPY, "File Formats").
type In struct {
	opts *ast.Copy
	cols []Column
	env  *types.Env
	data []byte // not read yet; begins with a row
	// tried is the length of data in which no complete row was found, 0 if there may be one. last is set once all data
	// has been received.
	tried int
	last  bool
	// forceNotNull and forceNull are the options of csv, by column.
	forceNotNull, forceNull []bool
	begun, ended            bool
	newline                 string // the end of lines; "" before the first
	row                     []types.Datum
	line                    int
	// For an error: the line that has been read, nil before, and of a value the column, and the value if it is text.
	text   []byte
	column string
	short  bool // the binary data ended too early
}

// ErrMore is returned by Next if the data has no complete row, and more can come.
var ErrMore = errors.New("the row is not complete")

// NewIn returns an In for the columns that the data has.
func NewIn(o *ast.Copy, cols []Column, env *types.Env) *In {
	c := &In{opts: o, cols: cols, env: env, row: make([]types.Datum, len(cols))}
	for _, col := range cols {
		c.forceNotNull = append(c.forceNotNull, slices.Contains(o.ForceNotNull, col.Name))
		c.forceNull = append(c.forceNull, slices.Contains(o.ForceNull, col.Name))
	}
	return c
}

func malformed(format string, args ...any) *sqlstate.Error {
	return sqlstate.New(sqlstate.BadCopyFormat, format, args...)
}

// Feed adds data, which it copies. last is set if no more comes.
func (c *In) Feed(data []byte, last bool) {
	if c.last = last; c.ended && c.opts.Format != "binary" {
		return // after the mark of the end
	}
	c.data = append(c.data, data...)
}

// Left returns the length of the data that is no complete row yet.
func (c *In) Left() int { return len(c.data) }

// Next returns the next row, ErrMore if it needs more data, or io.EOF. The slice is valid until the next call.
func (c *In) Next() ([]types.Datum, error) {
	// A long row that comes in many pieces is looked at each time when its data has doubled.
	if !c.last && c.tried > 0 && len(c.data) < 2*c.tried {
		return nil, ErrMore
	}
	row, err := c.next()
	if c.tried = 0; errors.Is(err, ErrMore) {
		c.tried = len(c.data)
	}
	return row, c.located(err)
}

// located adds to an error of the current row where it is, as PostgreSQL does (CopyFromErrorCallback in its
// copyfrom.c).
func (c *In) located(err error) error {
	var e *sqlstate.Error
	if !errors.As(err, &e) || c.line == 0 {
		return err
	}
	where := c.column
	if where == "" && c.text != nil {
		where = ": " + shown(string(c.text))
	}
	return e.Within("COPY docs, line %d%s", c.line, where)
}

// shown returns the beginning of a line or value in quotes.
func shown(s string) string {
	if len(s) > maxShown {
		s = types.Truncate(s, maxShown) + "..."
	}
	return `"` + s + `"`
}

func (c *In) next() ([]types.Datum, error) {
	if c.opts.Format == "binary" {
		data, begun, line := c.data, c.begun, c.line
		err := c.binary()
		if c.short && !c.last {
			c.data, c.begun, c.line, err = data, begun, line, ErrMore
		}
		return c.row, err
	}
	for {
		fields, err := c.fields()
		if err != nil {
			return nil, err
		}
		first := !c.begun
		c.begun = true
		if !first || !c.opts.Header && !c.opts.HeaderMatch {
			return c.row, c.values(fields)
		}
		if err := c.header(fields); err != nil {
			return nil, err
		}
	}
}

// field is a field of a line.
type field struct {
	text string
	null bool
}

// header checks the header line, whose names must be those of the columns if that is asked for.
func (c *In) header(fields []field) error {
	if !c.opts.HeaderMatch {
		return nil
	}
	if len(fields) != len(c.cols) {
		return malformed("wrong number of fields in header line: got %d, expected %d", len(fields), len(c.cols))
	}
	for i, f := range fields {
		if f.null {
			return malformed(`column name mismatch in header line field %d: got null value ("%s"), expected "%s"`, i+1,
				c.opts.Null, c.cols[i].Name)
		}
		if f.text != c.cols[i].Name {
			return malformed(`column name mismatch in header line field %d: got "%s", expected "%s"`, i+1, f.text,
				c.cols[i].Name)
		}
	}
	return nil
}

// values reads the fields of a line as the types of the columns.
func (c *In) values(fields []field) error {
	if len(fields) > len(c.cols) {
		return malformed("extra data after last expected column")
	}
	if len(fields) < len(c.cols) {
		return malformed(`missing data for column "%s"`, c.cols[len(fields)].Name)
	}
	for i, f := range fields {
		if f.null {
			c.row[i] = types.Null
			continue
		}
		if err := sqlstate.CheckUTF8(f.text); err != nil {
			if sqlstate.CheckUTF8(string(c.text)) != nil {
				c.text = nil // it cannot be shown
			}
			return err
		}
		var err error
		if c.row[i], err = types.ParseText(f.text, c.cols[i].Type, c.env); err != nil {
			c.column = ", column " + c.cols[i].Name + ": " + shown(f.text)
			return err
		}
	}
	return nil
}

// maxShown is the number of bytes of a value in the context of an error.
const maxShown = 100

// fields reads a line.
func (c *In) fields() ([]field, error) {
	if c.ended || len(c.data) == 0 && c.last {
		return nil, io.EOF
	}
	c.line++
	c.text = nil
	if c.opts.Format == "csv" {
		return c.csvFields()
	}
	line, err := c.textLine()
	if err != nil {
		return nil, err
	}
	if string(line) == `\.` {
		c.ended = true
		return nil, io.EOF
	}
	c.text = line
	var out []field
	delimiter := c.opts.Delimiter[0]
	for from, i := 0, 0; ; i++ {
		switch {
		case i < len(line) && line[i] == '\\':
			i++
			continue
		case i < len(line) && line[i] != delimiter:
			continue
		}
		raw := line[from:min(i, len(line))]
		if string(raw) == c.opts.Null {
			out = append(out, field{null: true})
		} else {
			out = append(out, field{text: unescaped(raw)})
		}
		if from = i + 1; i >= len(line) {
			return out, nil
		}
	}
}

// textLine takes a line in the text format, without its end. All lines must end in the same way.
func (c *In) textLine() ([]byte, error) {
	for i := 0; i < len(c.data); i++ {
		var end string
		switch b := c.data[i]; {
		case b == '\\':
			i++
			continue
		case b == '\r' && i+1 == len(c.data) && !c.last:
			return nil, c.more()
		case b == '\r' && i+1 < len(c.data) && c.data[i+1] == '\n' && c.newline != "\r" && c.newline != "\n":
			end = "\r\n"
		case b == '\n', b == '\r':
			end = string(b)
		default:
			continue
		}
		if c.newline != "" && c.newline != end {
			what, hint := "literal carriage return found in data", `Use "\r" to represent carriage return.`
			if end == "\n" {
				what, hint = "literal newline found in data", `Use "\n" to represent newline.`
			}
			return nil, malformed("%s", what).WithHint("%s", hint)
		}
		line := c.data[:i]
		c.newline, c.data = end, c.data[i+len(end):]
		return line, nil
	}
	if !c.last {
		return nil, c.more()
	}
	line := c.data
	c.data = nil
	return line, nil
}

// more returns ErrMore for a line that has been begun.
func (c *In) more() error {
	c.line--
	return ErrMore
}

// escapes are the letters after a backslash that stand for control characters.
var escapes = map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// unescaped returns the value of a field in the text format.
func unescaped(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	digits := func(from, most int, base byte) (value, n int) {
		for n < most && from+n < len(raw) {
			d := raw[from+n] | 0x20
			switch {
			case raw[from+n] >= '0' && raw[from+n] <= '9' && raw[from+n]-'0' < base:
				d = raw[from+n] - '0'
			case base == 16 && d >= 'a' && d <= 'f':
				d -= 'a' - 10
			default:
				return value, n
			}
			value, n = value*int(base)+int(d), n+1
		}
		return value, n
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			out = append(out, raw[i])
			continue
		}
		i++
		if b, ok := escapes[raw[i]]; ok {
			out = append(out, b)
			continue
		}
		if v, n := digits(i, 3, 8); n > 0 {
			out, i = append(out, byte(v)), i+n-1
			continue
		}
		if raw[i] == 'x' {
			if v, n := digits(i+1, 2, 16); n > 0 {
				out, i = append(out, byte(v)), i+n
				continue
			}
		}
		out = append(out, raw[i])
	}
	return string(out)
}

// csvFields takes a line in the csv format.
func (c *In) csvFields() ([]field, error) {
	delimiter, quote, escape := c.opts.Delimiter[0], c.opts.Quote[0], c.opts.Escape[0]
	var out []field
	var value []byte
	quoted, inside := false, false
	add := func() {
		at, text := len(out), string(value)
		force := at < len(c.cols) && c.forceNotNull[at]
		null := text == c.opts.Null && (!quoted && !force || at < len(c.cols) && quoted && c.forceNull[at])
		out = append(out, field{text: text, null: null})
		value, quoted = value[:0], false
	}
	start, breaks, lineBreak := c.data, 0, byte('\r')
	if c.newline == "\n" { // known from the second line on, as in PostgreSQL
		lineBreak = '\n'
	}
	for i := 0; ; i++ {
		// The last byte may be the first of two.
		if ahead := i+1 == len(c.data) && (inside && c.data[i] == escape || c.data[i] == '\r'); !c.last &&
			(ahead || i >= len(c.data)) {
			return nil, c.more()
		}
		if i >= len(c.data) {
			c.text = start
			if inside {
				c.line += breaks
				return nil, malformed("unterminated CSV quoted field")
			}
			c.data = nil
			c.line += breaks
			add()
			return out, c.endOfCSV(start, len(start))
		}
		b := c.data[i]
		switch {
		case inside && b == escape && i+1 < len(c.data) && (c.data[i+1] == quote || c.data[i+1] == escape):
			i++
			value = append(value, c.data[i])
		case b == quote:
			inside, quoted = !inside, true
		case inside:
			if value = append(value, b); b == lineBreak {
				breaks++
			}
		case b == delimiter:
			add()
		case b == '\n' || b == '\r':
			n := 1
			if b == '\r' && i+1 < len(c.data) && c.data[i+1] == '\n' {
				n = 2
			}
			end := string(c.data[i : i+n])
			if c.newline != "" && c.newline != end {
				what := "carriage return"
				if b == '\n' {
					what = "newline"
				}
				return nil, malformed("unquoted %s found in data", what).
					WithHint("Use quoted CSV field to represent %s.", what)
			}
			c.text = start[:i]
			c.newline, c.data = end, c.data[i+n:]
			c.line += breaks
			add()
			return out, c.endOfCSV(start, i)
		default:
			value = append(value, b)
		}
	}
}

// endOfCSV returns io.EOF if a line is the mark of the end.
func (c *In) endOfCSV(start []byte, n int) error {
	if string(start[:n]) == `\.` {
		c.ended = true
		return io.EOF
	}
	return nil
}

// binary reads a row in the binary format.
func (c *In) binary() error {
	c.short, c.column = false, ""
	take := func(n int) []byte {
		if n > len(c.data) {
			c.short = true
			return nil
		}
		b := c.data[:n:n]
		c.data = c.data[n:]
		return b
	}
	if !c.begun {
		c.begun = true
		head := take(len(binarySignature) - 8)
		flags, length := take(4), take(4)
		switch {
		case string(head) != binarySignature[:len(binarySignature)-8]:
			return malformed("COPY file signature not recognized")
		case flags == nil:
			return malformed("invalid COPY file header (missing flags)")
		case binary.BigEndian.Uint32(flags)&0xffff0000 != 0:
			return malformed("unrecognized critical flags in COPY file header")
		case length == nil:
			return malformed("invalid COPY file header (missing length)")
		case int32(binary.BigEndian.Uint32(length)) < 0 || take(int(binary.BigEndian.Uint32(length))) == nil:
			return malformed("invalid COPY file header (wrong length)")
		}
	}
	if len(c.data) == 0 {
		c.short = !c.ended
		return io.EOF
	}
	if c.ended {
		return malformed("received copy data after EOF marker")
	}
	c.line++
	head := take(2)
	if head == nil {
		return errBinaryEnd
	}
	switch n := int16(binary.BigEndian.Uint16(head)); {
	case n == -1:
		c.ended = true
		if len(c.data) > 0 {
			return malformed("received copy data after EOF marker")
		}
		return io.EOF
	case int(n) != len(c.cols):
		return malformed("row field count is %d, expected %d", n, len(c.cols))
	}
	for i := range c.cols {
		if err := c.binaryValue(i, take); err != nil {
			c.column = ", column " + c.cols[i].Name
			return err
		}
	}
	return nil
}

// binaryValue reads the value of a column.
func (c *In) binaryValue(i int, take func(n int) []byte) (err error) {
	length := take(4)
	if length == nil {
		return errBinaryEnd
	}
	n := int(int32(binary.BigEndian.Uint32(length)))
	if n == -1 {
		c.row[i] = types.Null
		return nil
	}
	value := take(max(n, 0))
	if n < 0 {
		return malformed("invalid field size")
	}
	if value == nil {
		return errBinaryEnd
	}
	c.row[i], err = types.ParseBinary(value, c.cols[i].Type, c.env)
	return err
}

var errBinaryEnd = malformed("unexpected EOF in COPY data")
