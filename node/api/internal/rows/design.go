package rows

import (
	"net/http"
	"sort"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/encode"
)

// DesignInfo answers GET .../_info: the state of a design document's index, per view, and its progress on each shard.
func (h *Handlers) DesignInfo(q *call.Request) error {
	design, err := q.DB.Design(q.Ctx(), q.Part(2))
	if err != nil {
		return err
	}
	state, err := q.DB.Index(design).State(q.Ctx())
	if err != nil {
		return err
	}
	pending, err := pendingUpdates(q, &state)
	if err != nil {
		return err
	}
	purges, err := q.DB.Info(q.Ctx())
	if err != nil {
		return err
	}
	b := encode.StringMember([]byte{'{'}, "name", q.Part(2))
	b = append(encode.Member(b, "view_index"), '{')
	b = encode.StringMember(b, "signature", design.Signature)
	b = encode.StringMember(b, "language", design.Language)
	b = encode.StringMember(b, "update_seq", state.Seq.String())
	b = encode.StringMember(b, "last_seq", state.LastSeq.String())
	b = encode.IntMember(b, "purge_seq", purges.PurgeSeq)
	b = append(encode.Member(b, "updates_pending"), '{')
	for _, copies := range []string{"minimum", "preferred", "total"} { // there is one copy
		b = encode.IntMember(b, copies, pending)
	}
	b = append(b, '}')
	b = append(encode.Member(b, "collator_versions"), `["`+layer.CollatorVersion+`"]`...)
	b = encode.BoolMember(b, "updater_running", state.Asked)
	b = encode.BoolMember(b, "compact_running", false)
	b = encode.BoolMember(b, "waiting_commit", false)
	b = encode.IntMember(b, "waiting_clients", int64(h.Indexer.Waiting(q.DB, design)))
	b = appendInteractive(b, design, &state)
	b = appendBuild(b, &state)
	b = appendViewStates(b, state.Views)
	return q.SendJSON(http.StatusOK, append(b, "}}"...))
}

// pendingUpdates returns how many changes are not yet in an index. The store adds up its counts of changes.
func pendingUpdates(q *call.Request, state *layer.IndexState) (int64, error) {
	if state.Current() {
		return 0, nil
	}
	pass, err := q.DB.Changes(q.Ctx(), layer.ChangesOptions{Since: state.Seq}) // with limit 0, it yields no rows
	if err != nil {
		return 0, err
	}
	for _, err := range pass.Rows {
		if err != nil {
			return 0, err
		}
	}
	return pass.Pending(q.Ctx())
}

// appendInteractive appends the state of an interactive index (V4): the sequence from which on writers keep it up to
// date, and whether earlier writes have been indexed.
func appendInteractive(b []byte, design *layer.Design, state *layer.IndexState) []byte {
	b = encode.BoolMember(b, "interactive", design.Options.Interactive)
	if state.Creation.IsZero() {
		return b
	}
	b = encode.StringMember(b, "created", state.Creation.String())
	if state.Current() {
		return encode.StringMember(b, "build_status", "ready")
	}
	return encode.StringMember(b, "build_status", "building")
}

// appendBuild appends the progress of the current build: its goal, and the sequence reached on each shard or, while a
// first build goes by id, the last id.
func appendBuild(b []byte, state *layer.IndexState) []byte {
	if !state.Building {
		return append(encode.Member(b, "shards"), "{}"...)
	}
	b = encode.StringMember(b, "goal", state.Goal.String())
	b = append(encode.Member(b, "shards"), '{')
	for _, s := range state.Shards {
		b = encode.StringMember(b, string(s.Shard), s.Seq.String())
	}
	b = append(encode.Member(append(b, '}'), "scanned"), '{')
	for _, s := range state.Shards {
		if s.Scans {
			b = encode.StringMember(b, string(s.Shard), s.Scanned)
		}
	}
	return append(b, '}')
}

// appendViewStates appends sizes, CouchDB's sum over the views, and each view.
func appendViewStates(b []byte, views []layer.ViewState) []byte {
	var bytes int64
	for _, v := range views {
		bytes += v.Bytes
	}
	b = append(encode.Member(b, "sizes"), '{')
	b = encode.IntMember(b, "file", bytes)
	b = encode.IntMember(b, "active", bytes)
	b = encode.IntMember(b, "external", bytes)
	b = append(b, '}')
	sort.Slice(views, func(i, j int) bool { return views[i].Name < views[j].Name })
	b = append(encode.Member(b, "views"), '{')
	for _, v := range views {
		b = append(encode.Member(b, v.Name), '{')
		b = encode.IntMember(b, "rows", v.Rows)
		b = encode.IntMember(b, "bytes", v.Bytes)
		b = encode.IntMember(b, "errors", v.Errors)
		if e := v.Skipped; e != nil {
			b = append(encode.Member(b, "skipped"), '{')
			b = encode.StringMember(b, "id", e.DocID)
			b = append(encode.StringMember(b, "error", e.Error), '}')
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// DesignErrors answers GET .../_errors: the documents that a map function skipped (V10).
func (h *Handlers) DesignErrors(q *call.Request) error {
	design, err := q.DB.Design(q.Ctx(), q.Part(2))
	if err != nil {
		return err
	}
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	s.Buf = append(s.Buf, "{\"errors\":[\r\n"...)
	w := rowWriter{s: s}
	for e, err := range q.DB.Index(design).Errors(q.Ctx()) {
		if err != nil {
			return err
		}
		w.next()
		s.Buf = encode.StringMember(append(s.Buf, '{'), "id", e.DocID)
		s.Buf = encode.StringMember(s.Buf, "view", e.View)
		s.Buf = encode.StringMember(s.Buf, "seq", e.Seq.String())
		s.Buf = append(encode.StringMember(s.Buf, "error", e.Error), '}')
		if err := s.Row(); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "\r\n]}\n"...)
	return s.End()
}
