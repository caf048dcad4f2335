package feeds

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/render"
)

// changesQuery are the parameters of _changes (C5).
type changesQuery struct {
	feed        feedKind
	since       layer.Seq
	shard       layer.ShardID
	descending  bool
	limit       int // negative: none
	allLeaves   bool
	heartbeat   time.Duration // 0: none
	timeout     time.Duration // how long a feed waits without heartbeats
	includeDocs bool
	conflicts   bool
	render      render.Options
	filter      string
	interval    int  // seq_interval: only every n-th row shows its sequence
	updates     bool // of databases, for _db_updates
}

// feedKind is the form of a feed.
type feedKind int

const (
	feedNormal feedKind = iota
	feedLongpoll
	feedContinuous
	feedEventSource
)

// readChangesQuery reads the parameters, which are in the query string even of a POST.
func (h *Handlers) readChangesQuery(q *call.Request) (c changesQuery, err error) {
	longest := time.Duration(h.Settings.Int("chttpd", "changes_timeout", 60_000)) * time.Millisecond
	c = changesQuery{limit: -1, timeout: longest, interval: 1, shard: layer.ShardID(q.Part(2))}
	since := "0"
	for _, p := range q.Params {
		name := strings.ToLower(p.Name)
		if name == "since" || name == "last-event-id" {
			since = p.Value
			continue
		}
		if err := c.take(name, p.Value, longest); err != nil {
			return c, err
		}
	}
	if id := q.R.Header.Get("Last-Event-ID"); id != "" && c.feed == feedEventSource {
		since = id // a reconnecting browser has a newer position than the URL
	}
	c.since, err = parseSince(q, since, &c)
	return c, err
}

func (c *changesQuery) take(name, value string, longest time.Duration) (err error) {
	on := value == "true"
	switch name {
	case "feed":
		return c.takeFeed(value)
	case "descending":
		c.descending = on
	case "limit":
		if c.limit, err = strconv.Atoi(value); err != nil {
			return fault.BadRequest("The limit parameter should be a non-negative integer")
		}
		if c.limit < 0 {
			return fault.BadRequest("The limit value should be a non-negative integer")
		}
	case "style":
		switch value {
		case "main_only", "all_docs":
			c.allLeaves = value == "all_docs"
		default:
			return fault.BadRequest("Supported `style` values: main_only, all_docs")
		}
	case "heartbeat":
		c.heartbeat, err = parseHeartbeat(value, longest)
	case "timeout":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fault.BadRequest("The timeout parameter should be a non-negative integer")
		}
		if n < 0 {
			return fault.BadRequest("The timeout value should be a non-negative integer")
		}
		c.timeout = shorter(n, longest)
	case "include_docs":
		c.includeDocs = on
	case "conflicts":
		c.conflicts = on
	case "attachments":
		c.render.Attachments = on
	case "att_encoding_info":
		c.render.EncodingInfo = on
	case "filter":
		c.filter = value
	case "seq_interval":
		if c.interval, err = strconv.Atoi(value); err != nil || c.interval < 1 {
			return fault.BadRequest("invalid_seq_interval")
		}
	}
	return err
}

func (c *changesQuery) takeFeed(value string) error {
	switch value {
	case "normal":
		c.feed = feedNormal
	case "longpoll":
		c.feed = feedLongpoll
	case "continuous", "live":
		c.feed = feedContinuous
	case "eventsource":
		c.feed = feedEventSource
	default:
		return fault.BadRequest("Supported `feed` types: normal, continuous, live, longpoll, eventsource")
	}
	return nil
}

func parseHeartbeat(value string, longest time.Duration) (time.Duration, error) {
	if value == "true" {
		return longest, nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0, fault.BadRequest("Invalid heartbeat value. Expecting a positive integer value (in milliseconds).")
	}
	if n <= 0 {
		return 0, fault.BadRequest("The heartbeat value should be a positive integer (in milliseconds).")
	}
	return shorter(n, longest), nil
}

// shorter returns n milliseconds, but at most longest.
func shorter(n int64, longest time.Duration) time.Duration {
	if n > longest.Milliseconds() {
		return longest
	}
	return time.Duration(n) * time.Millisecond
}

// parseSince parses a sequence, 0 or now. A descending feed begins at the end regardless. Quotes are removed, because
// the ids of an event source have them.
func parseSince(q *call.Request, text string, c *changesQuery) (layer.Seq, error) {
	if c.descending {
		return layer.Seq{}, nil
	}
	if bare, ok := strings.CutPrefix(text, `"`); ok {
		if bare, ok = strings.CutSuffix(bare, `"`); ok {
			text = bare
		}
	}
	if text == "now" {
		return q.DB.LastSeq(q.Ctx())
	}
	return layer.ParseSeq(text)
}

// waits reports whether the feed continues after it has reached the present.
func (c *changesQuery) waits() bool { return c.feed != feedNormal && !c.descending }

// postedBody parses the JSON body of a POST. An empty body is no value.
func postedBody(q *call.Request) (gjson.Result, error) {
	if q.Method != http.MethodPost {
		return gjson.Result{}, nil
	}
	if q.R.ContentLength == 0 {
		return gjson.Result{}, nil
	}
	return q.Body.Object()
}
