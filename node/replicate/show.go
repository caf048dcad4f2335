package replicate

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
)

func dataOf(j *layer.Job) (what layer.ReplicationJob) {
	_ = json.Unmarshal(j.Data, &what) // what it lacks is empty
	return what
}

// View shows replications, those of all nodes.
type View struct{ m *Manager }

// View returns what shows replications.
func (m *Manager) View() *View { return &View{m} }

// shown is a replication as it is shown.
type shown struct {
	job   *layer.Job
	what  layer.ReplicationJob
	rec   *record
	state string
}

// Asked reports whether a document asks for a job, and which. The job may be damaged.
func (v *View) Asked(ctx context.Context, j *layer.Job) (what layer.ReplicationJob, asked bool, err error) {
	database, document, _ := strings.Cut(j.ID, "/")
	if j.Type != layer.ReplicationJobs || database == "" {
		return what, false, nil
	}
	what = layer.ReplicationJob{Database: unescaped(database), Document: document}
	_, doc, err := documentOf(ctx, v.m.o.Store, what)
	return what, doc != nil && !isTerminal(doc.Body), err
}

// show finds out what is to be shown of a job. A job that no node has looked at yet is shown as what its document or
// request says: it waits for its turn.
func (v *View) show(ctx context.Context, j *layer.Job, body []byte) *shown {
	s := &shown{job: j, what: dataOf(j), rec: parseRecord(j.Progress)}
	if s.rec.Began.IsZero() {
		s.rec = v.foretold(ctx, j, s.what, body)
	}
	s.state = s.rec.state(j)
	return s
}

func (v *View) foretold(ctx context.Context, j *layer.Job, what layer.ReplicationJob, body []byte) *record {
	r := &record{Began: j.Updated, Changed: j.Updated, History: []event{{"added", j.Updated, ""}}}
	if what.Document == "" {
		body = what.Request
	} else if body == nil {
		if _, doc, err := documentOf(ctx, v.m.o.Store, what); err == nil && doc != nil {
			body = doc.Body
		}
	}
	d := v.m.o.Settings().Defaults
	spec, err := d.Parse(body)
	if err != nil {
		return r
	}
	r.describe(spec)
	if !spec.NeedsCode() {
		r.ID = spec.ID(v.m.o.Store.UUID(), "").String()
	}
	return r
}

// live reports whether a job is shown: one that is finished is not, nor one that is damaged, which is in the list of
// jobs.
func live(j *layer.Job) bool { return j.State == layer.JobPending || j.State == layer.JobRunning }

// Jobs returns what GET /_scheduler/jobs shows, by replication id.
func (v *View) Jobs(ctx context.Context) ([][]byte, error) {
	list, err := v.all(ctx)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(s *shown) bool { return s.rec.ID == "" })
	slices.SortFunc(list, func(a, b *shown) int { return cmp.Compare(a.rec.ID, b.rec.ID) })
	texts := make([][]byte, len(list))
	for i, s := range list {
		texts[i] = s.jobJSON()
	}
	return texts, nil
}

func (v *View) all(ctx context.Context) (list []*shown, err error) {
	for j, err := range v.m.o.Store.JobsOf(ctx, layer.ReplicationJobs, "") {
		if err != nil {
			return nil, err
		}
		if live(&j) {
			list = append(list, v.show(ctx, &j, nil))
		}
	}
	return list, nil
}

// Job returns what GET /_scheduler/jobs/{id} shows, or nil if there is no such replication.
func (v *View) Job(ctx context.Context, id string) ([]byte, error) {
	j, err := v.m.jobOf(ctx, id)
	if err != nil || j == nil {
		return nil, err
	}
	if s := v.show(ctx, j, nil); s.rec.ID != "" {
		return s.jobJSON(), nil
	}
	return nil, nil
}

type jobEvent struct {
	Timestamp string `json:"timestamp"`
	Type      string `json:"type"`
	Reason    string `json:"reason,omitempty"`
}

func (s *shown) jobJSON() []byte {
	r := s.rec
	history := make([]jobEvent, len(r.History))
	for i, e := range r.History {
		history[i] = jobEvent{stamp(e.At), e.Type, e.Reason}
	}
	return marshal(struct {
		Database *string         `json:"database"`
		ID       string          `json:"id"`
		PID      *string         `json:"pid"`
		Source   string          `json:"source"`
		Target   string          `json:"target"`
		User     *string         `json:"user"`
		DocID    *string         `json:"doc_id"`
		Info     json.RawMessage `json:"info"`
		History  []jobEvent      `json:"history"`
		Node     string          `json:"node"`
		Start    string          `json:"start_time"`
	}{optional(s.what.Database), r.ID, s.pid(), r.Source, r.Target, optional(s.what.User), optional(s.what.Document),
		s.info(), history, r.Node, stamp(r.Began)})
}

// info returns the figures of a replication, nil if there are none yet. While a request is repeated, they have its
// error: otherwise a replication that does not get on would look like any other until it has given up.
func (s *shown) info() json.RawMessage {
	var info json.RawMessage
	if s.rec.Stats != nil {
		info = appendFigures(nil, s.rec, true)
	}
	if s.state != Running || s.rec.Trouble == "" {
		return info
	}
	if info == nil {
		return errorInfo(s.rec.Trouble)
	}
	return withMembers(info, member{"error", quoted(s.rec.Trouble)})
}

// pid names the run, as CouchDB's process does.
func (s *shown) pid() *string {
	if s.state != Running {
		return nil
	}
	name := "replication:" + s.rec.ID
	return &name
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("{}") // cannot happen: all raw messages are JSON
	}
	return b
}

