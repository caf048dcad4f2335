package pgwire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/divandb/divan/query/sqlstate"
)

// dispatch handles one message. An error is sent as ErrorResponse.
func (c *conn) dispatch(ctx context.Context, typ byte, body []byte) error {
	if c.copying != nil {
		return c.receive(ctx, typ, body)
	}
	switch typ {
	case 'Q':
		return c.query(ctx, body)
	case 'P':
		return c.parse(ctx, body)
	case 'B':
		return c.bind(ctx, body)
	case 'D':
		return c.describe(ctx, body)
	case 'E':
		return c.execute(ctx, body)
	case 'C':
		return c.close(body)
	case 'S':
		c.discard = false
		if len(body) > 0 {
			return errFormat
		}
		if err := c.session.Sync(ctx); err != nil {
			return err
		}
		c.ready()
		return nil
	case 'H':
		if len(body) > 0 {
			return errFormat
		}
		return c.flush()
	case 'F':
		return sqlstate.Unsupported(-1, "Call the function in a SELECT.", "function call messages are not supported")
	case 'c', 'd', 'f':
		return nil // left over from a refused COPY FROM; PostgreSQL ignores them too
	}
	return sqlstate.New(sqlstate.ProtocolViolation, "invalid message of type %q", typ)
}

func (c *conn) query(ctx context.Context, body []byte) error {
	var m pgproto3.Query
	if err := m.Decode(body); err != nil {
		return malformed('Q', body)
	}
	if err := c.decode(&m.String); err != nil {
		return err
	}
	pieces, err := c.session.Split(ctx, m.String)
	if err != nil {
		return err
	}
	if len(pieces) == 0 {
		c.send(&pgproto3.EmptyQueryResponse{})
	}
	return c.pieces(ctx, pieces, len(pieces) == 1)
}

// pieces runs the statements of a simple query. After a COPY FROM, the others follow when its data has been received.
func (c *conn) pieces(ctx context.Context, pieces []Piece, only bool) error {
	for i, piece := range pieces {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.session.Final(only)
		if err := c.simple(ctx, piece); err != nil {
			return err
		}
		if c.copying != nil {
			c.copying.simple, c.copying.rest, c.copying.only = true, pieces[i+1:], only
			return nil
		}
	}
	if err := c.session.Commit(ctx); err != nil {
		return err
	}
	c.ready()
	return nil
}

func (c *conn) simple(ctx context.Context, piece Piece) error {
	portal, err := c.session.Simple(ctx, piece)
	if err != nil {
		return err
	}
	if in := portal.CopyIn(); in != nil {
		return c.startCopy(portal, in)
	}
	defer portal.Close()
	if portal.Copy() == nil && portal.Columns() != nil {
		if err := c.rowDescription(portal.Columns(), portal.Formats()); err != nil {
			return err
		}
	}
	_, err = c.stream(ctx, portal, 0)
	return err
}

func (c *conn) parse(ctx context.Context, body []byte) error {
	var m pgproto3.Parse
	if err := m.Decode(body); err != nil {
		return malformed('P', body)
	}
	if err := whole(body, len(m.Name)+len(m.Query)+4+4*len(m.ParameterOIDs)); err != nil {
		return err
	}
	if err := c.decode(&m.Name, &m.Query); err != nil {
		return err
	}
	if err := c.session.Parse(ctx, m.Name, m.Query, m.ParameterOIDs); err != nil {
		return err
	}
	c.send(&pgproto3.ParseComplete{})
	return nil
}

// whole returns an error if a message has more bytes than its fields, n.
func whole(body []byte, n int) error {
	if len(body) != n {
		return errFormat
	}
	return nil
}

// statementOf returns the name of the statement in a Bind message.
func statementOf(body []byte) (string, bool) {
	_, rest, ok := bytes.Cut(body, []byte{0})
	name, _, whole := bytes.Cut(rest, []byte{0})
	return string(name), ok && whole
}

