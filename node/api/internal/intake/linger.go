package intake

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/divandb/divan/node/api/internal/conns"
)

// A request may be answered before its body has arrived. The connection can then be reused only after the rest of the
// body was read, which happens if it is short. Otherwise the connection is closed, but not immediately: a client that
// is still sending would get a reset and might lose the response. So the server closes its sending side and continues
// to read for a while (RFC 9112, section 9.6).

const (
	// shortRest is how much of a body is read to keep a connection, and restTimeout how long that may take.
	shortRest   = 64 << 10
	restTimeout = 2 * time.Second
	// lingerTime is how long a client may continue to send an unwanted body, lingerIdle how long it may pause
	// meanwhile, as in nginx.
	lingerTime = 30 * time.Second
	lingerIdle = 5 * time.Second
)

// Reusable reports whether the connection can be reused after a response that is sent now, with these headers. A
// response of unknown length ends only after the handler, when the rest of the body can no longer be read.
func (b *Body) Reusable(answer http.Header) bool {
	if b.ended {
		return true
	}
	rest := b.of.ContentLength - b.read
	return !b.expects() && b.of.ContentLength > 0 && rest <= shortRest && answer["Content-Length"] != nil
}

// Settle finishes an answered request by reading and discarding the rest of its body. complete means that the whole
// response was written, closes that the connection is closed afterwards. Settle ends early when closing is closed.
func (b *Body) Settle(complete, closes bool, closing <-chan struct{}) {
	if b.ended {
		return
	}
	if !complete { // net/http ends the response after the handler has returned, and closes the connection
		_ = b.control.SetReadDeadline(time.Now().Add(restTimeout))
		return
	}
	_ = b.control.Flush() // reading the connection would return the same error
	if closes {
		b.linger(closing)
		return
	}
	_ = b.control.SetReadDeadline(time.Now().Add(restTimeout))
	if _, err := io.Copy(io.Discard, b.ReadCloser); err != nil {
		panic(http.ErrAbortHandler) // the start of the next request is unknown
	}
	_ = b.control.SetReadDeadline(time.Time{})
}

// linger closes the sending side and reads until the client stops sending. It ends early when closing is closed.
func (b *Body) linger(closing <-chan struct{}) {
	conn := conns.HalfClosed(b.of)
	if conn == nil {
		return
	}
	const step = 250 * time.Millisecond
	idle := lingerIdle
	if b.expects() {
		idle = 2 * step // the client has not begun to send
	}
	began := time.Now()
	last := began
	buf := make([]byte, 16<<10)
	for now := began; now.Sub(began) < lingerTime && now.Sub(last) < idle; now = time.Now() {
		select {
		case <-closing:
			return
		default:
		}
		_ = conn.SetReadDeadline(now.Add(step)) // if this fails, so does the read
		n, err := conn.Read(buf)
		if n > 0 {
			last = now
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}

// expects reports whether the client waits for a 100 Continue that was not sent.
func (b *Body) expects() bool { return b.of.Header.Get("Expect") != "" && !b.begun }