// docInfo is a document in GET /_scheduler/docs.
type docInfo struct {
	Database    string          `json:"database"`
	DocID       string          `json:"doc_id"`
	ID          *string         `json:"id"`
	Node        *string         `json:"node,omitempty"`
	Source      json.RawMessage `json:"source,omitempty"`
	Target      json.RawMessage `json:"target,omitempty"`
	State       *string         `json:"state"`
	Info        json.RawMessage `json:"info"`
	ErrorCount  int             `json:"error_count"`
	LastUpdated *string         `json:"last_updated"`
	StartTime   *string         `json:"start_time"`
	SourceProxy json.RawMessage `json:"source_proxy,omitempty"`
	TargetProxy json.RawMessage `json:"target_proxy,omitempty"`
}

// Doc returns what GET /_scheduler/docs shows of a document, and its state.
func (v *View) Doc(ctx context.Context, database string, doc *layer.Document) (text []byte, state string,
	err error) {
	if isTerminal(doc.Body) {
		info := v.ended(database, doc)
		return marshal(info), *info.State, nil
	}
	j, w, err := v.m.o.Store.Job(ctx, layer.ReplicationJobs, layer.ReplicationJobID(database, doc.ID))
	if w != nil {
		w.Cancel()
	}
	if err != nil {
		return nil, "", err
	}
	if j == nil || !live(j) {
		return nil, "", nil
	}
	s := v.show(ctx, j, doc.Body)
	return marshal(s.docInfo()), s.state, nil
}

func (s *shown) docInfo() *docInfo {
	r := s.rec
	i := &docInfo{Database: s.what.Database, DocID: s.what.Document, ID: optional(r.ID), Node: optional(r.Node),
		State: &s.state, ErrorCount: r.Errors, LastUpdated: text(stamp(r.Changed)), StartTime: text(stamp(r.Began))}
	switch s.state {
	case Broken:
		i.Info = errorInfo(r.Broken)
		return i
	case Initializing:
		return i
	case Crashing:
		i.Info = errorInfo(r.History[0].Reason)
	default:
		i.Info = s.info()
	}
	i.Source, i.Target = quoted(r.Source), quoted(r.Target)
	i.SourceProxy, i.TargetProxy = orNull(r.SourceProxy), orNull(r.TargetProxy)
	return i
}

func text(s string) *string { return &s }

func orNull(s string) json.RawMessage {
	if s == "" {
		return json.RawMessage("null")
	}
	return quoted(s)
}

func errorInfo(reason string) json.RawMessage {
	return append(append([]byte(`{"error":`), quoted(reason)...), '}')
}

// ended describes a document whose replication has ended for good.
func (v *View) ended(database string, doc *layer.Document) *docInfo {
	body := gjson.ParseBytes(doc.Body)
	state := stateOf(doc.Body)
	i := &docInfo{Database: database, DocID: doc.ID, State: &state, Source: json.RawMessage("null"),
		Target: json.RawMessage("null")}
	if t := body.Get("_replication_state_time"); t.Type == gjson.String {
		i.LastUpdated = &t.Str
	}
	d := v.m.o.Settings().Defaults
	if s, err := d.Parse(doc.Body); err == nil { // otherwise parts of an invalid URL might be shown
		i.Source, i.Target = quoted(s.Source.Shown()), quoted(s.Target.Shown())
	}
	if state == FailedState {
		i.ErrorCount, i.StartTime = 1, i.LastUpdated
		if reason := body.Get("_replication_state_reason"); reason.Exists() {
			i.Info = errorInfo(reason.String())
		}
		return i
	}
	stats := body.Get("_replication_stats")
	if t := stats.Get("start_time"); t.Type == gjson.String {
		i.StartTime = &t.Str
	}
	i.Info = json.RawMessage("{}")
	if stats.IsObject() {
		i.Info = withMembers([]byte(stats.Raw), member{"start_time", nil})
	}
	return i
}

// Tasks returns what GET /_active_tasks shows of the running replications of all nodes.
func (v *View) Tasks(ctx context.Context) ([][]byte, error) {
	list, err := v.all(ctx)
	if err != nil {
		return nil, err
	}
	var texts [][]byte
	for _, s := range list {
		if s.state == Running {
			texts = append(texts, s.taskJSON())
		}
	}
	return texts, nil
}

func (s *shown) taskJSON() []byte {
	r := s.rec
	updated := r.Updated
	if updated.Before(r.Changed) { // there are no figures of this run yet
		updated = r.Changed
	}
	task := marshal(struct {
		Node       string  `json:"node"`
		PID        *string `json:"pid"`
		Interval   int64   `json:"checkpoint_interval"`
		Continuous bool    `json:"continuous"`
		Database   *string `json:"database"`
		DocID      *string `json:"doc_id"`
		ID         string  `json:"replication_id"`
		Source     string  `json:"source"`
		Target     string  `json:"target"`
		Started    int64   `json:"started_on"`
		Type       string  `json:"type"`
		Updated    int64   `json:"updated_on"`
		User       *string `json:"user"`
	}{r.Node, s.pid(), r.Interval, r.Continuous,
		optional(s.what.Database), optional(s.what.Document), r.ID, r.Source, r.Target, r.Changed.Unix(), "replication",
		updated.Unix(), optional(s.what.User)})
	figures := appendFigures(nil, r, true)
	return append(append(task[:len(task)-1], ','), figures[1:]...)
}
