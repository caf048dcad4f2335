package api

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// pace judges how fast a client sends a body. Time counts only while the server waits for the client: what the store takes is not the client's fault.
type pace struct {
	window time.Duration // how long the client may send nothing
	rate   int64         // bytes a second that it has to send on average over a window
	waited time.Duration
	got    int64
}

// left is how long the client may still take for its next byte; 0 where it has used up its time.
func (p *pace) left() time.Duration { return max(0, p.window-p.waited) }

// took notes that n bytes came after a wait. A full measure begins a new window.
func (p *pace) took(n int, waited time.Duration) {
	p.got += int64(n)
	p.waited += waited
	if p.got > 0 && p.got >= p.rate*int64(p.window/time.Second) {
		p.got, p.waited = 0, 0
	}
}

// clientBody is the body of a request. It cuts off a client that is too slow (408), and marks other errors of reading as the client's: malformed chunks, a
// connection that broke off. Not safe for concurrent use.
type clientBody struct {
	io.ReadCloser
	of      *http.Request // the server's own, which gets the trailer
	control *http.ResponseController
	pace    pace
	share   *share // what the request has of the memory for bodies; nil: nothing

	hurry pace // how fast it has to come while others wait for the share

	read  int64 // bytes that came
	begun bool  // somebody has asked for the body; 100 Continue was sent where it was expected
	ended bool  // all of it was read
}

func newClientBody(w http.ResponseWriter, r *http.Request, l *Limits) *clientBody {
	b := &clientBody{ReadCloser: r.Body, of: r, pace: pace{window: l.Body, rate: l.Rate}, hurry: holderPace}
	if b.ended = r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0; b.ended {
		return b
	}
	b.control = http.NewResponseController(w)
	// Without this net/http reads what is left of the body before it sends the answer, and a refused client waits until it has sent it.
	_ = b.control.EnableFullDuplex() // not supported: the answer comes later
	return b
}

var errSlowBody = &fault{
	status: http.StatusRequestTimeout, name: "request_timeout",
	reason: "The request body did not come, or came too slowly (http.body_timeout and http.min_rate of the node's settings).",
}

func (b *clientBody) Read(p []byte) (int, error) {
	if b.control == nil {
		return b.ReadCloser.Read(p)
	}
	b.begun = true
	left := b.pace.left()
	if left == 0 {
		return 0, errSlowBody
	}
	began := time.Now()
	_ = b.control.SetReadDeadline(began.Add(left)) // not supported: no deadline
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	waited := time.Since(began)
	b.pace.took(n, waited)
	b.hurry.took(n, waited)
	switch {
	case err == io.EOF: //nolint:errorlint // io.Reader says so
		b.ended = true
		_ = b.control.SetReadDeadline(time.Time{}) // the server now listens for the end of the connection
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = errSlowBody
	case err != nil:
		err = &unreadable{err}
	case b.hurry.left() == 0 && b.share.pressed():
		err = errBusy
	}
	return n, err
}

// holderPace is the least at which clients have to send or to read while their request holds memory that others wait for.
var holderPace = pace{window: 15 * time.Second, rate: 64 << 10}

// hold has the client read the answer at that pace, where the request holds memory.
func (b *clientBody) hold() {
	if c := plainConn(b.of.Context().Value(connKey{})); c != nil && b.share.holds() {
		holds := holderPace
		c.holds = &holds
	}
}

// release gives back the memory that the request holds. It may be called twice.
func (q *request) release() {
	q.body.share.release()
	q.releaseParts()
	q.keeps.share.release()
	if c := q.conn(); c != nil {
		c.holds = nil
	}
}

// releaseParts gives back what the request holds beside its body.
func (q *request) releaseParts() {
	for _, s := range q.parsed {
		s.release()
	}
	q.parsed = nil
}

// unreadable is an error of reading a request's body.
type unreadable struct{ error }

func (u *unreadable) Unwrap() error { return u.error }
