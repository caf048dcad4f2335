package couch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// call is a request, which may be sent several times.
type call struct {
	method string
	path   string // below the database, escaped
	query  url.Values
	body   []byte // JSON; nil for none
	accept string
	// stream, unless nil, is the body instead of body, with its length and type. Such a request is sent once.
	stream io.Reader
	length int64
	media  string
	closed chan struct{} // closed when stream is no longer read
	once   bool          // do not repeat it
}

// answer is the answer to a request, with a status below 300.
type answer struct {
	status int
	header http.Header
	body   io.Reader
}

const (
	// firstWait is the pause before the first repetition of a request. It doubles with each one, up to maxWait.
	firstWait = 250 * time.Millisecond
	maxWait   = 5 * time.Minute
	// maxBusy bounds all pauses for a server that answers 429.
	maxBusy = 30 * time.Second
)

// stream sends a request and calls read with its answer. It repeats both after transient errors.
func (d *Database) stream(ctx context.Context, c call, read func(*answer) error) error {
	wait := firstWait
	var busy time.Duration
	defer d.o.Repeats.Ended(&c)
	for attempt := 0; ; attempt++ {
		err := d.attempt(ctx, &c, read)
		var own *consumerError
		if errors.As(err, &own) {
			return own.err
		}
		var e *Error
		if err == nil || !errors.As(err, &e) || !e.Transient() || ctx.Err() != nil {
			return err
		}
		d.o.outlast(ctx, &c, e)
		if c.once || c.stream != nil || ctx.Err() != nil {
			return err
		}
		if e.Outage {
			attempt, wait = attempt-1, firstWait
		}
		pause := jitter(wait)
		switch {
		case e.Outage:
		case e.Status == http.StatusTooManyRequests && busy < maxBusy:
			attempt-- // the server is busy, not broken
			pause = max(pause, min(e.Wait, maxBusy))
			busy += pause
		case attempt >= d.o.Retries:
			return err
		}
		d.o.Repeats.Failed(&c, err)
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		wait = min(2*wait, maxWait)
	}
}

// outlast waits until this node's own store answers again, if a request failed because it does not.
func (o *Options) outlast(ctx context.Context, c *call, e *Error) {
	if o.Outage == nil {
		return
	}
	o.Repeats.Failed(c, e) // who looks at the replication meanwhile sees what it waits for
	e.Outage = o.Outage(ctx, e)
}

// jitter returns a duration between three quarters of d and d, so that clients of a broken server do not come back at
// the same time.
func jitter(d time.Duration) time.Duration { return d - rand.N(d/4+1) }

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// attempt sends a request once, or twice if a session has to be renewed.
func (d *Database) attempt(ctx context.Context, c *call, read func(*answer) error) error {
	for renewed := false; ; renewed = true {
		cookie, err := d.login.cookie(ctx)
		if err != nil {
			return err
		}
		err = d.send(ctx, c, cookie, read)
		var e *Error
		if cookie == "" || renewed || c.stream != nil || !errors.As(err, &e) ||
			e.Status != http.StatusUnauthorized && e.Status != http.StatusForbidden || !d.login.expire(cookie) {
			return err
		}
	}
}

// send sends a request and reads its answer. It gives up as soon as the server is silent for too long.
func (d *Database) send(ctx context.Context, c *call, cookie string, read func(*answer) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alive := newWatchdog(d.o.Timeout, func() { cancel(errSilent) })
	defer alive.stop()
	r, shown, err := d.request(ctx, c, cookie, alive)
	if err != nil {
		return err
	}
	if c.closed != nil {
		defer func() { <-c.closed }()
	}
	failed := func(err error) error {
		if cause := context.Cause(ctx); errors.Is(cause, errSilent) {
			err = errSilent
		} else if ctx.Err() != nil {
			return ctx.Err()
		}
		return &Error{Method: c.method, URL: shown, Err: err}
	}
	if c.stream != nil && d.moved.seen.Load() {
		if err := settle(ctx, d.http, r); err != nil {
			r.Body.Close()
			return failed(err)
		}
		alive.beat()
	}
	resp, err := d.http.Do(r)
	if err != nil {
		return failed(err)
	}
	defer resp.Body.Close()
	alive.beat()
	if d.login != nil {
		d.login.saw(cookie, resp)
	}
	if c.stream != nil && resp.StatusCode/100 == 3 && resp.Header.Get("Location") != "" {
		d.moved.seen.Store(true)
		return failed(errMoved)
	}
	if resp.StatusCode >= 300 {
		return faultOf(c, shown, resp)
	}
	body := &watched{r: resp.Body, alive: alive}
	err = read(&answer{resp.StatusCode, resp.Header, body})
	switch {
	case errors.As(err, new(*consumerError)):
		return err
	case err != nil:
		return failed(err)
	}
	// A connection can be used again if its answer was read to the end.
	_, _ = io.CopyN(io.Discard, body, 4<<10)
	return nil
}

