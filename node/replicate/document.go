package replicate

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/replicate/spec"
	"github.com/divandb/divan/node/replicate/transfer"
)

// stateOf returns the _replication_state of a document, or "".
func stateOf(body []byte) string { return gjson.GetBytes(body, "_replication_state").Str }

// isTerminal reports whether the replication of a document has ended for good.
func isTerminal(body []byte) bool {
	s := stateOf(body)
	return s == Completed || s == FailedState
}

// runsAs returns the user for whom a document's replication uses databases of this server: whoever wrote it, as
// BeforeWrite has noted.
func runsAs(body []byte) layer.UserCtx {
	ctx := gjson.GetBytes(body, "user_ctx")
	user := layer.UserCtx{Name: ctx.Get("name").Str}
	ctx.Get("roles").ForEach(func(_, role gjson.Result) bool {
		user.Roles = append(user.Roles, role.Str)
		return true
	})
	return user
}

// member is a member of a document to be set.
type member struct {
	name  string
	value []byte // JSON; nil removes the member
}

// withMembers returns an object with some members set. Those that are there stay in their place.
func withMembers(body []byte, set ...member) []byte {
	out := []byte{'{'}
	add := func(name string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(jsontext.AppendQuoted(out, name), ':'), value...)
	}
	done := map[string]bool{}
	gjson.ParseBytes(body).ForEach(func(name, v gjson.Result) bool {
		for _, m := range set {
			if m.name != name.Str {
				continue
			}
			if m.value != nil && !done[m.name] {
				add(m.name, m.value)
			}
			done[m.name] = true
			return true
		}
		add(name.Str, []byte(v.Raw))
		return true
	})
	for _, m := range set {
		if m.value != nil && !done[m.name] {
			add(m.name, m.value)
		}
	}
	return append(out, '}')
}

func quoted(s string) []byte { return jsontext.AppendQuoted(nil, s) }

// stamp is a time as CouchDB writes it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// update sets members of the document that describes a replication, as long as it still has the revision that was read.
// Another revision has a job of its own. The state's time changes only with the state.
func (m *Manager) update(ctx context.Context, db *layer.Database, doc *layer.Document, state string,
	set ...member) error {
	first := []member{{"_replication_state", quoted(state)}}
	if stateOf(doc.Body) != state {
		first = append(first, member{"_replication_state_time", quoted(stamp(time.Now()))})
	}
	set = append(first, set...)
	body := withMembers(doc.Body, set...)
	if bytes.Equal(body, doc.Body) {
		return nil
	}
	edit := layer.Edit{ID: doc.ID, Rev: doc.Rev, Body: body, KeepAttachments: true}
	var err error
	for try := range 5 {
		if _, err = db.Put(ctx, edit, layer.WriteOptions{}); layer.KindOf(err) != layer.Unavailable {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(100*time.Millisecond<<try) + time.Millisecond):
		}
	}
	switch layer.KindOf(err) {
	case layer.Conflict, layer.NotFound:
		return nil // it was changed or deleted meanwhile
	}
	return err
}

// completed writes to a document that its replication is complete.
func (m *Manager) completed(ctx context.Context, db *layer.Database, doc *layer.Document, r *record) error {
	stats := appendFigures(nil, r, false)
	stats = append(append(stats[:len(stats)-1], `,"start_time":`...), quoted(stamp(r.Began))...)
	return m.update(ctx, db, doc, Completed, member{"_replication_state_reason", nil},
		member{"_replication_stats", append(stats, '}')})
}

// failed writes to a document that its replication has failed for good.
func (m *Manager) failed(ctx context.Context, db *layer.Database, doc *layer.Document, reason string) error {
	m.count(func(c *Counts) { c.Failed++ })
	m.o.Log.Error("a replication failed for good", "database", db.Name(), "document", doc.ID, "reason", reason)
	m.notify(Failed{Database: db.Name(), Document: doc.ID, Reason: reason})
	return m.update(ctx, db, doc, FailedState, member{"_replication_stats", nil},
		member{"_replication_state_reason", quoted(reason)})
}

func (m *Manager) notify(f Failed) {
	if m.o.Notify != nil {
		m.o.Notify(f)
	}
}

