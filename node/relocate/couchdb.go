package relocate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// CouchDBImport moves the databases of a CouchDB to a node: the node replicates each of them, and their security
// objects and limits are copied. It can be repeated: each replication continues from its checkpoint.
type CouchDBImport struct {
	From, To *Client
	// Replicator includes _replicator databases, whose replications then begin to run on the node.
	Replicator bool
	Parallel   int           // databases at once
	Patience   time.Duration // how long to wait for a server that no longer answers; 0: 30 s
	Out        *Progress
}

// CouchDBImported says what was moved.
type CouchDBImported struct {
	Databases  int      // that were moved, but for missing documents
	Documents  int64    // of these databases, that the node has
	Missing    int64    // documents with revisions that the node does not have, most likely since it refuses them
	Failed     []string // databases
	Unfinished []string // databases that were interrupted or not begun
}

// couchDBMove is a run of a CouchDBImport.
type couchDBMove struct {
	*CouchDBImport
	from, to *side
	names    []string

	mu struct {
		sync.Mutex
		done        CouchDBImported
		ended       int // databases
		errs        []error
		mayContinue []string // databases whose replications the node may go on with after an interruption
	}
}

// Run moves all databases. It goes on after a database that fails or lacks documents, and returns the errors of all at
// the end. It does not begin further databases once it has waited in vain for one of the servers. If it could not begin
// at all, the result is nil. If ctx ends, it also ends the replications that it has begun.
func (m *CouchDBImport) Run(ctx context.Context) (*CouchDBImported, error) {
	patience := m.Patience
	if patience == 0 {
		patience = defaultPatience
	}
	r := &couchDBMove{CouchDBImport: m,
		from: &side{Client: m.From, name: "the CouchDB", patience: patience, out: m.Out},
		to:   &side{Client: m.To, name: "the node", patience: patience, out: m.Out}}
	if err := r.list(ctx); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted before anything was moved")
		}
		return nil, err
	}
	more, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	turns := make(chan struct{}, max(1, m.Parallel))
	begun := 0
	for _, name := range r.names {
		select {
		case turns <- struct{}{}:
		case <-more.Done():
		}
		if more.Err() != nil {
			break
		}
		begun++
		group.Go(func() {
			defer func() { <-turns }()
			documents, missing, err := r.database(ctx, name)
			if errors.As(err, new(goneError)) {
				stop()
			}
			r.ended(ctx, name, documents, missing, err)
		})
	}
	group.Wait()
	return r.result(ctx, r.names[begun:])
}

// list lists the databases to move. It does not wait for servers: an address may be wrong.
func (m *couchDBMove) list(ctx context.Context) error {
	// Each wrong password counts towards a lockout, so try the node's once.
	if err := m.To.call(ctx, http.MethodGet, "/_all_dbs", nil, &m.names); err != nil {
		return fmt.Errorf("list the databases of the node: %w", err)
	}
	m.names = nil
	if err := m.From.call(ctx, http.MethodGet, "/_all_dbs", nil, &m.names); err != nil {
		return fmt.Errorf("list the databases of %s: %w", m.From.base.Redacted(), err)
	}
	m.names = slices.DeleteFunc(m.names, func(name string) bool { return !m.wants(name) })
	return nil
}