// request makes the request. shown is its URL without credentials.
func (d *Database) request(ctx context.Context, c *call, cookie string, alive *watchdog) (*http.Request, string,
	error) {
	u := *d.base
	if c.path != "" {
		u.RawPath = under(u.EscapedPath(), c.path)
		u.Path, _ = url.PathUnescape(u.RawPath)
	}
	if c.query != nil {
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += c.query.Encode()
	}
	var body io.Reader
	switch {
	case c.stream != nil:
		body = &sent{r: c.stream, alive: alive, closed: c.closed}
	case c.body != nil:
		body = &sent{r: bytes.NewReader(c.body), alive: alive}
	}
	shown := shortURL(d.shown, c)
	r, err := http.NewRequestWithContext(ctx, c.method, u.String(), body)
	if err != nil {
		return nil, shown, &Error{Method: c.method, URL: shown, Name: "bad_request", Reason: "the URL is invalid"}
	}
	if c.stream != nil {
		r.ContentLength = c.length
		r.Header.Set("Content-Type", c.media)
	} else if c.body != nil {
		r.ContentLength = int64(len(c.body))
		r.GetBody = func() (io.ReadCloser, error) { return &sent{r: bytes.NewReader(c.body), alive: alive}, nil }
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", d.o.UserAgent)
	for _, h := range d.e.Headers {
		r.Header.Set(h.Name, h.Value)
	}
	if c.accept != "" {
		r.Header.Set("Accept", c.accept)
	}
	switch {
	case cookie != "":
		r.Header.Add("Cookie", cookie)
	case d.e.HasAuth:
		r.SetBasicAuth(d.e.User, d.e.Password)
	}
	return r, shown, nil
}

// shortURL returns the URL of a request as errors show it: without what the request adds to the query, which may be
// long.
func shortURL(database string, c *call) string {
	url, query, ok := strings.Cut(database, "?")
	if url = under(url, c.path); ok {
		url += "?" + query
	}
	return url
}

// under returns the path of something in a database. The name of a database of this server, and that in a URL with a
// query, do not end with a slash.
func under(database, path string) string {
	if path == "" || strings.HasSuffix(database, "/") {
		return database + path
	}
	return database + "/" + path
}

// consumerError wraps an error of whoever consumes an answer, so that the request is not repeated for it, whatever the
// error is: it may be an *Error of another server.
type consumerError struct{ err error }

func (e *consumerError) Error() string { return e.err.Error() }

// watchdog calls its function if it has not been told for some time that the other side is alive.
type watchdog struct {
	timer *time.Timer
	after time.Duration
}

func newWatchdog(after time.Duration, bark func()) *watchdog {
	return &watchdog{time.AfterFunc(after, bark), after}
}

// beat begins to wait for the other side, pause ends that while this side works.
func (w *watchdog) beat()  { w.timer.Reset(w.after) }
func (w *watchdog) pause() { w.timer.Stop() }
func (w *watchdog) stop()  { w.timer.Stop() }

// sent is the body of a request. Its reads show that the other side takes what it gets. The time that they take does
// not count: whoever produces the body guards that.
type sent struct {
	r      io.Reader
	alive  *watchdog
	closed chan struct{} // nil: nobody waits for it
	once   sync.Once
}

// Close implements io.Closer. Package http calls it when it has stopped reading, which may be after the answer.
func (s *sent) Close() error {
	if s.closed != nil {
		s.once.Do(func() { close(s.closed) })
	}
	return nil
}

// Read implements io.Reader.
func (s *sent) Read(p []byte) (int, error) {
	s.alive.pause()
	n, err := s.r.Read(p)
	s.alive.beat()
	return n, err
}

// watched is an answer whose reads show that the other side is alive.
type watched struct {
	r     io.Reader
	alive *watchdog
}

// Read implements io.Reader. A consumer that takes long between two reads does not make the other side silent.
func (w *watched) Read(p []byte) (int, error) {
	w.alive.beat()
	n, err := w.r.Read(p)
	w.alive.pause()
	return n, err
}
