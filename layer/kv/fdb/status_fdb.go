//go:build fdb

package fdb

import (
	"context"
	"time"
)

// statusKey is the key at which the client answers with what it gathers from the whole cluster.
const statusKey = "\xff\xff/status/json"

// statusFor is how long a status is shown without asking again: on a large cluster it is not cheap.
const statusFor = 5 * time.Second

// Status returns what the cluster says about itself, at most statusFor old.
func (e *engine) Status(ctx context.Context) (Status, error) {
	e.status.Lock()
	defer e.status.Unlock()
	if time.Since(e.status.last.At) < statusFor {
		return e.status.last, nil
	}
	tx := e.Begin(ctx)
	defer tx.Cancel()
	text, err := tx.Snapshot().Get([]byte(statusKey)).Wait()
	if err != nil {
		return Status{}, err
	}
	s, err := parseStatus(text, time.Now())
	if err == nil {
		e.status.last = s
	}
	return s, err
}
