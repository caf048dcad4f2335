package api

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
)

// docRevs is one member of the bodies of _revs_diff, _missing_revs and _purge: {"id": ["1-abc", ...]}.
type docRevs struct {
	id   string
	revs []layer.Rev
	// The answer.
	missing, ancestors []layer.Rev
	err                error
}

// revsBody reads the body; notList is what the endpoint says of a value that is no list.
func (q *request) revsBody(notList string) ([]docRevs, error) {
	if err := q.requireJSON(); err != nil {
		return nil, err
	}
	body, err := q.objectBody()
	if err != nil {
		return nil, err
	}
	var docs []docRevs
	body.ForEach(func(key, value gjson.Result) bool {
		d := docRevs{id: key.Str}
		if !value.IsArray() {
			err = badRequest("%s", notList)
			return false
		}
		if d.revs, err = parseRevs(value); err != nil {
			return false
		}
		if err = q.db.CheckID(q.ctx(), d.id); err != nil {
			return false
		}
		docs = append(docs, d)
		return true
	})
	return docs, err
}

// parallelReads is how many documents of one request are looked up at once: on FoundationDB each is a round trip.
const parallelReads = 16

// each runs fn for every document, several at once, and waits. fn keeps its own error.
func each(ctx context.Context, docs []docRevs, fn func(d *docRevs)) {
	var workers sync.WaitGroup
	places := make(chan *docRevs)
	for range min(parallelReads, len(docs)) {
		workers.Go(func() {
			for d := range places {
				guarded(d, fn)
			}
		})
	}
	for i := range docs {
		if ctx.Err() != nil {
			break
		}
		places <- &docs[i]
	}
	close(places)
	workers.Wait()
}

// guarded keeps a panic inside its document: out here nobody else would catch it.
func guarded(d *docRevs, fn func(d *docRevs)) {
	defer func() {
		if p := recover(); p != nil {
			d.err = fmt.Errorf("panic over document %q: %v\n%s", d.id, p, debug.Stack())
		}
	}()
	fn(d)
}

// diff fills in what the database does not have.
func (q *request) diff(docs []docRevs) error {
	each(q.ctx(), docs, func(d *docRevs) {
		d.missing, d.ancestors, d.err = q.db.RevsDiff(q.ctx(), d.id, d.revs)
	})
	for i := range docs {
		if docs[i].err != nil {
			return docs[i].err
		}
	}
	return q.ctx().Err()
}

// revsDiff answers POST /{db}/_revs_diff.
func (q *request) revsDiff() error {
	docs, err := q.revsBody("Invalid revisions, must be a list")
	if err != nil {
		return err
	}
	if err := q.diff(docs); err != nil {
		return err
	}
	b := []byte{'{'}
	for i := range docs {
		d := &docs[i]
		if len(d.missing) == 0 {
			continue
		}
		b = appendRevs(append(appendMember(b, d.id), `{"missing":`...), d.missing)
		if len(d.ancestors) > 0 {
			b = appendRevs(append(b, `,"possible_ancestors":`...), d.ancestors)
		}
		b = append(b, '}')
	}
	return q.sendJSON(http.StatusOK, append(b, '}'))
}

// missingRevs answers POST /{db}/_missing_revs.
func (q *request) missingRevs() error {
	docs, err := q.revsBody("Invalid revisions, must be a list")
	if err != nil {
		return err
	}
	if err := q.diff(docs); err != nil {
		return err
	}
	b := []byte(`{"missing_revs":{`)
	for i := range docs {
		if len(docs[i].missing) > 0 {
			b = appendRevs(appendMember(b, docs[i].id), docs[i].missing)
		}
	}
	return q.sendJSON(http.StatusOK, append(b, "}}"...))
}