func (c *conn) bind(ctx context.Context, body []byte) error {
	var m pgproto3.Bind
	if err := m.Decode(body); err != nil {
		// PostgreSQL looks for the statement first.
		if name, ok := statementOf(body); ok && c.decode(&name) == nil {
			if _, _, err := c.session.DescribeStatement(ctx, name); err != nil {
				return err
			}
		}
		return malformed('B', body)
	}
	n := len(m.DestinationPortal) + len(m.PreparedStatement) + 8 + 4*len(m.Parameters) +
		2*(len(m.ParameterFormatCodes)+len(m.ResultFormatCodes))
	for _, p := range m.Parameters {
		n += len(p)
	}
	if err := whole(body, n); err != nil {
		return err
	}
	if err := c.decode(&m.DestinationPortal, &m.PreparedStatement); err != nil {
		return err
	}
	err := c.session.Bind(ctx, Binding{Portal: m.DestinationPortal, Statement: m.PreparedStatement,
		ParamFormats: m.ParameterFormatCodes, Params: m.Parameters, ResultFormats: m.ResultFormatCodes})
	if err != nil {
		return err
	}
	c.send(&pgproto3.BindComplete{})
	return nil
}

func (c *conn) describe(ctx context.Context, body []byte) error {
	var m pgproto3.Describe
	if err := m.Decode(body); err != nil {
		return malformed('D', body)
	}
	if err := c.decode(&m.Name); err != nil {
		return err
	}
	var columns []Column
	var formats []int16
	switch m.ObjectType {
	case 'S':
		types, cols, err := c.session.DescribeStatement(ctx, m.Name)
		if err != nil {
			return err
		}
		c.send(&pgproto3.ParameterDescription{ParameterOIDs: types})
		columns, formats = cols, make([]int16, len(cols))
	case 'P':
		portal, err := c.session.Portal(m.Name)
		if err != nil {
			return err
		}
		if portal.Copy() == nil && portal.CopyIn() == nil {
			columns, formats = portal.Columns(), portal.Formats()
		}
	default:
		return sqlstate.New(sqlstate.ProtocolViolation, "invalid DESCRIBE message subtype %d", m.ObjectType)
	}
	if columns == nil {
		c.send(&pgproto3.NoData{})
		return nil
	}
	return c.rowDescription(columns, formats)
}

func (c *conn) execute(ctx context.Context, body []byte) error {
	var m pgproto3.Execute
	if err := m.Decode(body); err != nil {
		return malformed('E', body)
	}
	if err := whole(body, len(m.Portal)+5); err != nil {
		return err
	}
	if err := c.decode(&m.Portal); err != nil {
		return err
	}
	portal, err := c.session.Portal(m.Portal)
	if err != nil {
		return err
	}
	if in := portal.CopyIn(); in != nil {
		return c.startCopy(portal, in)
	}
	limit := int64(int32(m.MaxRows))
	suspended, err := c.stream(ctx, portal, max(limit, 0))
	if err == nil && suspended {
		c.send(&pgproto3.PortalSuspended{})
	}
	return err
}

func (c *conn) close(body []byte) error {
	var m pgproto3.Close
	if err := m.Decode(body); err != nil {
		return malformed('C', body)
	}
	if err := c.decode(&m.Name); err != nil {
		return err
	}
	switch m.ObjectType {
	case 'S':
		c.session.CloseStatement(m.Name)
	case 'P':
		c.session.ClosePortal(m.Name)
	default:
		return sqlstate.New(sqlstate.ProtocolViolation, "invalid CLOSE message subtype %d", m.ObjectType)
	}
	c.send(&pgproto3.CloseComplete{})
	return nil
}

// stream sends the rows of a portal, at most limit if it is above zero, and the command tag at the end. It returns true
// if the limit stopped it.
func (c *conn) stream(ctx context.Context, portal Portal, limit int64) (suspended bool, err error) {
	out := portal.Copy()
	if out != nil {
		format := byte(0)
		if out.Binary {
			format = 1
		}
		codes := make([]uint16, out.Columns)
		for i := range codes {
			codes[i] = uint16(format)
		}
		c.send(&pgproto3.CopyOutResponse{OverallFormat: format, ColumnFormatCodes: codes})
		limit = 0
	}
	columns := len(portal.Columns())
	var rows int64
	for portal.NoWait(false); limit == 0 || rows < limit; portal.NoWait(limit > 0) {
		switch err := portal.Next(ctx); {
		case errors.Is(err, ErrSuspended):
			return true, nil
		case errors.Is(err, io.EOF):
			if out != nil {
				c.send(&pgproto3.CopyDone{})
			}
			if tag := portal.Tag(rows); tag != "" {
				c.send(&pgproto3.CommandComplete{CommandTag: []byte(tag)})
			} else {
				c.send(&pgproto3.EmptyQueryResponse{})
			}
			return false, nil
		case err != nil:
			return false, err
		}
		rows++
		if c.row, err = encodeRow(c.row[:0], portal, columns, out != nil); err != nil {
			return false, err
		}
		if err := c.out.write(c.row); err != nil {
			return false, errors.Join(errWrite, err)
		}
		if cap(c.row) > 1<<20 {
			c.row = nil
		}
		// The outbox is flushed by its length and by time.
		if rows%lookRows == 0 && ctx.Err() != nil && !portal.Settled() {
			return false, context.Cause(ctx)
		}
	}
	return true, nil
}

