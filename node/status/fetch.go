package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/divandb/divan/node/console/state"
)

const (
	within    = 10 * time.Second
	maxAnswer = 16 << 20 // bytes
)

// ErrLogin means that the node refuses the name and password of the address. Who asks again and again has the account
// locked.
var ErrLogin = errors.New("the login is refused")

// Up asks the node at address whether it serves requests, and returns its answer in words. It takes at most ten
// seconds.
func Up(ctx context.Context, address string) (string, error) {
	_, text, err := get(ctx, address, "/_up")
	if err != nil {
		return "", err
	}
	var up struct {
		Status  string
		Reasons []string
	}
	if err := json.Unmarshal(text, &up); err != nil {
		return "", fmt.Errorf("the answer says nothing about the node: %w", err)
	}
	return strings.Join(append([]string{clean(up.Status)}, cleanAll(up.Reasons)...), "\n  "), nil
}

func cleanAll(texts []string) (list []string) {
	for _, text := range texts {
		list = append(list, clean(text))
	}
	return list
}

// Fetch asks the node at address, http://admin:password@host:port, for the overview with so many of the last events, as
// far as there are as many. It also returns the JSON. Each of its requests takes at most ten seconds: one, and another
// one for each 500 events if an overview has fewer than wanted.
func Fetch(ctx context.Context, address string, events int) (*state.Overview, []byte, error) {
	base, text, err := get(ctx, address, "/_dashboard/api/overview")
	if err != nil {
		return nil, nil, err
	}
	var o state.Overview
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, nil, fmt.Errorf("%s: the answer is no overview: %w", base, err)
	}
	if events > len(o.Events) && len(o.Events) > 0 {
		if o.Events, err = lastEvents(ctx, address, events); err != nil {
			return nil, nil, err
		}
	}
	o.Events = o.Events[:min(events, len(o.Events))]
	text, err = withEvents(text, o.Events)
	return &o, text, err
}

// maxPage is how many events a node answers at once.
const maxPage = 500

// lastEvents asks a node for the last events, newest first, at most most of them.
func lastEvents(ctx context.Context, address string, most int) (list []state.Event, err error) {
	query := url.Values{}
	for len(list) < most {
		query.Set("limit", strconv.Itoa(min(maxPage, most-len(list))))
		base, text, err := get(ctx, address, "/_dashboard/api/events?"+query.Encode())
		if err != nil {
			return nil, err
		}
		var page state.EventPage
		if err := json.Unmarshal(text, &page); err != nil {
			return nil, fmt.Errorf("%s: the answer is no list of events: %w", base, err)
		}
		list = append(list, page.Events...)
		if page.Next == "" || len(page.Events) == 0 {
			break
		}
		query.Set("after", page.Next)
	}
	return list, nil
}

// withEvents returns the JSON of an overview with other events, and all else as the node says it, which may be of a
// later version.
func withEvents(overview []byte, list []state.Event) ([]byte, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(overview, &all); err != nil {
		return nil, err
	}
	if _, ok := all["events"]; !ok {
		return overview, nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	all["events"] = text
	return json.Marshal(all)
}

// get sends a request to a node, and returns its address without the password, and the answer.
func get(ctx context.Context, address, path string) (shown string, text []byte, err error) {
	base, err := url.Parse(address)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return "", nil, errors.New("a node's address must have the form http://admin:password@127.0.0.1:5984")
	}
	fail := func(err error) (string, []byte, error) {
		var u *url.Error
		if errors.As(err, &u) { // leave out the URL, which contains the password
			err = u.Err
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("it did not answer within %s", within)
		}
		return "", nil, fmt.Errorf("%s: %w", base.Redacted(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base.String(), "/")+path, nil)
	if err != nil {
		return fail(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fail(err)
	}
	defer answer.Body.Close()
	if text, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer)); err != nil {
		return fail(err)
	}
	if answer.StatusCode != http.StatusOK {
		var reason struct{ Reason string }
		_ = json.Unmarshal(text, &reason) // it may be no JSON
		if answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden {
			return fail(fmt.Errorf("%w: %s %s", ErrLogin, answer.Status, clean(reason.Reason)))
		}
		return fail(fmt.Errorf("%s %s", answer.Status, clean(reason.Reason)))
	}
	return base.Redacted(), text, nil
}
