package feeds

import (
	"strconv"
	"strings"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
)

// DatabaseUpdates answers GET /_db_updates: the feed of that database, with the entries as rows. Without the database
// there is no feed, as in CouchDB.
func (h *Handlers) DatabaseUpdates(q *call.Request) error {
	longest := time.Duration(h.Settings.Int("chttpd", "changes_timeout", 60_000)) * time.Millisecond
	c := changesQuery{limit: -1, timeout: longest, interval: 1, updates: true}
	since := "0"
	for _, p := range q.Params {
		if p.Name == "since" {
			since = p.Value
			continue
		}
		if err := c.takeUpdates(p.Name, p.Value, longest); err != nil {
			return err
		}
	}
	var err error
	if c.since, err = parseSince(q, since, &c); err != nil {
		return err
	}
	return h.serve(q, &c, &changeFilter{match: func(c *layer.Change) bool {
		_, _, ok := splitUpdate(c)
		return ok
	}})
}

// takeUpdates takes a parameter of _db_updates, which has fewer of them than _changes, and other errors.
func (c *changesQuery) takeUpdates(name, value string, longest time.Duration) error {
	number := func(set func(n int64)) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return fault.BadRequest("invalid_integer")
		}
		set(n)
		return nil
	}
	switch name {
	case "feed":
		if value == "live" || c.takeFeed(value) != nil {
			return fault.BadRequest("Supported `feed` types: normal, continuous, longpoll, eventsource")
		}
	case "descending":
		c.descending = value == "true"
	case "limit":
		return number(func(n int64) { c.limit = int(min(n, 1<<30)) })
	case "timeout":
		return number(func(n int64) { c.timeout = shorter(n, longest) })
	case "heartbeat":
		if value == "false" {
			return nil
		}
		if value == "true" {
			c.heartbeat = longest
			return nil
		}
		return number(func(n int64) { c.heartbeat = max(time.Millisecond, shorter(n, longest)) })
	}
	return nil
}

// splitUpdate returns the event and the database of an entry. ok is false for documents that are none.
func splitUpdate(c *layer.Change) (event, database string, ok bool) {
	event, database, ok = strings.Cut(c.ID, ":")
	return event, database, ok && !c.Deleted && !strings.HasPrefix(c.ID, "_")
}

// appendUpdate appends a row.
func appendUpdate(dst []byte, c *layer.Change) []byte {
	event, database, _ := splitUpdate(c)
	dst = jsontext.AppendQuoted(append(dst, `{"db_name":`...), database)
	dst = jsontext.AppendQuoted(append(dst, `,"type":`...), event)
	return append(c.Seq.Append(append(dst, `,"seq":"`...)), `"}`...)
}