// appendFigures appends the figures of a replication as an object, as in _replication_stats, or with the sequences as
// in _scheduler/jobs.
func appendFigures(dst []byte, r *record, seqs bool) []byte {
	s := r.Stats
	if s == nil {
		s = &transfer.Stats{}
	}
	figures := struct {
		RevisionsChecked int64           `json:"revisions_checked"`
		MissingFound     int64           `json:"missing_revisions_found"`
		DocsRead         int64           `json:"docs_read"`
		DocsWritten      int64           `json:"docs_written"`
		Pending          *int64          `json:"changes_pending"`
		WriteFailures    int64           `json:"doc_write_failures"`
		BulkGetDocs      int64           `json:"bulk_get_docs"`
		BulkGetAttempts  int64           `json:"bulk_get_attempts"`
		Checkpointed     json.RawMessage `json:"checkpointed_source_seq"`
		SourceSeq        json.RawMessage `json:"source_seq,omitempty"`
		ThroughSeq       json.RawMessage `json:"through_seq,omitempty"`
	}{s.RevisionsChecked, s.MissingFound, s.DocsRead, s.DocsWritten, r.Pending, s.DocWriteFailures, s.BulkGetDocs,
		s.BulkGetAttempts, shownSeq(r.Recorded), nil, nil}
	if seqs {
		figures.SourceSeq, figures.ThroughSeq = shownSeq(r.SourceSeq), shownSeq(r.ThroughSeq)
	}
	b, err := json.Marshal(figures)
	if err != nil {
		return append(dst, "{}"...) // cannot happen: its raw messages are JSON
	}
	return append(dst, b...)
}

// shownSeq returns a sequence as text, as CouchDB shows it: numbers too.
func shownSeq(seq json.RawMessage) json.RawMessage {
	switch {
	case seq == nil:
		return json.RawMessage(`"0"`)
	case seq[0] == '"':
		return seq
	}
	return quoted(string(seq))
}

// Rules are those of documents in _replicator databases.
type Rules struct{ o *Options }

// Rules returns the rules of documents.
func (m *Manager) Rules() *Rules { return &Rules{&m.o} }

// BeforeWrite checks a document for a _replicator database, and returns its body as it is to be stored, with its owner
// and, if it names databases of this server, with the user as whom these are used. Errors are of kind Forbidden.
func (r *Rules) BeforeWrite(body []byte, deleted bool, by layer.UserCtx, dbAdmin bool) ([]byte, error) {
	forbidden := func(reason string) error {
		return &layer.Error{Kind: layer.Forbidden, Name: "forbidden", Reason: reason}
	}
	name := []byte("null")
	if by.Name != "" {
		name = quoted(by.Name)
	}
	owner := gjson.GetBytes(body, "owner")
	switch {
	case !owner.Exists(), dbAdmin && owner.Type == gjson.Null:
		body = withMembers(body, member{"owner", name})
	case owner.Type == gjson.String && owner.Str == by.Name && by.Name != "", dbAdmin:
	case owner.Type == gjson.Null && by.Name == "":
	default:
		return nil, forbidden("Can't update replication documents from other users.")
	}
	if deleted || stateOf(body) == FailedState {
		return body, nil
	}
	d := r.o.Settings().Defaults
	s, err := d.Parse(body)
	if err != nil {
		return nil, forbidden(err.Error())
	}
	if s.Source.Local == "" && s.Target.Local == "" {
		return body, nil
	}
	if slices.Contains(by.Roles, "_admin") && gjson.GetBytes(body, "user_ctx").Exists() {
		return body, nil // only a server admin may let a replication run as somebody else
	}
	ctx := jsontext.AppendStrings(append(append([]byte(`{"name":`), name...), `,"roles":`...), by.Roles)
	return withMembers(body, member{"user_ctx", append(ctx, '}')}), nil
}

// AfterRead returns a document's body as users get it who do not own it: without credentials.
func AfterRead(body []byte, by layer.UserCtx, dbAdmin bool) []byte {
	owner := gjson.GetBytes(body, "owner")
	if dbAdmin || by.Name != "" && owner.Type == gjson.String && owner.Str == by.Name {
		return body
	}
	var set []member
	for _, name := range []string{"source", "target"} {
		if v := gjson.GetBytes(body, name); v.Exists() {
			set = append(set, member{name, spec.WithoutSecrets([]byte(v.Raw))})
		}
	}
	for _, name := range []string{"proxy", "source_proxy", "target_proxy"} {
		if v := gjson.GetBytes(body, name); v.Type == gjson.String {
			set = append(set, member{name, spec.WithoutSecrets([]byte(v.Raw))})
		}
	}
	return withMembers(body, set...)
}
