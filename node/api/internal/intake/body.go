package intake

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/divandb/divan/node/api/internal/conns"
	"github.com/divandb/divan/node/api/internal/fault"
)

// Body is the body of a request. It cuts off a client that is too slow (408), and marks other errors of reading as the
// client's: malformed chunks, a connection that broke off. Not safe for concurrent use.
type Body struct {
	io.ReadCloser
	of      *http.Request // the server's own, which gets the trailer
	control *http.ResponseController
	pace    conns.Pace
	budget  *Budget
	Client  string // whose memory it is: a user's, or an address's. Set before anything is read.
	share   *share // what the request has of the memory for bodies; nil: nothing

	most     int64 // bytes that the endpoint takes
	tooLarge error // what it says of more

	parsed []*share    // what the request holds beside its body
	keeps  reservation // what it holds for as long as it waits, if it is a feed

	heldPace conns.Pace // how fast it has to come while others wait for the share

	read  int64 // bytes that came
	begun bool  // somebody has asked for the body; 100 Continue was sent where it was expected
	ended bool  // all of it was read
}

// NewBody is the body of r, which w answers.
func NewBody(w http.ResponseWriter, r *http.Request, of *Budget) *Body {
	b := &Body{ReadCloser: r.Body, of: r, budget: of, pace: conns.Pace{Window: of.limits.Wait, Rate: of.limits.Rate},
		heldPace: conns.HolderPace}
	if b.ended = r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0; b.ended {
		return b
	}
	b.control = http.NewResponseController(w)
	// Without this net/http reads what is left of the body before it sends the answer, and a refused client waits until
	// it has sent it.
	_ = b.control.EnableFullDuplex() // not supported: the answer comes later
	return b
}

// ErrSlowBody is the answer to a client that sends too slowly.
var ErrSlowBody = &fault.Fault{
	Status: http.StatusRequestTimeout, Name: "request_timeout",
	Reason: "The request body did not come, or came too slowly (http.body_timeout and http.min_rate of the node's " +
		"settings).",
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	if b.control == nil {
		return b.ReadCloser.Read(p)
	}
	b.begun = true
	left := b.pace.Left()
	if left == 0 {
		return 0, ErrSlowBody
	}
	began := time.Now()
	_ = b.control.SetReadDeadline(began.Add(left)) // not supported: no deadline
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	waited := time.Since(began)
	b.pace.Took(n, waited)
	b.heldPace.Took(n, waited)
	switch {
	case err == io.EOF: //nolint:errorlint // io.Reader says so
		b.ended = true
		_ = b.control.SetReadDeadline(time.Time{}) // the server now listens for the end of the connection
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = ErrSlowBody
	case err != nil:
		err = &fault.Unreadable{Err: err}
	case b.heldPace.Left() == 0 && b.share.pressed():
		err = ErrBusy
	}
	return n, err
}

// Hold has the client read the answer at that pace, where the request holds memory.
func (b *Body) Hold() {
	if c := conns.Of(b.of); c != nil && b.share.holds() {
		c.Hold()
	}
}

// Trailer is what came behind the body, once it has been read.
func (b *Body) Trailer() http.Header { return b.of.Trailer }

func (b *Body) ctx() context.Context { return b.of.Context() }

// Bound sets how much an endpoint takes of the body, and the error for a longer one. A body that declares to be longer
// is refused before anything reads it: the client is neither asked for it (100 Continue) nor waited for.
func (b *Body) Bound(most int64, tooLarge error) error {
	b.most, b.tooLarge = most, tooLarge
	if b.of.ContentLength > most {
		return tooLarge
	}
	return nil
}

// Release gives back the memory that the request holds. It may be called twice.
func (b *Body) Release() {
	b.share.release()
	b.releaseParts()
	b.keeps.share.release()
	if c := conns.Of(b.of); c != nil {
		c.Release()
	}
}

// releaseParts gives back what the request holds beside its body.
func (b *Body) releaseParts() {
	for _, s := range b.parsed {
		s.release()
	}
	b.parsed = nil
}
