package couch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Error is a failed request, or what is wrong with an endpoint. Its text has no passwords.
type Error struct {
	// Method and URL are those of the request, or empty.
	Method, URL string
	Status      int // of the answer; 0 if there was none
	// Name and Reason are the members error and reason of the answer, or say what has failed.
	Name, Reason string
	// Err is the error of the network, or of reading the answer.
	Err error
	// Wait is how long the server asks to wait (Retry-After).
	Wait time.Duration
	// Outage reports that the request failed because this node's own store did not answer, which it does now. It can be
	// repeated at once, and does not count as one of the attempts.
	Outage bool
}

func (e *Error) Error() string {
	switch {
	case e.Method == "":
		return e.Name + ": " + e.Reason
	case e.Err != nil:
		return fmt.Sprintf("%s: %s %s: %s", requestFailed, e.Method, e.URL, plain(e.Err))
	case e.Name == "":
		return fmt.Sprintf("%s: %s %s: status %d", requestFailed, e.Method, e.URL, e.Status)
	}
	return fmt.Sprintf("%s: %s %s: status %d, %s: %s", requestFailed, e.Method, e.URL, e.Status, e.Name, e.Reason)
}

// requestFailed begins the text of errors of requests, as in CouchDB.
const requestFailed = "http_request_failed"

func (e *Error) Unwrap() error { return e.Err }

// Transient reports whether the same request may succeed later.
func (e *Error) Transient() bool {
	return e.Err != nil || e.Status >= 500 || e.Status == http.StatusRequestTimeout ||
		e.Status == http.StatusTooManyRequests
}

// asksToWait reports whether the server works, but has too much to do now.
func (e *Error) asksToWait() bool {
	return e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable && e.Wait > 0
}

// plain returns the text of an error of the network. It leaves out the URL that package http puts in front, which may
// have credentials.
func plain(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var op *net.OpError
	switch {
	case errors.Is(err, errSilent):
		return errSilent.Error()
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return CutOff
	case errors.As(err, &op):
		text := op.Op + ": " + op.Err.Error()
		if op.Addr != nil {
			text = op.Op + " " + op.Addr.String() + ": " + op.Err.Error()
		}
		return text
	}
	return err.Error()
}

// CutOff is the text of the error of an answer that ends too early.
const CutOff = "the connection was closed before the answer was complete"

// errSilent is the error of a server that does not send anything for too long.
var errSilent = errors.New("the server was silent for longer than connection_timeout")

// maxFault bounds the body of an error answer.
const maxFault = 64 << 10

// faultOf reads the error of an answer.
func faultOf(c *call, shown string, r *http.Response) *Error {
	e := &Error{Method: c.method, URL: shown, Status: r.StatusCode}
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxFault))
	var said struct{ Error, Reason any }
	if json.Unmarshal(body, &said) == nil {
		e.Name, e.Reason = short(said.Error), short(said.Reason)
	}
	if after, err := time.ParseDuration(r.Header.Get("Retry-After") + "s"); err == nil && after > 0 {
		e.Wait = after
	}
	return e
}

// short returns a member of an error as text.
func short(v any) string {
	if v == nil {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		b, _ := json.Marshal(v)
		s = string(b)
	}
	const most = 500
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
