package couch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// login logs in with POST /_session and keeps the cookie. A server without sessions gets the password with every
// request.
type login struct {
	d *Database

	mu      sync.Mutex
	current string    // the cookie, NAME=VALUE; "" if there is none yet
	began   time.Time // when it was got
	renewAt time.Time
	none    bool // the server has no sessions
}

const (
	sessionCookie = "AuthSession"
	sessionPath   = "/_session"
	// leastSession is how old a cookie must be before a refusal is taken for its expiry. A younger one is refused for
	// another reason.
	leastSession = 5 * time.Second
)

func newLogin(d *Database) *login { return &login{d: d} }

// cookie returns the current cookie, and logs in if necessary. It returns "" if the server has no sessions. Callers
// wait for a log-in that another has begun. A nil login has no cookies.
func (l *login) cookie(ctx context.Context) (string, error) {
	if l == nil {
		return "", nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.none || l.current != "" && time.Now().Before(l.renewAt) {
		return l.current, nil
	}
	err := l.get(ctx)
	return l.current, err
}

// get logs in.
func (l *login) get(ctx context.Context) error {
	d := l.d
	u := *d.base
	u.Path, u.RawPath, u.RawQuery = sessionPath, "", ""
	shown := u.String()
	ctx, cancel := context.WithTimeoutCause(ctx, d.o.Timeout, errSilent)
	defer cancel()
	body, err := json.Marshal(map[string]string{"name": d.e.User, "password": d.e.Password})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, shown, bytes.NewReader(body))
	if err != nil {
		return &Error{Method: http.MethodPost, URL: shown, Name: "bad_request", Reason: "the URL is invalid"}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", d.o.UserAgent)
	resp, err := d.http.Do(r)
	if err != nil {
		if errors.Is(context.Cause(ctx), errSilent) {
			err = errSilent
		}
		return &Error{Method: http.MethodPost, URL: shown, Err: err}
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxFault))
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return d.unauthorized()
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return &Error{Method: http.MethodPost, URL: shown, Status: resp.StatusCode}
	}
	if resp.StatusCode >= 300 || !l.take(resp) {
		l.none, l.current = true, ""
	}
	return nil
}

// take keeps the cookie of an answer, if it has one.
func (l *login) take(resp *http.Response) bool {
	for _, c := range resp.Cookies() {
		if !strings.EqualFold(c.Name, sessionCookie) || c.Value == "" {
			continue
		}
		lives := l.d.o.SessionRefresh
		if c.MaxAge > 0 {
			lives = time.Duration(c.MaxAge) * time.Second * 9 / 10
		}
		l.current, l.began, l.renewAt = c.Name+"="+c.Value, time.Now(), time.Now().Add(max(lives, leastSession))
		return true
	}
	return false
}

// saw keeps a newer cookie of an answer to a request with the current one.
func (l *login) saw(sent string, resp *http.Response) {
	if sent == "" || resp.StatusCode >= 400 || len(resp.Header["Set-Cookie"]) == 0 ||
		foreign(l.d.base, resp.Request.URL) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == sent {
		l.take(resp)
	}
}

// expire forgets a cookie that was refused. It returns false if the cookie is too young to have expired: then the
// refusal is meant.
func (l *login) expire(sent string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != sent {
		return true // another request has renewed it
	}
	if time.Since(l.began) < leastSession {
		return false
	}
	l.current = ""
	return true
}
