package query_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
)

// wireConn is a connection on which single messages are sent and received.
type wireConn struct {
	t             *testing.T
	network, addr string
	nc            net.Conn
	fe            *pgproto3.Frontend
	out           []byte // buffered, not sent yet
	received      []string
	columns       []uint32 // types of the last RowDescription
	pid           uint32
	key           []byte
}

func dialWire(t *testing.T, network, addr string) *wireConn {
	t.Helper()
	nc, err := net.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	// For a server that does not answer at all.
	_ = nc.SetDeadline(time.Now().Add(time.Minute))
	return &wireConn{t: t, network: network, addr: addr, nc: nc, fe: pgproto3.NewFrontend(nc, nc)}
}

func (w *wireConn) say(m pgproto3.FrontendMessage) {
	w.t.Helper()
	b, err := m.Encode(w.out)
	if err != nil {
		w.t.Fatal(err)
	}
	w.out = b
}

func (w *wireConn) bytes(b []byte) { w.out = append(w.out, b...) }

// send sends what is buffered. If the server has hung up, reading reports it.
func (w *wireConn) send() {
	_, _ = w.nc.Write(w.out)
	w.out = w.out[:0]
}

// letter reads the answer to a request for encryption.
func (w *wireConn) letter() {
	w.send()
	var b [1]byte
	_, err := io.ReadFull(w.nc, b[:])
	w.received = append(w.received, fmt.Sprintf("%s %v", b[:], err))
}

// read receives messages up to one of a type, "Z", up to the second one, "2Z", or all, "end".
func (w *wireConn) read(until string) {
	w.t.Helper()
	w.send()
	times := 1
	if n, err := strconv.Atoi(until[:1]); err == nil && len(until) > 1 {
		times, until = n, until[1:]
	}
	for times > 0 {
		text, end := w.hear()
		w.received = append(w.received, text)
		switch {
		case end && until != "end":
			w.t.Errorf("%s: the connection has ended: %s", w.network, w.received)
			return
		case end:
			return
		case text[:1] == until:
			times--
		}
	}
	// The order of the parameters does not matter.
	first := slices.IndexFunc(w.received, func(s string) bool { return strings.HasPrefix(s, "S ") })
	if last := first; first >= 0 {
		for last < len(w.received) && strings.HasPrefix(w.received[last], "S ") {
			last++
		}
		slices.Sort(w.received[first:last])
	}
}

// hear receives one message.
func (w *wireConn) hear() (text string, end bool) {
	m, err := w.fe.Receive()
	if err != nil {
		var ne net.Error
		if errors.As(err, &ne) && ne.Timeout() {
			w.t.Errorf("%s: no answer after %s", w.network, w.received)
		}
		return "end", true
	}
	switch m := m.(type) {
	case *pgproto3.RowDescription:
		w.columns = nil
		for _, f := range m.Fields {
			w.columns = append(w.columns, f.DataTypeOID)
		}
	case *pgproto3.BackendKeyData:
		w.pid, w.key = m.ProcessID, bytes.Clone(m.SecretKey)
	}
	return w.describe(m), false
}

// cancel sends cancel requests until the current statement ends, because a request that comes before its beginning is
// lost.
func (w *wireConn) cancel() {
	w.t.Helper()
	w.send()
	done := make(chan struct{}) // closed when the error has been received
	go func() {
		defer close(done)
		for {
			text, end := w.hear()
			w.received = append(w.received, text)
			if end || text[:1] == "E" {
				return
			}
		}
	}()
	b, err := (&pgproto3.CancelRequest{ProcessID: w.pid, SecretKey: w.key}).Encode(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		select {
		case <-done:
			return
		default:
		}
		nc, err := net.Dial(w.network, w.addr)
		if err != nil {
			w.t.Fatal(err)
		}
		_, _ = nc.Write(b)
		_, _ = io.Copy(io.Discard, nc) // the server closes it after handling the request
		_ = nc.Close()
	}
}

// describe returns a message as a text that begins with its letter.
func (w *wireConn) describe(m pgproto3.BackendMessage) string {
	switch m := m.(type) {
	case *pgproto3.AuthenticationOk:
		return "R ok"
	case *pgproto3.ParameterStatus:
		if m.Name == "server_version" {
			m.Value = strings.SplitN(m.Value, ".", 2)[0]
		}
		return "S " + m.Name + " = " + m.Value
	case *pgproto3.BackendKeyData:
		return "K pid and a key of " + strconv.Itoa(len(m.SecretKey))
	case *pgproto3.ReadyForQuery:
		return "Z " + string(m.TxStatus)
	case *pgproto3.RowDescription:
		var out []string
		for _, f := range m.Fields {
			out = append(out, fmt.Sprintf("%s:%d:%d:%d:%d", f.Name, f.DataTypeOID, f.DataTypeSize, f.TypeModifier,
				f.Format))
		}
		return "T " + strings.Join(out, " ")
	case *pgproto3.DataRow:
		var out []string
		for i, v := range m.Values {
			out = append(out, w.value(i, v))
		}
		return "D " + strings.Join(out, " ")
	case *pgproto3.CommandComplete:
		return "C " + string(m.CommandTag)
	case *pgproto3.ErrorResponse:
		return "E " + wireError(m)
	case *pgproto3.NoticeResponse:
		e := pgproto3.ErrorResponse(*m)
		return "N " + wireError(&e)
	case *pgproto3.ParameterDescription:
		return "t " + fmt.Sprint(m.ParameterOIDs)
	case *pgproto3.CopyOutResponse:
		return fmt.Sprintf("H %d %v", m.OverallFormat, m.ColumnFormatCodes)
	case *pgproto3.CopyData:
		return fmt.Sprintf("d %q", m.Data)
	case *pgproto3.CopyDone:
		return "c"
	case *pgproto3.ParseComplete:
		return "1"
	case *pgproto3.BindComplete:
		return "2"
	case *pgproto3.CloseComplete:
		return "3"
	case *pgproto3.NoData:
		return "n"
	case *pgproto3.EmptyQueryResponse:
		return "I"
	case *pgproto3.PortalSuspended:
		return "s"
	case *pgproto3.NotificationResponse:
		return fmt.Sprintf("A %s %q", m.Channel, m.Payload)
	case *pgproto3.NegotiateProtocolVersion:
		return fmt.Sprintf("v %d.%d %q", m.NewestMinorProtocol>>16, m.NewestMinorProtocol&0xffff, m.UnrecognizedOptions)
	}
	return fmt.Sprintf("? %T", m)
}

// value returns a field of a row. A jsonb is compared without white space, because a document keeps its own.
func (w *wireConn) value(i int, v []byte) string {
	if v == nil {
		return "NULL"
	}
	if i < len(w.columns) && w.columns[i] == pgtype.JSONBOID {
		version, text := "", v
		if len(v) > 0 && v[0] == 1 {
			version, text = "1:", v[1:]
		}
		var b bytes.Buffer
		if json.Compact(&b, text) == nil {
			return version + b.String()
		}
	}
	for _, c := range v {
		if c < ' ' || c > '~' {
			return "x" + hex.EncodeToString(v)
		}
	}
	return fmt.Sprintf("%q", v)
}

func wireError(m *pgproto3.ErrorResponse) string {
	out := m.Severity + " " + m.Code
	if m.Position > 0 {
		out += fmt.Sprintf(" at %d", m.Position)
	}
	out += ": " + m.Message
	if m.Detail != "" {
		out += " DETAIL: " + m.Detail
	}
	return out
}
