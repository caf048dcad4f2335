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
	Parallel   int // databases at once
	Out        *Progress
}

// CouchDBImported says what was moved.
type CouchDBImported struct {
	Databases, Failed int
	Documents         int64 // that the node has
	Missing           int64 // documents with revisions that the node does not have, most likely since it refuses them
}

// Run moves all databases. It goes on after a database that fails or lacks documents, and returns the errors of all at
// the end.
func (m *CouchDBImport) Run(ctx context.Context) (done CouchDBImported, err error) {
	var names []string
	// Each wrong password counts towards a lockout, so try the node's once.
	if err := m.To.call(ctx, http.MethodGet, "/_all_dbs", nil, &names); err != nil {
		return done, fmt.Errorf("list the databases of the node: %w", err)
	}
	names = nil
	if err := m.From.call(ctx, http.MethodGet, "/_all_dbs", nil, &names); err != nil {
		return done, fmt.Errorf("list the databases of %s: %w", m.From.base.Redacted(), err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !m.wants(name) })
	var mu sync.Mutex
	var errs []error
	var group sync.WaitGroup
	turns := make(chan struct{}, max(1, m.Parallel))
	for _, name := range names {
		select {
		case turns <- struct{}{}:
		case <-ctx.Done():
			group.Wait()
			return done, errors.Join(append(errs, ctx.Err())...)
		}
		group.Go(func() {
			defer func() { <-turns }()
			documents, missing, err := m.database(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			done.Databases++
			done.Documents += documents
			done.Missing += missing
			if err != nil {
				done.Failed++
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
				m.Out.Say("%s: failed: %v", name, err)
				return
			}
			if missing > 0 {
				errs = append(errs, fmt.Errorf("%s: %s did not arrive", name, Count(missing, "document")))
			}
			m.Out.Say("%s: %s (%d of %s)", name, Count(documents, "document"), done.Databases,
				Count(len(names), "database"))
		})
	}
	group.Wait()
	return done, errors.Join(errs...)
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
func (m *CouchDBImport) database(ctx context.Context, name string) (documents, missing int64, err error) {
	path := "/" + escape(name)
	var info struct {
		Documents int64 `json:"doc_count"`
		Props     struct{ Partitioned bool }
	}
	if err := m.From.call(ctx, http.MethodGet, path, nil, &info); err != nil {
		return 0, 0, err
	}
	create := path
	if info.Props.Partitioned {
		create += "?partitioned=true"
	}
	var e *answerError
	if err := m.To.call(ctx, http.MethodPut, create, nil, nil); err != nil &&
		(!errors.As(err, &e) || e.status != http.StatusPreconditionFailed) {
		return 0, 0, fmt.Errorf("create it: %w", err)
	}
	for _, part := range []string{"/_security", "/_revs_limit", "/_purged_infos_limit"} {
		if part == "/_security" && (name == "_users" || strings.HasSuffix(name, "/_users")) {
			continue // not editable; its rules are built in
		}
		var value json.RawMessage
		if err := m.From.call(ctx, http.MethodGet, path+part, nil, &value); err != nil {
			return 0, 0, err
		}
		if part == "/_security" && string(bytes.TrimSpace(value)) == "{}" {
			continue // CouchDB says so for a database that was made before it had defaults
		}
		if err := m.To.call(ctx, http.MethodPut, path+part, value, nil); err != nil {
			return 0, 0, fmt.Errorf("copy %s: %w", part[1:], err)
		}
	}
	refusals, err := m.replicate(ctx, name, info.Documents)
	if err != nil || !refusals {
		return info.Documents, 0, err
	}
	lost, err := m.compare(ctx, name)
	return max(0, info.Documents-lost.shown), lost.all, err
}

// replicate lets the node pull a database, and reports how far it is. refusals reports whether the node has refused
// documents, now or in an earlier run that this one has continued.
func (m *CouchDBImport) replicate(ctx context.Context, name string, documents int64) (refusals bool, err error) {
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

// pull lets the node replicate a database, or only some documents of it, without validating what it gets: the functions
// of design documents would see an admin as the author.
func (m *CouchDBImport) pull(ctx context.Context, name string, ids []string, into any) error {
	source := map[string]any{"url": m.From.plain() + "/" + escape(name)}
	if user := m.From.base.User; user != nil {
		password, _ := user.Password()
		source["auth"] = map[string]any{"basic": map[string]string{"username": user.Username(), "password": password}}
	}
	ask := map[string]any{"source": source, "target": name, "move": true}
	if ids != nil {
		ask["doc_ids"], ask["use_checkpoints"] = ids, false
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	return m.To.call(ctx, http.MethodPost, "/_replicate", body, into)
}

// lost counts documents that did not arrive: all, and those that are not deleted.
type lost struct{ all, shown int64 }

const (
	compareAtOnce = 500 // documents
	namedMissing  = 20  // documents of a database that are named
)

// compare looks for revisions of the source that the node does not have, asks for these documents once more, since the
// checkpoint is behind them, and names those that the node refuses again.
func (m *CouchDBImport) compare(ctx context.Context, name string) (l lost, err error) {
	since := "0"
	for {
		var page struct {
			Results []change
			Last    json.RawMessage `json:"last_seq"`
		}
		if err := m.From.call(ctx, http.MethodGet, fmt.Sprintf("/%s/_changes?style=all_docs&limit=%d&since=%s",
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
func (m *CouchDBImport) missing(ctx context.Context, name string, docs []change) ([]change, error) {
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
	if err := m.To.call(ctx, http.MethodPost, "/"+escape(name)+"/_revs_diff", body, &lacks); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(docs), func(doc change) bool { return len(lacks[doc.ID].Missing) == 0 }), nil
}

// watch reports how far the replication of a database is, until ctx ends.
func (m *CouchDBImport) watch(ctx context.Context, name string, documents int64) {
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
		var info struct {
			Documents int64 `json:"doc_count"`
		}
		if m.To.call(ctx, http.MethodGet, "/"+escape(name), nil, &info) == nil && ctx.Err() == nil {
			m.Out.Say("%s: %d of %s", name, info.Documents, Count(documents, "document"))
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
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return err
	}
	if answer.StatusCode >= 400 {
		var said struct{ Error, Reason string }
		_ = json.Unmarshal(text, &said) // what is missing is empty
		return &answerError{answer.StatusCode, fmt.Sprintf("%s %s: status %d, %s: %s", method, path, answer.StatusCode,
			said.Error, said.Reason)}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}
