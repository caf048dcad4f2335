package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/divandb/divan/node/console/state"
)

const (
	within    = 10 * time.Second
	maxAnswer = 16 << 20 // bytes
)

// Fetch asks the node at address, http://admin:password@host:port, for the overview. It also returns the JSON. It takes
// at most ten seconds.
func Fetch(ctx context.Context, address string) (*state.Overview, []byte, error) {
	base, err := url.Parse(address)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, nil, errors.New("a node's address must have the form http://admin:password@127.0.0.1:5984")
	}
	fail := func(err error) (*state.Overview, []byte, error) {
		var u *url.Error
		if errors.As(err, &u) { // leave out the URL, which contains the password
			err = u.Err
		}
		return nil, nil, fmt.Errorf("%s: %w", base.Redacted(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	at := strings.TrimSuffix(base.String(), "/") + "/_dashboard/api/overview"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return fail(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fail(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return fail(err)
	}
	if answer.StatusCode != http.StatusOK {
		var reason struct{ Reason string }
		_ = json.Unmarshal(text, &reason) // it may be no JSON
		return fail(fmt.Errorf("%s %s", answer.Status, clean(reason.Reason)))
	}
	var o state.Overview
	if err := json.Unmarshal(text, &o); err != nil {
		return fail(fmt.Errorf("the answer is no overview: %w", err))
	}
	return &o, text, nil
}
