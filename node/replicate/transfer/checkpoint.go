package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/node/replicate/couch"
	"github.com/divandb/divan/node/replicate/spec"
)

// maxHistory is how many entries the history of a checkpoint has, as in CouchDB.
const maxHistory = 50

// log is a checkpoint document of one end.
type log struct {
	rev     string
	session string
	last    json.RawMessage
	history []json.RawMessage
	body    []byte // members without _id and _rev
}

// checkpoints records how far a replication came, in a _local document at each end. Both have the same content, so that
// the two can be compared the next time: if one end was restored from a backup, the last entry of the history that both
// have is where to begin.
type checkpoints struct {
	o *Options

	start      json.RawMessage   // where this run begins; nil: from the beginning
	history    []json.RawMessage // of earlier runs
	earlier    Stats             // of the newest entry in it
	startTimes [2]string         // of the source and the target
	logs       [2]log            // of the source and the target

	mu        sync.Mutex
	recording sync.Mutex      // held while a checkpoint is recorded
	committed json.RawMessage // what was recorded last
	recorded  []byte          // body of the checkpoint of this run; nil if there is none
	// unrecorded is set if a checkpoint would have been recorded, but the replication has none.
	unrecorded bool
}

func (c *checkpoints) ends() [2]Database { return [2]Database{c.o.Source, c.o.Target} }

// load reads the checkpoints of both ends and finds where to begin.
func (c *checkpoints) load(ctx context.Context, source, target couch.Info) error {
	c.startTimes = [2]string{source.StartTime, target.StartTime}
	for i, end := range c.ends() {
		doc, err := end.LocalDocument(ctx, c.o.ID.Base)
		if err != nil {
			return err
		}
		c.logs[i] = parseLog(doc)
	}
	c.start, c.history = common(&c.logs[0], &c.logs[1])
	if len(c.history) > 0 {
		c.earlier = statsOf(c.history[0])
	}
	if c.o.Spec.SinceSeq != nil {
		c.start = c.o.Spec.SinceSeq
	}
	c.committed = c.start
	return nil
}

func parseLog(doc []byte) (l log) {
	if doc == nil {
		return l
	}
	members := []byte{'{'}
	gjson.ParseBytes(doc).ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "_id":
			return true
		case "_rev":
			l.rev = v.Str
			return true
		case "session_id":
			l.session = v.Str
		case "source_last_seq":
			l.last = json.RawMessage(v.Raw)
		case "history":
			v.ForEach(func(_, one gjson.Result) bool {
				l.history = append(l.history, json.RawMessage(one.Raw))
				return true
			})
		}
		if len(members) > 1 {
			members = append(members, ',')
		}
		members = append(append(append(members, name.Raw...), ':'), v.Raw...)
		return true
	})
	l.body = append(members, '}')
	return l
}

// common returns where a replication continues, and the history up to there.
func common(source, target *log) (start json.RawMessage, history []json.RawMessage) {
	if source.session != "" && source.session == target.session {
		return source.last, source.history
	}
	at := func(list []json.RawMessage) map[string]bool {
		sessions := map[string]bool{}
		for _, e := range list {
			if id := gjson.GetBytes(e, "session_id").Str; id != "" {
				sessions[id] = true
			}
		}
		return sessions
	}
	known := at(target.history)
	for i, e := range source.history {
		if !known[gjson.GetBytes(e, "session_id").Str] {
			continue
		}
		if seq := gjson.GetBytes(e, "recorded_seq"); seq.Exists() {
			return json.RawMessage(seq.Raw), source.history[i+1:]
		}
	}
	return nil, nil
}

func statsOf(entry json.RawMessage) Stats {
	e := gjson.ParseBytes(entry)
	return Stats{RevisionsChecked: e.Get("missing_checked").Int(), MissingFound: e.Get("missing_found").Int(),
		DocsRead: e.Get("docs_read").Int(), DocsWritten: e.Get("docs_written").Int(),
		DocWriteFailures: e.Get("doc_write_failures").Int(), BulkGetDocs: e.Get("bulk_get_docs").Int(),
		BulkGetAttempts: e.Get("bulk_get_attempts").Int()}
}

func (c *checkpoints) committedSeq() json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.committed
}

var (
	errRemade = errors.New("instance_start_time of the source or target database has changed since the last " +
		"checkpoint: it was deleted and made anew")
	errForeign = errors.New("another replication has changed the checkpoint document: conflict")
)

