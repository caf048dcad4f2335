package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	requestWithin = time.Minute
	maxAnswer     = 16 << 20 // bytes
)

// client sends requests to a node, as the admin of DIVAN_ADMIN, or of the file that DIVAN_ADMIN_FILE names, if one is
// set.
type client struct {
	base           string
	http           *http.Client
	user, password string
}

func newClient(base string) *client {
	c := &client{base: base, http: &http.Client{Timeout: requestWithin}}
	admin := os.Getenv("DIVAN_ADMIN")
	if file := os.Getenv("DIVAN_ADMIN_FILE"); admin == "" && file != "" {
		text, _ := os.ReadFile(file) // the nodes have read it, or have not started
		admin = strings.TrimRight(string(text), "\r\n")
	}
	c.user, c.password, _ = strings.Cut(admin, ":")
	return c
}

// refused is an answer other than success.
type refused struct {
	status int
	reason string
}

func (e *refused) Error() string { return fmt.Sprintf("%d %s", e.status, e.reason) }

// isStatus reports whether err is an answer with that status.
func isStatus(err error, status int) bool {
	var r *refused
	return errors.As(err, &r) && r.status == status
}

// send sends a request, with body as JSON unless it is nil, and decodes the answer into result unless that is nil.
func (c *client) send(ctx context.Context, method, path string, body, result any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.user != "" {
		r.SetBasicAuth(c.user, c.password)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %w", method, path, &refused{answer.StatusCode, string(bytes.TrimSpace(text))})
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(text, result)
}

// remove deletes a local document.
func (c *client) remove(ctx context.Context, path string) error {
	var now struct {
		Rev string `json:"_rev"`
	}
	if err := c.send(ctx, http.MethodGet, path, nil, &now); err != nil {
		return err
	}
	return c.send(ctx, http.MethodDelete, path+"?rev="+now.Rev, nil, nil)
}

// bulk writes documents in one request. It fails if one of them is refused.
func (c *client) bulk(ctx context.Context, database string, docs []doc) error {
	var rows []struct{ ID, Error, Reason string }
	err := c.send(ctx, http.MethodPost, "/"+database+"/_bulk_docs", map[string]any{"docs": docs}, &rows)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.Error != "" {
			return fmt.Errorf("document %s: %s: %s", row.ID, row.Error, row.Reason)
		}
	}
	return nil
}
