package relocate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/divandb/divan/layer"
)

// Client accesses the databases of a node over HTTP, with GET /{db}/_export and POST /{db}/_import, for admins.
type Client struct {
	base    *url.URL
	http    *http.Client
	silence time.Duration // maxSilence
}

const (
	// askFirst is how long to wait for the node to say whether it wants a body.
	askFirst = 10 * time.Second
	// connectWithin bounds a connection's beginning, and that of TLS on it.
	connectWithin = 10 * time.Second
)

// NewClient returns a client for a node's address, http://user:password@host:port.
func NewClient(address string) (*Client, error) {
	base, err := url.Parse(address)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, errors.New("a node's address must have the form http://admin:password@127.0.0.1:5984")
	}
	return &Client{base, &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, ExpectContinueTimeout: askFirst, DisableCompression: true,
		DialContext:         (&net.Dialer{Timeout: connectWithin, KeepAlive: connectWithin}).DialContext,
		TLSHandshakeTimeout: connectWithin,
	}}, maxSilence}, nil
}

// address returns the URL of a part of a database. It escapes the name, which may contain slashes.
func (c *Client) address(database, part string) string {
	return strings.TrimSuffix(c.base.String(), "/") + "/" + escape(database) + part
}

// escape returns a database's name as a segment of a path. CouchDB and nodes take a plus sign in a path for a space.
func escape(name string) string { return strings.ReplaceAll(url.PathEscape(name), "+", "%2B") }

func (c *Client) send(ctx context.Context, method, address string, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, errors.New("the address is invalid")
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/octet-stream")
		r.Header.Set("Expect", "100-continue")
	}
	return c.do(r)
}

// do sends a request. It fails once the node has been silent for maxSilence, also while the body of the answer is read.
func (c *Client) do(r *http.Request) (*http.Response, error) {
	ctx, a := c.watch(r.Context())
	r = r.WithContext(ctx)
	if r.Body != nil {
		r.Body = &watchedBody{r.Body, ctx, a, false}
	}
	answer, err := c.http.Do(r)
	if err != nil {
		err = silent(ctx, err)
		a.end()
		var u *url.Error
		if errors.As(err, &u) { // leave out the URL, which contains the password
			err = u.Err
		}
		return nil, fmt.Errorf("%s: %w", c.base.Redacted(), err)
	}
	answer.Body = &watchedBody{answer.Body, ctx, a, true}
	return answer, nil
}

// Salvage implements Salvager.
func (c *Client) Salvage(ctx context.Context, database string, w io.Writer) error {
	return c.export(ctx, c.address(database, "/_export?skip_damaged=true"), w)
}

// Export implements Source.
func (c *Client) Export(ctx context.Context, database string, w io.Writer, from *layer.ExportPosition) error {
	address := c.address(database, "/_export")
	if from != nil {
		address += "?from=" + url.QueryEscape(from.String())
	}
	return c.export(ctx, address, w)
}

func (c *Client) export(ctx context.Context, address string, w io.Writer) error {
	answer, err := c.send(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return refusal(answer)
	}
	if _, err = io.Copy(w, answer.Body); err != nil {
		err = fmt.Errorf("%s: the export was interrupted: %w", c.base.Redacted(), err)
		if reason := c.damaged(ctx); reason != "" {
			err = &layer.Error{Kind: layer.Unavailable, Name: storeDamaged,
				Reason: err.Error() + "; the node says " + reason}
		}
	}
	return err
}

const storeDamaged = "store_damaged"

// damaged returns the node's report of damage to its store. A response that has begun cannot say why it ends early.
func (c *Client) damaged(ctx context.Context) (reason string) {
	answer, err := c.send(ctx, http.MethodGet, strings.TrimSuffix(c.base.String(), "/")+"/_up", nil)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	var said struct{ Reasons []string }
	if json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&said) != nil {
		return ""
	}
	for _, r := range said.Reasons {
		if strings.HasPrefix(r, storeDamaged+":") {
			return r
		}
	}
	return ""
}

// Import implements Target.
func (c *Client) Import(ctx context.Context, database string, export io.ReadSeeker) error {
	answer, err := c.send(ctx, http.MethodPost, c.address(database, "/_import"), io.NopCloser(export))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		return refusal(answer)
	}
	return nil
}

// Free implements Target.
func (c *Client) Free(ctx context.Context, database string) error {
	answer, err := c.send(ctx, http.MethodGet, c.address(database, ""), nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusNotFound:
		return nil
	case http.StatusOK:
		return &layer.Error{Kind: layer.Exists, Reason: "a database of that name already exists"}
	}
	return refusal(answer)
}

// refusal returns a response's error object as an error.
func refusal(answer *http.Response) (err error) {
	if answer.StatusCode == http.StatusConflict {
		defer func() { err = &layer.Error{Kind: layer.Conflict, Reason: err.Error()} }()
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	var said struct{ Error, Reason string }
	if err != nil || json.Unmarshal(text, &said) != nil || said.Error == "" {
		text, _, _ = bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
		return fmt.Errorf("the node answered %s %s", answer.Status, text)
	}
	if said.Error == storeDamaged {
		return &layer.Error{Kind: layer.Unavailable, Name: said.Error, Reason: said.Reason}
	}
	return fmt.Errorf("the node answered %d %s: %s", answer.StatusCode, said.Error, said.Reason)
}