// ended records and prints how the move of a database has ended.
func (m *couchDBMove) ended(ctx context.Context, name string, documents, missing int64, err error) {
	interrupted := ""
	if err != nil && ctx.Err() != nil {
		interrupted = m.progress(ctx, name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	done := &m.mu.done
	m.mu.ended++
	switch {
	case interrupted != "":
		done.Unfinished = append(done.Unfinished, name)
		m.Out.Say("%s: interrupted; %s", name, interrupted)
	case err != nil:
		done.Failed = append(done.Failed, name)
		m.mu.errs = append(m.mu.errs, fmt.Errorf("%s: %w", name, err))
		m.Out.Say("%s: failed: %v", name, err)
	default:
		done.Databases++
		done.Documents += documents
		done.Missing += missing
		if missing > 0 {
			m.mu.errs = append(m.mu.errs, fmt.Errorf("%s: %s did not arrive", name, Count(missing, "document")))
		}
		m.Out.Say("%s: %s (%d of %s)", name, Count(documents, "document"), m.mu.ended, Count(len(m.names), "database"))
	}
}

// progress says how far an interrupted database is.
func (m *couchDBMove) progress(ctx context.Context, name string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwards)
	defer cancel()
	n, err := m.count(ctx, m.to.call, name)
	if err != nil {
		return "how many documents the node has is unknown"
	}
	return "the node has " + Count(n, "document") + " of it"
}

// result returns what was moved. left are the databases that were not begun.
func (m *couchDBMove) result(ctx context.Context, left []string) (*CouchDBImported, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	done := &m.mu.done
	if len(left) > 0 {
		m.Out.Say("not begun: %s", firstNames(left))
	}
	done.Unfinished = append(done.Unfinished, left...)
	switch {
	case len(m.mu.mayContinue) > 0:
		m.mu.errs = append(m.mu.errs, fmt.Errorf("interrupted; the node may go on to replicate %s, since it could not "+
			"be told to stop; the same command continues where it was", firstNames(m.mu.mayContinue)))
	case ctx.Err() != nil && len(done.Unfinished) > 0:
		m.mu.errs = append(m.mu.errs, errors.New("interrupted; the node does not go on by itself; the same command "+
			"continues where it was"))
	case len(left) > 0:
		m.mu.errs = append(m.mu.errs, fmt.Errorf("%s not begun; the same command continues where it was",
			Count(len(left), "database")))
	}
	return done, errors.Join(m.mu.errs...)
}

// firstNames lists names, but not too many.
func firstNames(names []string) string {
	if more := len(names) - namedMissing; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:namedMissing], ", "), more)
	}
	return strings.Join(names, ", ")
}

// wants leaves out what a CouchDB keeps for itself.
func (m *CouchDBImport) wants(name string) bool {
	switch {
	case name == "_replicator" || strings.HasSuffix(name, "/_replicator"):
		return m.Replicator
	case name == "_users":
		return true
	}
	return !strings.HasPrefix(name, "_")
}

// database moves one database. Its security object comes first, so that nobody reads it who may not.
func (m *couchDBMove) database(ctx context.Context, name string) (documents, missing int64, err error) {
	path := "/" + escape(name)
	var info struct {
		Documents int64 `json:"doc_count"`
		Props     struct{ Partitioned bool }
	}
	if err := m.from.ask(ctx, http.MethodGet, path, nil, &info); err != nil {
		return 0, 0, err
	}
	create := path
	if info.Props.Partitioned {
		create += "?partitioned=true"
	}
	var e *answerError
	if err := m.to.ask(ctx, http.MethodPut, create, nil, nil); err != nil &&
		(!errors.As(err, &e) || e.status != http.StatusPreconditionFailed) {
		return 0, 0, fmt.Errorf("create it: %w", err)
	}
	for _, part := range []string{"/_security", "/_revs_limit", "/_purged_infos_limit"} {
		if part == "/_security" && (name == "_users" || strings.HasSuffix(name, "/_users")) {
			continue // not editable; its rules are built in
		}
		var value json.RawMessage
		if err := m.from.ask(ctx, http.MethodGet, path+part, nil, &value); err != nil {
			return 0, 0, err
		}
		if err := m.to.ask(ctx, http.MethodPut, path+part, value, nil); err != nil {
			return 0, 0, fmt.Errorf("copy %s: %w", part[1:], err)
		}
	}
	refusals, err := m.replicate(ctx, name, info.Documents)
	if err != nil {
		return 0, 0, err
	}
	return m.verify(ctx, name, info.Documents, refusals)
}

