package feeds

import (
	"net/http"
	"strconv"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/render"
)

// feedWriter writes a feed in one of its forms.
type feedWriter struct {
	s       *call.Stream
	kind    feedKind
	updates bool // rows are updates of databases
	rows    bool // a row was written
}

// newFeedWriter begins the response.
func newFeedWriter(q *call.Request, c *changesQuery) *feedWriter {
	kind := c.feed
	if kind == feedEventSource {
		q.W.Header().Set("Content-Type", "text/event-stream")
		q.W.Header().Set("Cache-Control", "no-cache")
	}
	w := &feedWriter{s: q.Stream(http.StatusOK), kind: kind, updates: c.updates}
	if w.object() {
		w.s.Buf = append(w.s.Buf, "{\"results\":[\n"...)
	}
	return w
}

// object reports whether the feed is one JSON object instead of one item per line.
func (w *feedWriter) object() bool { return w.kind == feedNormal || w.kind == feedLongpoll }

func (w *feedWriter) row(c *layer.Change, showSeq bool, query *changesQuery) error {
	s := w.s
	switch w.kind {
	case feedEventSource:
		s.Buf = append(s.Buf, "data: "...)
	case feedNormal, feedLongpoll:
		if w.rows {
			s.Buf = append(s.Buf, ",\r\n"...)
		}
	}
	w.rows = true
	if w.updates && w.kind != feedEventSource { // CouchDB's event source has the entry as it is
		s.Buf = appendUpdate(s.Buf, c)
	} else if err := writeChange(s, c, showSeq, query); err != nil {
		return err
	}
	switch w.kind {
	case feedEventSource:
		s.Buf = append(s.Buf, "\nid: \""...)
		s.Buf = append(c.Seq.Append(s.Buf), "\"\n\n"...)
	case feedContinuous:
		s.Buf = append(s.Buf, '\n')
	}
	return s.Row()
}

// writeChange writes one row.
func writeChange(s *call.Stream, c *layer.Change, showSeq bool, query *changesQuery) error {
	if showSeq {
		s.Buf = append(c.Seq.Append(append(s.Buf, `{"seq":"`...)), '"')
	} else {
		s.Buf = append(s.Buf, `{"seq":null`...)
	}
	s.Buf = jsontext.AppendQuoted(append(s.Buf, `,"id":`...), c.ID)
	s.Buf = append(s.Buf, `,"changes":[`...)
	if len(c.Leaves) == 0 {
		s.Buf = append(encode.Rev(append(s.Buf, `{"rev":`...), c.Rev), '}')
	}
	for i, leaf := range c.Leaves {
		if i > 0 {
			s.Buf = append(s.Buf, ',')
		}
		s.Buf = append(encode.Rev(append(s.Buf, `{"rev":`...), leaf), '}')
	}
	s.Buf = append(s.Buf, ']')
	if c.Deleted {
		s.Buf = append(s.Buf, `,"deleted":true`...)
	}
	if c.Doc != nil {
		s.Buf = append(s.Buf, `,"doc":`...)
		if err := render.Document(s, c.Doc, &query.render); err != nil {
			return err
		}
	} else if query.includeDocs {
		s.Buf = append(s.Buf, `,"doc":null`...)
	}
	s.Buf = append(s.Buf, '}')
	return nil
}

// waiting flushes the response, which has at least the header and a line break, since clients want to know that they
// are connected.
func (w *feedWriter) waiting() error {
	if !w.s.Sent && !w.rows {
		w.s.Buf = append(w.s.Buf, '\n')
	}
	return w.s.Rest()
}

func (w *feedWriter) heartbeat() error {
	if w.kind == feedEventSource {
		w.s.Buf = append(w.s.Buf, "event: heartbeat\ndata: \n\n"...)
	} else {
		w.s.Buf = append(w.s.Buf, '\n')
	}
	return w.s.Flush()
}

// stop ends the feed.
func (w *feedWriter) stop(last layer.Seq, pending int64) error {
	return w.finish(last, func(dst []byte) []byte {
		if w.updates {
			return dst
		}
		return strconv.AppendInt(append(dst, `,"pending":`...), pending, 10)
	})
}

// resharded ends the feed of a replaced shard with the sequence and the shards on which to continue (P5). An event
// source gets an event of that name, so that its client does not just reconnect.
func (w *feedWriter) resharded(last layer.Seq, to *layer.ShardMap) error {
	if w.kind == feedEventSource {
		w.s.Buf = append(to.Since.Append(append(w.s.Buf, "event: resharded\ndata: {\"since\":\""...)), `","shards":`...)
		w.s.Buf = append(appendShards(w.s.Buf, to.Shards), "}\n\n"...)
	}
	return w.finish(last, func(dst []byte) []byte {
		dst = append(dst, `,"pending":0,"resharded":{"since":"`...)
		dst = append(to.Since.Append(dst), `","shards":`...)
		return append(appendShards(dst, to.Shards), '}')
	})
}

// finish writes the last line: last_seq and the members that more appends.
func (w *feedWriter) finish(last layer.Seq, more func([]byte) []byte) error {
	s := w.s
	switch w.kind {
	case feedEventSource:
		return s.End() // an event source has no last line; its client has the id of the last event
	case feedContinuous:
		s.Buf = append(s.Buf, `{"last_seq":"`...)
	default:
		s.Buf = append(s.Buf, "\n],\n\"last_seq\":\""...)
	}
	s.Buf = more(append(last.Append(s.Buf), '"'))
	s.Buf = append(s.Buf, '}', '\n')
	return s.End()
}

func appendShards(dst []byte, shards []layer.ShardID) []byte {
	dst = append(dst, '[')
	for i, id := range shards {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendQuoted(dst, string(id))
	}
	return append(dst, ']')
}
