package intake

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/divandb/divan/node/api/internal/conns"
)

// A request may be answered before its body has come. The connection can then be used again only after the rest of the
// body, which is read where it is short. Otherwise the connection is closed, and not at once: a client that is still
// sending would get a reset, and might lose the answer. So the server says that it sends no more, and goes on reading
// for a while (RFC 9112, section 9.6).

const (
	// shortRest is how much of a body is read to keep a connection, and restTimeout how long that may take.
	shortRest   = 64 << 10
	restTimeout = 2 * time.Second
	// lingerTime is how long a client may go on sending a body that nobody wants, lingerIdle how long it may stop
	// meanwhile: as nginx does.
	lingerTime = 30 * time.Second
	lingerIdle = 5 * time.Second
)

// Reusable reports whether the connection can be used again after an answer that is sent now, with these headers. An
// answer of unknown length ends only after the handler, when the rest of the body cannot be read any more.
func (b *Body) Reusable(answer http.Header) bool {
	if b.ended {
		return true
	}
	rest := b.of.ContentLength - b.read
	return !b.expects() && b.of.ContentLength > 0 && rest <= shortRest && answer["Content-Length"] != nil
}

// Settle ends a request that is answered: what is left of its body is read, and thrown away. complete says that all of
// the answer has been written, closes that the connection is closed after it. It ends early when closing is closed.
func (b *Body) Settle(complete, closes bool, closing <-chan struct{}) {
	if b.ended {
		return
	}
	if !complete { // net/http writes the end of the answer once the handler has returned, and closes the connection
		_ = b.control.SetReadDeadline(time.Now().Add(restTimeout))
		return
	}
	_ = b.control.Flush() // what fails here fails again where the connection is read
	if closes {
		b.linger(closing)
		return
	}
	_ = b.control.SetReadDeadline(time.Now().Add(restTimeout))
	if _, err := io.Copy(io.Discard, b.ReadCloser); err != nil {
		panic(http.ErrAbortHandler) // nobody knows where the next request would begin
	}
	_ = b.control.SetReadDeadline(time.Time{})
}

// linger says that no more is sent, and reads until the client has understood. It ends early when closing is closed.
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
		_ = conn.SetReadDeadline(now.Add(step)) // where it fails, so does the read
		n, err := conn.Read(buf)
		if n > 0 {
			last = now
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}

// expects reports whether the client waits for 100 Continue, which nobody has sent.
func (b *Body) expects() bool { return b.of.Header.Get("Expect") != "" && !b.begun }
