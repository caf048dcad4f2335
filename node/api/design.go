package api

import (
	"net/http"
	"sort"

	"github.com/divandb/divan/layer"
)

// designInfo answers GET .../_info: the state of the index behind a design document, per view, and how far it is on each shard.
func (q *request) designInfo() error {
	design, err := q.db.Design(q.ctx(), q.part(2))
	if err != nil {
		return err
	}
	state, err := q.db.Index(design).State(q.ctx())
	if err != nil {
		return err
	}
	b := appendStringMember([]byte{'{'}, "name", q.part(2))
	b = append(appendMember(b, "view_index"), '{')
	b = appendStringMember(b, "signature", design.Signature)
	b = appendStringMember(b, "language", design.Language)
	b = appendStringMember(b, "update_seq", state.Seq.String())
	b = appendStringMember(b, "last_seq", state.LastSeq.String())
	b = appendBoolMember(b, "updater_running", state.Building)
	b = appendBoolMember(b, "compact_running", false)
	b = appendBoolMember(b, "waiting_commit", false)
	b = appendIntMember(b, "waiting_clients", int64(q.srv.o.Indexer.Waiting(q.db, design)))
	b = appendInteractive(b, design, &state)
	b = appendBuild(b, &state)
	b = appendViewStates(b, state.Views)
	return q.sendJSON(http.StatusOK, append(b, "}}"...))
}

// appendInteractive appends what is known of an interactive index (V4): from which sequence on writers keep it up to date, and whether what was written
// before has been indexed.
func appendInteractive(b []byte, design *layer.Design, state *layer.IndexState) []byte {
	b = appendBoolMember(b, "interactive", design.Options.Interactive)
	if state.Creation.IsZero() {
		return b
	}
	b = appendStringMember(b, "created", state.Creation.String())
	if state.Current() {
		return appendStringMember(b, "build_status", "ready")
	}
	return appendStringMember(b, "build_status", "building")
}

// appendBuild appends how far the build under way is: its goal, and the sequence reached on each shard, or, where a first build goes by id, the last id.
func appendBuild(b []byte, state *layer.IndexState) []byte {
	if !state.Building {
		return append(appendMember(b, "shards"), "{}"...)
	}
	b = appendStringMember(b, "goal", state.Goal.String())
	b = append(appendMember(b, "shards"), '{')
	for _, s := range state.Shards {
		b = appendStringMember(b, string(s.Shard), s.Seq.String())
	}
	b = append(appendMember(append(b, '}'), "scanned"), '{')
	for _, s := range state.Shards {
		if s.Scans {
			b = appendStringMember(b, string(s.Shard), s.Scanned)
		}
	}
	return append(b, '}')
}

// appendViewStates appends sizes, CouchDB's sum over the views, and views, one by one.
func appendViewStates(b []byte, views []layer.ViewState) []byte {
	var bytes int64
	for _, v := range views {
		bytes += v.Bytes
	}
	b = append(appendMember(b, "sizes"), '{')
	b = appendIntMember(b, "file", bytes)
	b = appendIntMember(b, "active", bytes)
	b = appendIntMember(b, "external", bytes)
	b = append(b, '}')
	sort.Slice(views, func(i, j int) bool { return views[i].Name < views[j].Name })
	b = append(appendMember(b, "views"), '{')
	for _, v := range views {
		b = append(appendMember(b, v.Name), '{')
		b = appendIntMember(b, "rows", v.Rows)
		b = appendIntMember(b, "bytes", v.Bytes)
		b = appendIntMember(b, "errors", v.Errors)
		if e := v.Skipped; e != nil {
			b = append(appendMember(b, "skipped"), '{')
			b = appendStringMember(b, "id", e.DocID)
			b = append(appendStringMember(b, "error", e.Error), '}')
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// designErrors answers GET .../_errors: the documents that a map function skipped (V10).
func (q *request) designErrors() error {
	design, err := q.db.Design(q.ctx(), q.part(2))
	if err != nil {
		return err
	}
	s := q.stream(http.StatusOK)
	defer s.drop()
	s.buf = append(s.buf, "{\"errors\":[\r\n"...)
	w := rowWriter{s: s}
	for e, err := range q.db.Index(design).Errors(q.ctx()) {
		if err != nil {
			return err
		}
		w.next()
		s.buf = appendStringMember(append(s.buf, '{'), "id", e.DocID)
		s.buf = appendStringMember(s.buf, "view", e.View)
		s.buf = appendStringMember(s.buf, "seq", e.Seq.String())
		s.buf = append(appendStringMember(s.buf, "error", e.Error), '}')
		if err := s.row(); err != nil {
			return err
		}
	}
	s.buf = append(s.buf, "\r\n]}\n"...)
	return s.end()
}
