package couch

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/divandb/divan/node/replicate/spec"
)

// maxRedirects is how often a request is sent elsewhere before it fails.
const maxRedirects = 10

// errMoved is the error of a stream that was redirected. Whoever sends it again finds where to.
var errMoved = errors.New("the request was redirected")

// sameMethod lets package http follow 301 and 302 with the same method and body, as CouchDB's replicator does. By
// itself it makes a GET of them, which browsers need.
type sameMethod struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t sameMethod) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	if resp.Request == nil {
		resp.Request = r // as http.Transport does
	}
	if resp.Header.Get("Location") == "" {
		return resp, nil
	}
	switch resp.StatusCode {
	case http.StatusMovedPermanently:
		resp.StatusCode = http.StatusPermanentRedirect
	case http.StatusFound:
		resp.StatusCode = http.StatusTemporaryRedirect
	}
	return resp, nil
}

// CloseIdleConnections is for http.Client.
func (t sameMethod) CloseIdleConnections() {
	if c, ok := t.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// redirector checks the redirects of a Database.
type redirector struct {
	headers []spec.Param // of the endpoint
	seen    atomic.Bool  // there was one
}

// check bounds redirects and keeps secrets from other hosts. Package http leaves out Authorization and cookies there;
// the headers of the endpoint can be secrets too, and so is the body of a log-in.
func (m *redirector) check(r *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return errors.New("stopped after 10 redirects")
	}
	m.seen.Store(true)
	// What was left out at one host stays so, even if that sends the request back.
	abroad := foreign(via[0].URL, r.URL) ||
		slices.ContainsFunc(via, func(v *http.Request) bool { return foreign(via[0].URL, v.URL) })
	if !abroad {
		return nil
	}
	if via[0].URL.Path == sessionPath {
		return http.ErrUseLastResponse
	}
	for _, h := range m.headers {
		switch http.CanonicalHeaderKey(h.Name) {
		case "Accept", "Content-Type", "User-Agent":
		default:
			r.Header.Del(h.Name)
		}
	}
	return nil
}

// foreign reports whether a host must not get the secrets for another. As in package http, subdomains and other ports
// may have them.
func foreign(first, other *url.URL) bool {
	a, b := strings.ToLower(first.Hostname()), strings.ToLower(other.Hostname())
	return a != b && (strings.ContainsAny(b, ":%") || !strings.HasSuffix(b, "."+a))
}

// settle finds out where the stream of a request will be redirected to, and lets the request go there: a stream can be
// sent only once.
func settle(ctx context.Context, client *http.Client, r *http.Request) error {
	probe := r.Clone(ctx)
	probe.Method, probe.Body, probe.ContentLength = http.MethodHead, nil, 0
	resp, err := client.Do(probe)
	if err != nil {
		return err
	}
	resp.Body.Close()
	r.URL, r.Host, r.Header = resp.Request.URL, resp.Request.Host, resp.Request.Header
	return nil
}
