package pgwire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// The messages are pgproto3's, but not the framing of pgproto3.Backend. Backend loses its place in the stream at a
// message over its limit, does not return the type of a message that it could not decode, and drops its buffer at every
// flush. Here both kinds of bad messages are skipped and the connection continues.

// errTooLong is the error for a message over the limit, which has been skipped.
type errTooLong struct {
	typ  byte
	size int
}

func (e *errTooLong) Error() string {
	return fmt.Sprintf("message of type %q has %d bytes", e.typ, e.size)
}

// errFraming is the error for a stream in which message boundaries are lost.
type errFraming struct{ what string }

func (e *errFraming) Error() string { return e.what }

// frames reads messages that consist of a type byte, a length and a body.
type frames struct {
	r   *bufio.Reader
	buf []byte // reused for messages whose decoding copies
	// grow reserves memory for messages longer than freeMessage; it may be nil. held is what the last message has
	// reserved.
	grow func(n int64) error
	held int64
}

// syncs reports whether the next message has arrived and is a Sync.
func (f *frames) syncs() bool {
	if f.r.Buffered() == 0 {
		return false
	}
	next, err := f.r.Peek(1)
	return err == nil && next[0] == 'S'
}

// freeMessage is the length up to which the memory of messages is not counted.
const freeMessage = 64 << 10

// errNoRoom is the error for a message for which there was no memory, and which has been skipped.
type errNoRoom struct {
	typ byte
	err error
}

func (e *errNoRoom) Error() string { return e.err.Error() }
func (e *errNoRoom) Unwrap() error { return e.err }

// next reads one message. The body is valid until the next call, except that of Bind, whose parameters pgproto3 keeps
// as slices of it: it belongs to the caller. next never allocates much more than has arrived.
func (f *frames) next(limit int) (typ byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		return 0, nil, err
	}
	typ = head[0]
	size := int(int32(binary.BigEndian.Uint32(head[1:]))) - 4
	if !knownType(typ) {
		return typ, nil, &errFraming{fmt.Sprintf("invalid frontend message type %d", typ)}
	}
	if size < 0 || size+4 > longest(typ) { // as in PostgreSQL: messages of this length are not worth skipping
		return typ, nil, &errFraming{"invalid message length"}
	}
	if size > limit {
		if _, err := io.CopyN(io.Discard, f.r, int64(size)); err != nil {
			return typ, nil, err
		}
		return typ, nil, &errTooLong{typ, size}
	}
	buf := f.buf[:0]
	if typ == 'B' {
		buf = nil
	}
	for len(buf) < size {
		const step = 64 << 10
		n := min(size-len(buf), max(step, len(buf)))
		if f.grow != nil && size > freeMessage {
			if err := f.grow(int64(n)); err != nil {
				if _, err := io.CopyN(io.Discard, f.r, int64(size-len(buf))); err != nil {
					return typ, nil, err
				}
				return typ, nil, &errNoRoom{typ, err}
			}
			f.held += int64(n)
		}
		if cap(buf)-len(buf) < n {
			buf = append(make([]byte, 0, len(buf)+n), buf...)
		}
		at := len(buf)
		buf = buf[:at+n]
		if _, err := io.ReadFull(f.r, buf[at:]); err != nil {
			return typ, nil, noEOF(err)
		}
	}
	if typ != 'B' {
		f.buf = buf[:0]
		if cap(buf) > 1<<20 {
			f.buf = nil
		}
	}
	return typ, buf, nil
}

// knownType reports whether t is a frontend message of PostgreSQL 15, section 55.7.
func knownType(t byte) bool {
	switch t {
	case 'B', 'C', 'D', 'E', 'F', 'H', 'P', 'Q', 'S', 'X', 'c', 'd', 'f', 'p':
		return true
	}
	return false
}

// longest returns the greatest length of a message that PostgreSQL 15 reads, with the four bytes of the length itself.
// Messages without values or statements are short.
func longest(t byte) int {
	switch t {
	case 'B', 'F', 'P', 'Q', 'd', 'p':
		return 1<<30 - 2
	}
	return 10_000
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// startupPacket reads a packet without a type byte: its code and the rest. It reads no byte beyond it, so that nothing
// sent in the clear can become part of the TLS session that follows (CVE-2021-23214). The beginning of TLS is an
// errHello.
func startupPacket(r io.Reader) (code uint32, packet []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:4]); err != nil {
		return 0, nil, err
	}
	if head[0] == helloRecord {
		return 0, nil, &errHello{head[:4]}
	}
	size := int(int32(binary.BigEndian.Uint32(head[:4])))
	if size < 8 || size > maxStartupPacket {
		return 0, nil, &errFraming{"invalid length of startup packet"}
	}
	packet = make([]byte, size-4)
	if _, err := io.ReadFull(r, packet); err != nil {
		return 0, nil, noEOF(err)
	}
	return binary.BigEndian.Uint32(packet), packet, nil
}

// outbox buffers output. A row stays in it for at most flushDelay, even while the connection's goroutine waits for the
// next row: a timer's goroutine flushes then. A slow client blocks the writer, which is the back-pressure.
type outbox struct {
	nc net.Conn

	mu struct {
		sync.Mutex
		buf   []byte
		armed bool
		timer *time.Timer
		err   error // sticky: a stream with a gap is useless
	}
}

// send encodes a message into the buffer.
func (o *outbox) send(msg pgproto3.BackendMessage) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	buf, err := msg.Encode(o.mu.buf)
	if err != nil {
		return err
	}
	o.mu.buf = buf
	return o.added()
}

// write adds encoded messages.
func (o *outbox) write(p []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(p) >= flushBytes {
		// A long row is not copied.
		if err := o.flushLocked(); err != nil {
			return err
		}
		_, o.mu.err = o.nc.Write(p)
		return o.mu.err
	}
	o.mu.buf = append(o.mu.buf, p...)
	return o.added()
}

func (o *outbox) added() error {
	if len(o.mu.buf) >= flushBytes {
		return o.flushLocked()
	}
	if !o.mu.armed && o.mu.err == nil {
		o.mu.armed = true
		if o.mu.timer == nil {
			o.mu.timer = time.AfterFunc(flushDelay, func() { _ = o.Flush() })
		} else {
			o.mu.timer.Reset(flushDelay)
		}
	}
	return o.mu.err
}

// Flush writes the buffer to the connection.
func (o *outbox) Flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.flushLocked()
}

func (o *outbox) flushLocked() error {
	if o.mu.armed {
		o.mu.timer.Stop()
		o.mu.armed = false
	}
	if o.mu.err == nil && len(o.mu.buf) > 0 {
		_, o.mu.err = o.nc.Write(o.mu.buf)
	}
	o.mu.buf = o.mu.buf[:0]
	if cap(o.mu.buf) > 4*flushBytes {
		o.mu.buf = nil
	}
	return o.mu.err
}