// verify counts the documents of a database that have arrived. The node's count is enough if it has refused none. The
// documents of the CouchDB may have become fewer in the meantime, but not fewer than it has now.
func (m *couchDBMove) verify(ctx context.Context, name string, before int64, refusals bool) (documents, missing int64,
	err error) {
	has, err := m.count(ctx, m.to.ask, name)
	if err != nil {
		return 0, 0, err
	}
	if !refusals && has >= before {
		return before, 0, nil
	}
	now, err := m.count(ctx, m.from.ask, name)
	if err != nil {
		return 0, 0, err
	}
	if !refusals && has >= now {
		return has, 0, nil
	}
	lost, err := m.compare(ctx, name)
	return max(0, now-lost.shown), lost.all, err
}

// count returns the number of documents of a database. ask is a method of the server's side.
func (m *couchDBMove) count(ctx context.Context, ask func(ctx context.Context, method, path string, body []byte,
	into any) error, name string) (int64, error) {
	var info struct {
		Documents int64 `json:"doc_count"`
	}
	err := ask(ctx, http.MethodGet, "/"+escape(name), nil, &info)
	return info.Documents, err
}

// replicate lets the node pull a database, and reports how far it is. refusals reports whether the node has refused
// documents, now or in an earlier run that this one has continued.
func (m *couchDBMove) replicate(ctx context.Context, name string, documents int64) (refusals bool, err error) {
	watched, stop := context.WithCancel(ctx)
	defer stop()
	go m.watch(watched, name, documents)
	var answer struct {
		History []struct {
			Failures int64 `json:"doc_write_failures"`
		}
	}
	if err := m.pull(ctx, name, nil, &answer); err != nil {
		return false, err
	}
	for _, session := range answer.History {
		if session.Failures > 0 {
			return true, nil
		}
	}
	return false, nil
}

// maxTries is how often a replication is begun that fails since the CouchDB is away again and again.
const maxTries = 10

// pull lets the node replicate a database, or only some documents of it, without validating what it gets: the functions
// of design documents would see an admin as the author. A request that is repeated joins the replication of the first.
func (m *couchDBMove) pull(ctx context.Context, name string, ids []string, into any) error {
	source := map[string]any{"url": m.From.plain() + "/" + escape(name)}
	if user := m.From.base.User; user != nil {
		password, _ := user.Password()
		source["auth"] = map[string]any{"basic": map[string]string{"username": user.Username(), "password": password}}
	}
	ask := map[string]any{"source": source, "target": name, "move": true}
	if ids != nil {
		escaped := make([]string, 0, len(ids))
		for _, id := range ids {
			escaped = append(escaped, strings.ReplaceAll(id, "%", "%25")) // the node decodes them
		}
		ask["doc_ids"], ask["use_checkpoints"] = escaped, false
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	for tries := 1; ; tries++ {
		err := m.to.replicate(ctx, body, into)
		if ctx.Err() != nil {
			ask["cancel"] = true
			m.cancel(ctx, name, ask)
			return err
		}
		e := (*answerError)(nil)
		if !errors.As(err, &e) || e.status < 500 || e.name == "stopped" || errors.As(err, new(goneError)) {
			return err // "stopped": somebody has cancelled it
		}
		if tries == maxTries {
			return fmt.Errorf("the replication failed %d times: %w", tries, err)
		}
		// The node may have given up because the CouchDB was away, which may be over.
		path := "/" + escape(name)
		if !isAway(m.From.call(ctx, http.MethodGet, path, nil, nil)) && tries > 1 {
			return err
		}
		m.Out.Say("%s: the replication failed and is tried again: %v", name, err)
		if err := m.from.ask(ctx, http.MethodGet, path, nil, nil); err != nil {
			return err
		}
	}
}

// afterwards bounds each request after an interruption.
const afterwards = 5 * time.Second

// cancel ends the replication of a database after an interruption. Without that, the node would go on with it.
func (m *couchDBMove) cancel(ctx context.Context, name string, ask map[string]any) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwards)
	defer cancel()
	body, err := json.Marshal(ask)
	if err == nil {
		err = m.to.call(ctx, http.MethodPost, "/_replicate", body, nil)
	}
	if e := (*answerError)(nil); err != nil && (!errors.As(err, &e) || e.status != http.StatusNotFound) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.mu.mayContinue = append(m.mu.mayContinue, name)
	}
}