// record writes the checkpoint at both ends, unless nothing has changed. What was written to the target is synced
// first.
func (c *checkpoints) record(ctx context.Context, through json.RawMessage, s Stats) error {
	c.recording.Lock()
	defer c.recording.Unlock()
	if !c.o.Spec.UseCheckpoints {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unrecorded = c.unrecorded || !bytes.Equal(through, c.start)
		return nil
	}
	if bytes.Equal(through, c.committedSeq()) {
		return nil
	}
	for i, end := range c.ends() {
		started, err := end.Commit(ctx)
		if err != nil {
			return err
		}
		if started != c.startTimes[i] && started != "0" && c.startTimes[i] != "0" {
			return errRemade
		}
	}
	body := c.body(through, s)
	for i, end := range c.ends() {
		if err := c.put(ctx, end, &c.logs[i], body); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.committed, c.recorded = through, body
	return nil
}

// put writes a checkpoint document. If an earlier attempt has written it without an answer, it is there already.
func (c *checkpoints) put(ctx context.Context, end Database, l *log, body []byte) error {
	doc := []byte(`{"_id":"_local/` + c.o.ID.Base + `"`)
	if l.rev != "" {
		doc = append(append(append(doc, `,"_rev":"`...), l.rev...), '"')
	}
	doc = append(append(doc, ','), body[1:]...)
	rev, err := end.PutLocal(ctx, c.o.ID.Base, doc)
	var e *couch.Error
	if errors.As(err, &e) && e.Status == http.StatusConflict {
		there, rerr := end.LocalDocument(ctx, c.o.ID.Base)
		if rerr != nil {
			return rerr
		}
		now := parseLog(there)
		if now.session != c.o.Session || !sameSeq(now.last, gjson.GetBytes(body, "source_last_seq").Raw) {
			return errForeign
		}
		rev, err = now.rev, nil
	}
	if err == nil {
		l.rev = rev
	}
	return err
}

func sameSeq(a json.RawMessage, b string) bool { return string(a) == b }

// body returns the content of the checkpoint: that of CouchDB's replicator.
func (c *checkpoints) body(through json.RawMessage, s Stats) []byte {
	const form = "Mon, 02 Jan 2006 15:04:05 GMT"
	began, ends := c.o.Began.UTC().Format(form), time.Now().UTC().Format(form)
	type entry struct {
		Session   string          `json:"session_id"`
		Start     string          `json:"start_time"`
		End       string          `json:"end_time"`
		StartSeq  json.RawMessage `json:"start_last_seq"`
		EndSeq    json.RawMessage `json:"end_last_seq"`
		Recorded  json.RawMessage `json:"recorded_seq"`
		Checked   int64           `json:"missing_checked"`
		Found     int64           `json:"missing_found"`
		Read      int64           `json:"docs_read"`
		Written   int64           `json:"docs_written"`
		Failures  int64           `json:"doc_write_failures"`
		BulkDocs  int64           `json:"bulk_get_docs"`
		BulkTries int64           `json:"bulk_get_attempts"`
	}
	through, start := orZero(through), orZero(c.start)
	newest, err := json.Marshal(entry{c.o.Session, began, ends, start, through, through, s.RevisionsChecked,
		s.MissingFound, s.DocsRead, s.DocsWritten, s.DocWriteFailures, s.BulkGetDocs, s.BulkGetAttempts})
	if err != nil {
		newest = []byte("{}") // cannot happen: all are valid
	}
	history := append([]json.RawMessage{newest}, c.history[:min(len(c.history), maxHistory-1)]...)
	type counts struct {
		Start    string `json:"start_time"`
		End      string `json:"end_time"`
		Read     int64  `json:"docs_read"`
		Written  int64  `json:"docs_written"`
		Failures int64  `json:"doc_write_failures"`
	}
	whole := struct {
		Session string            `json:"session_id"`
		Last    json.RawMessage   `json:"source_last_seq"`
		Version int               `json:"replication_id_version"`
		*counts                   // of a replication by doc_ids, as in CouchDB 1.0
		History []json.RawMessage `json:"history"`
	}{Session: c.o.Session, Last: through, Version: spec.IDVersion, History: history}
	if c.o.Spec.Filter.Kind == spec.DocIDs {
		whole.counts = &counts{began, ends, s.DocsRead, s.DocsWritten, s.DocWriteFailures}
	}
	b, err := json.Marshal(whole)
	if err != nil {
		return []byte("{}") // as above
	}
	return b
}

func orZero(seq json.RawMessage) json.RawMessage {
	if seq == nil {
		return json.RawMessage("0")
	}
	return seq
}

// result returns what POST /_replicate answers, without "ok".
func (c *checkpoints) result() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.recorded != nil:
		return c.recorded
	case c.unrecorded:
		return []byte(`{"use_checkpoints":false}`)
	case len(c.logs[0].body) > len(`{}`):
		return append([]byte(`{"no_changes":true,`), c.logs[0].body[1:]...)
	}
	return []byte(`{"no_changes":true}`)
}