// encodeRow appends a DataRow message, or a CopyData message.
func encodeRow(dst []byte, portal Portal, columns int, isCopy bool) ([]byte, error) {
	var err error
	if isCopy {
		dst = append(dst, 'd', 0, 0, 0, 0)
		if dst, _, err = portal.Append(dst, 0); err != nil {
			return dst, err
		}
	} else {
		dst = append(dst, 'D', 0, 0, 0, 0)
		dst = binary.BigEndian.AppendUint16(dst, uint16(columns))
		for i := range columns {
			at := len(dst)
			dst = append(dst, 0xff, 0xff, 0xff, 0xff) // NULL
			var null bool
			if dst, null, err = portal.Append(dst, i); err != nil {
				return dst, err
			}
			if !null {
				binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
			}
		}
	}
	if len(dst) > 1<<30 {
		return dst[:0], sqlstate.New(sqlstate.ProgramLimitExceeded, "a row of %d bytes does not fit into a message",
			len(dst))
	}
	binary.BigEndian.PutUint32(dst[1:], uint32(len(dst)-1))
	return dst, nil
}

// rowDescription sends the description of a result.
func (l *link) rowDescription(columns []Column, formats []int16) error {
	fields := make([]pgproto3.FieldDescription, len(columns))
	for i, col := range columns {
		name, err := l.encode(col.Name)
		if err != nil {
			return err
		}
		fields[i] = pgproto3.FieldDescription{Name: []byte(name), DataTypeOID: col.OID, DataTypeSize: col.Size,
			TypeModifier: col.Mod, Format: formats[i], TableOID: col.Table, TableAttributeNumber: col.Number}
	}
	l.send(&pgproto3.RowDescription{Fields: fields})
	return nil
}

// copying is a COPY FROM STDIN.
type copying struct {
	portal Portal
	in     CopyIn
	// simple is set in the simple protocol. rest are then the statements after it, and only is set if there is no
	// other.
	simple, only bool
	rest         []Piece
}

// startCopy asks the client for data.
func (c *conn) startCopy(portal Portal, in CopyIn) error {
	if err := in.Begin(); err != nil {
		return err
	}
	binary, columns := in.Format()
	format := byte(0)
	if binary {
		format = 1
	}
	codes := make([]uint16, columns)
	for i := range codes {
		codes[i] = uint16(format)
	}
	c.send(&pgproto3.CopyInResponse{OverallFormat: format, ColumnFormatCodes: codes})
	c.copying = &copying{portal: portal, in: in}
	c.waitForData(true)
	return c.flush()
}

// endCopy ends a COPY FROM STDIN.
func endCopy(c *conn) {
	c.copying = nil
	c.waitForData(false)
}

// receive handles a message during a COPY FROM STDIN.
func (c *conn) receive(ctx context.Context, typ byte, body []byte) error {
	in := c.copying
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch typ {
	case 'd':
		return in.in.Data(ctx, body)
	case 'f':
		var m pgproto3.CopyFail
		if err := m.Decode(body); err != nil {
			return malformed(typ, body)
		}
		if err := c.decode(&m.Message); err != nil {
			return err
		}
		return sqlstate.New(sqlstate.QueryCanceled, "COPY from stdin failed: %s", m.Message)
	case 'c':
	default:
		return sqlstate.New(sqlstate.ProtocolViolation, "unexpected message type 0x%02X during COPY from stdin", typ)
	}
	if in.simple {
		c.session.Final(in.only)
	}
	if _, err := c.stream(ctx, in.portal, 0); err != nil {
		return err
	}
	endCopy(c)
	if !in.simple {
		return nil
	}
	in.portal.Close()
	c.resumed = true
	err := c.pieces(ctx, in.rest, false)
	c.resumed = err != nil
	return err
}
