package intake

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/divandb/divan/node/api/internal/conns"
	"github.com/divandb/divan/node/api/internal/fault"
)

// Body is the body of a request. It cuts off a client that is too slow (408) or sends more than Bound allows, and
// marks other read errors as the client's, such as malformed chunks or a broken connection. It is not safe for
// concurrent use.
type Body struct {
	io.ReadCloser
	of      *http.Request // the server's own request, which gets the trailer
	control *http.ResponseController
	pace    conns.Pace
	budget  *Budget
	Client  string // whose memory it is: a user or an address; set before anything is read
	share   *share // the request's share of the memory for bodies; nil: none

	most     int64 // maximum size that the endpoint allows
	tooLarge error // the endpoint's error for a larger one

	parsed []*share    // shares for what the body was parsed into
	keeps  reservation // what a waiting feed keeps

	heldPace conns.Pace // minimum pace while others wait for the share

	// replaced is what is read instead of what the client sends, if it is not nil.
	replaced *bytes.Reader

	read  int64 // bytes that arrived
	begun bool  // reading has begun; 100 Continue was sent if the client expected it
	ended bool  // all of it was read
}

// NewBody returns the body of r, which is answered through w.
func NewBody(w http.ResponseWriter, r *http.Request, of *Budget) *Body {
	b := &Body{ReadCloser: r.Body, of: r, budget: of, pace: conns.Pace{Window: of.limits.Wait, Rate: of.limits.Rate},
		heldPace: conns.HolderPace}
	if b.ended = r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0; b.ended {
		return b
	}
	b.control = http.NewResponseController(w)
	// Otherwise net/http reads the rest of the body before it sends the response, and a refused client waits until it
	// has sent its whole body.
	_ = b.control.EnableFullDuplex() // if not supported, the response is only later
	return b
}

// ErrSlowBody is the answer to a client that sends too slowly.
var ErrSlowBody = &fault.Fault{
	Status: http.StatusRequestTimeout, Name: "request_timeout",
	Reason: "The request body did not arrive, or arrived too slowly (http.body_timeout and http.min_rate of the " +
		"node's settings).",
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	if b.replaced != nil {
		return b.replaced.Read(p)
	}
	if b.control == nil {
		return b.ReadCloser.Read(p)
	}
	b.begun = true
	left := b.pace.Left()
	if left == 0 {
		return 0, ErrSlowBody
	}
	began := time.Now()
	_ = b.control.SetReadDeadline(began.Add(left)) // if not supported, there is no deadline
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	waited := time.Since(began)
	b.pace.Took(n, waited)
	b.heldPace.Took(n, waited)
	switch {
	case b.tooLarge != nil && b.read > b.most:
		return 0, b.tooLarge // with bytes, a reader might be content with them
	case err == io.EOF: //nolint:errorlint // as io.Reader documents
		b.ended = true
		// from now on the server reads, to notice the end of the connection
		_ = b.control.SetReadDeadline(time.Time{})
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = ErrSlowBody
	case err != nil:
		err = &fault.Unreadable{Err: err}
	case b.heldPace.Left() == 0 && b.share.pressed():
		err = ErrBusy
	}
	return n, err
}

// Replace makes text what is read from now on, decoded. It can be called after the body was read.
func (b *Body) Replace(text []byte) { b.replaced = bytes.NewReader(text) }

// length returns the declared length of the body, or -1.
func (b *Body) length() int64 {
	if b.replaced != nil {
		return b.replaced.Size()
	}
	return b.of.ContentLength
}

// Hold makes the client read the response at the minimum pace if the request holds memory.
func (b *Body) Hold() {
	if c := conns.Of(b.of); c != nil && b.share.holds() {
		c.Hold()
	}
}

// Trailer returns the trailer after the body has been read.
func (b *Body) Trailer() http.Header { return b.of.Trailer }

func (b *Body) ctx() context.Context { return b.of.Context() }

// Bound sets the maximum size of the body, and the error for a larger one. A body whose declared length is larger is
// refused before it is read: the client is neither asked for it (100 Continue) nor waited for.
func (b *Body) Bound(most int64, tooLarge error) error {
	b.most, b.tooLarge = most, tooLarge
	if b.length() > most {
		return tooLarge
	}
	return nil
}

// Release gives back all memory that the request holds. It may be called twice.
func (b *Body) Release() {
	b.share.release()
	b.releaseParts()
	b.keeps.share.release()
	if c := conns.Of(b.of); c != nil {
		c.Release()
	}
}

// releaseParts gives back the memory for what the body was parsed into.
func (b *Body) releaseParts() {
	for _, s := range b.parsed {
		s.release()
	}
	b.parsed = nil
}