// lost counts documents that did not arrive: all, and those that are not deleted.
type lost struct{ all, shown int64 }

const (
	compareAtOnce = 500 // documents
	namedMissing  = 20  // documents of a database that are named
)

// compare looks for revisions of the source that the node does not have, asks for these documents once more, since the
// checkpoint is behind them, and names those that the node refuses again.
func (m *couchDBMove) compare(ctx context.Context, name string) (l lost, err error) {
	since := "0"
	for {
		var page struct {
			Results []change
			Last    json.RawMessage `json:"last_seq"`
		}
		if err := m.from.ask(ctx, http.MethodGet, fmt.Sprintf("/%s/_changes?style=all_docs&limit=%d&since=%s",
			escape(name), compareAtOnce, url.QueryEscape(since)), nil, &page); err != nil {
			return l, err
		}
		if len(page.Results) == 0 {
			return l, nil
		}
		missing, err := m.missing(ctx, name, page.Results)
		if err == nil && len(missing) > 0 {
			ids := make([]string, 0, len(missing))
			for _, doc := range missing {
				ids = append(ids, doc.ID)
			}
			if err = m.pull(ctx, name, ids, nil); err == nil {
				missing, err = m.missing(ctx, name, missing)
			}
		}
		if err != nil {
			return l, err
		}
		for _, doc := range missing {
			l.all++
			if !doc.Deleted {
				l.shown++
			}
			if l.all <= namedMissing {
				m.Out.Say("%s: document %q did not arrive", name, doc.ID)
			}
		}
		var text string
		if json.Unmarshal(page.Last, &text) != nil {
			text = string(page.Last) // a number
		}
		since = text
	}
}

// change is a row of a changes feed with all leaves.
type change struct {
	ID      string
	Deleted bool
	Changes []struct{ Rev string }
}

// missing returns those of some documents of which the node lacks revisions.
func (m *couchDBMove) missing(ctx context.Context, name string, docs []change) ([]change, error) {
	ask := map[string][]string{}
	for _, doc := range docs {
		for _, leaf := range doc.Changes {
			ask[doc.ID] = append(ask[doc.ID], leaf.Rev)
		}
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, err
	}
	var lacks map[string]struct{ Missing []string }
	if err := m.to.ask(ctx, http.MethodPost, "/"+escape(name)+"/_revs_diff", body, &lacks); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(docs), func(doc change) bool { return len(lacks[doc.ID].Missing) == 0 }), nil
}

// watch reports how far the replication of a database is, until ctx ends.
func (m *couchDBMove) watch(ctx context.Context, name string, documents int64) {
	if m.Out == nil || m.Out.Every == 0 {
		return
	}
	tick := time.NewTicker(m.Out.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if n, err := m.count(ctx, m.To.call, name); err == nil && ctx.Err() == nil {
			m.Out.Say("%s: %d of %s", name, n, Count(documents, "document"))
		}
	}
}

// plain returns the address without credentials.
func (c *Client) plain() string {
	u := *c.base
	u.User = nil
	return strings.TrimSuffix(u.String(), "/")
}

// answerError is an error that a server has answered.
type answerError struct {
	status int
	name   string // "error" of the answer
	text   string
}

func (e *answerError) Error() string { return e.text }

// maxAnswer bounds an answer that is read as a whole: a list of databases may be long.
const maxAnswer = 64 << 20

// call sends a request with a JSON body, and decodes the answer into a value.
func (c *Client) call(ctx context.Context, method, path string, body []byte, into any) error {
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.base.String(), "/")+path, reader)
	if err != nil {
		return errors.New("the address is invalid")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	answer, err := c.do(r)
	if err != nil {
		return unreachable{err}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return unreachable{err}
	}
	if answer.StatusCode >= 400 {
		var said struct{ Error, Reason string }
		_ = json.Unmarshal(text, &said) // what is missing is empty
		return &answerError{answer.StatusCode, said.Error, fmt.Sprintf("%s %s: status %d, %s: %s", method, path,
			answer.StatusCode, said.Error, said.Reason)}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}
