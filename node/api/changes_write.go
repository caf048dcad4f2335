package api

import (
	"net/http"
	"strconv"

	"github.com/divandb/divan/layer"
)

// feedWriter renders a feed in one of its forms.
type feedWriter struct {
	s    *stream
	kind feedKind
	rows bool // one at least was written
}

// newFeedWriter begins the answer.
func newFeedWriter(q *request, kind feedKind) *feedWriter {
	if kind == feedEventSource {
		q.w.Header().Set("Content-Type", "text/event-stream")
		q.w.Header().Set("Cache-Control", "no-cache")
	}
	w := &feedWriter{s: q.stream(http.StatusOK), kind: kind}
	if w.object() {
		w.s.buf = append(w.s.buf, "{\"results\":[\n"...)
	}
	return w
}

// object reports whether the feed is one JSON object rather than one thing per line.
func (w *feedWriter) object() bool { return w.kind == feedNormal || w.kind == feedLongpoll }

func (w *feedWriter) row(c *layer.Change, showSeq bool, query *changesQuery) error {
	s := w.s
	switch w.kind {
	case feedEventSource:
		s.buf = append(s.buf, "data: "...)
	case feedNormal, feedLongpoll:
		if w.rows {
			s.buf = append(s.buf, ",\r\n"...)
		}
	}
	w.rows = true
	if err := s.change(c, showSeq, query); err != nil {
		return err
	}
	switch w.kind {
	case feedEventSource:
		s.buf = append(s.buf, "\nid: \""...)
		s.buf = append(c.Seq.Append(s.buf), "\"\n\n"...)
	case feedContinuous:
		s.buf = append(s.buf, '\n')
	}
	return s.row()
}

// change writes one row.
func (s *stream) change(c *layer.Change, showSeq bool, query *changesQuery) error {
	if showSeq {
		s.buf = append(c.Seq.Append(append(s.buf, `{"seq":"`...)), '"')
	} else {
		s.buf = append(s.buf, `{"seq":null`...)
	}
	s.buf = appendString(append(s.buf, `,"id":`...), c.ID)
	s.buf = append(s.buf, `,"changes":[`...)
	if len(c.Leaves) == 0 {
		s.buf = append(appendRev(append(s.buf, `{"rev":`...), c.Rev), '}')
	}
	for i, leaf := range c.Leaves {
		if i > 0 {
			s.buf = append(s.buf, ',')
		}
		s.buf = append(appendRev(append(s.buf, `{"rev":`...), leaf), '}')
	}
	s.buf = append(s.buf, ']')
	if c.Deleted {
		s.buf = append(s.buf, `,"deleted":true`...)
	}
	if c.Doc != nil {
		s.buf = append(s.buf, `,"doc":`...)
		if err := s.document(c.Doc, &query.render); err != nil {
			return err
		}
	} else if query.includeDocs {
		s.buf = append(s.buf, `,"doc":null`...)
	}
	s.buf = append(s.buf, '}')
	return nil
}

// waiting sends what there is, at least the header and a line break: clients want to know that they are connected.
func (w *feedWriter) waiting() error {
	if !w.s.sent && !w.rows {
		w.s.buf = append(w.s.buf, '\n')
	}
	return w.s.rest()
}

func (w *feedWriter) heartbeat() error {
	if w.kind == feedEventSource {
		w.s.buf = append(w.s.buf, "event: heartbeat\ndata: \n\n"...)
	} else {
		w.s.buf = append(w.s.buf, '\n')
	}
	return w.s.flush()
}

// stop ends the feed.
func (w *feedWriter) stop(last layer.Seq, pending int64) error {
	return w.finish(last, func(dst []byte) []byte {
		return strconv.AppendInt(append(dst, `,"pending":`...), pending, 10)
	})
}

// resharded ends the feed of a replaced shard: it says from where on, and on which shards, the feed continues (P5). An event source gets an event of that name, so
// that its client knows better than to connect again.
func (w *feedWriter) resharded(last layer.Seq, to *layer.ShardMap) error {
	if w.kind == feedEventSource {
		w.s.buf = append(to.Since.Append(append(w.s.buf, "event: resharded\ndata: {\"since\":\""...)), `","shards":`...)
		w.s.buf = append(appendShards(w.s.buf, to.Shards), "}\n\n"...)
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
		return s.end() // an event source has no last word; its client has the id of the last event
	case feedContinuous:
		s.buf = append(s.buf, `{"last_seq":"`...)
	default:
		s.buf = append(s.buf, "\n],\n\"last_seq\":\""...)
	}
	s.buf = more(append(last.Append(s.buf), '"'))
	s.buf = append(s.buf, '}', '\n')
	return s.end()
}

func appendShards(dst []byte, shards []layer.ShardID) []byte {
	dst = append(dst, '[')
	for i, id := range shards {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, string(id))
	}
	return append(dst, ']')
}
