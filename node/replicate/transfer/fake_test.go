package transfer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/node/replicate/couch"
	"github.com/divandb/divan/node/replicate/spec"
)

// fake is a database in memory whose requests fail now and then.
type fake struct {
	mu     sync.Mutex
	faults *rand.Rand // nil: nothing fails
	start  string

	changes []couch.Change // in order; Seq is a number
	docs    map[string][]byte
	locals  map[string][]byte
	forbid  func(id string) (name string)
	most    int   // documents of one BulkDocs; 0: any number
	writes  int   // documents that were written, again too
	bulk    error // of each BulkGet
	bulks   int   // calls of BulkGet
	refuse  error // of each BulkDocs
}

func newFake(docs int) *fake {
	f := &fake{docs: map[string][]byte{}, locals: map[string][]byte{}, start: "1"}
	for i := range docs {
		f.add(fmt.Sprintf("doc%04d", i))
	}
	return f
}

func (f *fake) add(id string) {
	f.changes = append(f.changes, couch.Change{Seq: json.RawMessage(strconv.Itoa(len(f.changes) + 1)), ID: id,
		Revs: []string{"1-a"}})
	f.docs[id] = []byte(`{"_id":"` + id + `","_rev":"1-a","_revisions":{"start":1,"ids":["a"]}}`)
}

// fail returns an error that may pass in one of ten calls.
func (f *fake) fail() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.faults == nil || f.faults.IntN(10) > 0 {
		return nil
	}
	return &couch.Error{Method: "GET", URL: "fake", Err: io.ErrUnexpectedEOF}
}

// try repeats a call like package couch does.
func (f *fake) try(do func() error) error {
	for {
		if err := f.fail(); err == nil {
			return do()
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (f *fake) Name() string { return "fake" }

func (f *fake) startTime() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.start
}

// checkpoint returns the sequence of the checkpoint.
func (f *fake) checkpoint() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return gjson.GetBytes(f.locals["id"], "source_last_seq").Raw
}

func (f *fake) Info(context.Context) (couch.Info, error) {
	return couch.Info{UpdateSeq: json.RawMessage("1"), StartTime: f.startTime()}, nil
}

func (f *fake) Create(context.Context, []spec.Param) error                { return nil }
func (f *fake) Commit(context.Context) (string, error)                    { return f.startTime(), nil }
func (f *fake) Shards(context.Context, json.RawMessage) ([]string, error) { return nil, nil }
func (f *fake) Pending(context.Context, json.RawMessage) (int64, error)   { return 0, nil }

func (f *fake) LocalDocument(_ context.Context, id string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.locals[id], nil
}

func (f *fake) PutLocal(_ context.Context, id string, doc []byte) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if old := f.locals[id]; old != nil && gjson.GetBytes(old, "_rev").Str != gjson.GetBytes(doc, "_rev").Str {
		return "", &couch.Error{Method: "PUT", Status: 409}
	}
	n, _ := strconv.Atoi(gjson.GetBytes(doc, "_rev").Str)
	rev := strconv.Itoa(n + 1)
	f.locals[id] = []byte(`{"_rev":"` + rev + `","x":1,` + string(withoutRev(doc)[1:]))
	return rev, nil
}

func withoutRev(doc []byte) []byte {
	var m map[string]json.RawMessage
	_ = json.Unmarshal(doc, &m)
	delete(m, "_rev")
	b, _ := json.Marshal(m)
	return b
}

// Changes ends early now and then, with and without an error.
func (f *fake) Changes(ctx context.Context, feed couch.Feed, row func(*couch.Change) error) (json.RawMessage, error) {
	since, _ := strconv.Atoi(string(feed.Since))
	for {
		f.mu.Lock()
		list := slices.Clone(f.changes[min(since, len(f.changes)):])
		f.mu.Unlock()
		for i := range list {
			if len(list) > 20 && i%17 == 16 {
				if err := f.fail(); err != nil {
					return nil, err
				}
			}
			if err := row(&list[i]); err != nil {
				return nil, err
			}
			since++
		}
		if !feed.Continuous {
			return json.RawMessage(strconv.Itoa(since)), nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Second):
			if len(list) == 0 {
				return json.RawMessage(strconv.Itoa(since)), nil
			}
		}
	}
}

func (f *fake) BulkGet(_ context.Context, wanted []couch.Missing, each func(int, []byte) error) error {
	f.mu.Lock()
	f.bulks++
	err := f.bulk
	f.mu.Unlock()
	if err != nil {
		return err
	}
	for i := range wanted {
		if err := f.try(func() error {
			f.mu.Lock()
			doc := f.docs[wanted[i].ID]
			f.mu.Unlock()
			return each(i, doc)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (f *fake) OpenRevs(_ context.Context, id string, _, _ []string, each func(*couch.Related) error) error {
	if err := f.fail(); err != nil {
		return err
	}
	f.mu.Lock()
	doc := f.docs[id]
	f.mu.Unlock()
	if doc == nil {
		return couch.ErrMissing
	}
	return each(&couch.Related{ID: id, JSON: doc})
}

func (f *fake) RevsDiff(_ context.Context, docs []couch.Change) (list []couch.Missing, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range docs {
		if f.docs[c.ID] == nil {
			list = append(list, couch.Missing{ID: c.ID, Rev: c.Revs[0]})
		}
	}
	return list, nil
}

func (f *fake) BulkDocs(_ context.Context, docs [][]byte) (refused []couch.Failure, err error) {
	if f.most > 0 && len(docs) > f.most {
		return nil, couch.ErrTooLarge
	}
	if f.refuse != nil {
		return nil, f.refuse
	}
	for _, doc := range docs {
		if id := gjson.GetBytes(doc, "_id").Str; strings.HasPrefix(id, "illegal") {
			return nil, &couch.Error{Method: "POST", Status: 400, Name: "illegal_docid", Reason: id}
		}
	}
	err = f.try(func() error {
		for _, doc := range docs {
			if name := f.put(doc); name != "" {
				refused = append(refused, couch.Failure{ID: gjson.GetBytes(doc, "_id").Str, Name: name})
			}
		}
		return nil
	})
	return refused, err
}

func (f *fake) put(doc []byte) (refused string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := gjson.GetBytes(doc, "_id").Str
	if f.forbid != nil && f.forbid(id) != "" {
		return f.forbid(id)
	}
	f.docs[id] = doc
	f.writes++
	return ""
}

func (f *fake) PutDocument(_ context.Context, _ string, doc []byte) error {
	if err := f.fail(); err != nil {
		return err
	}
	if name := f.put(doc); name != "" {
		return &couch.Error{Method: "PUT", Status: 403, Name: name}
	}
	return nil
}

func (f *fake) PutRelated(ctx context.Context, doc *couch.Related) error {
	return f.PutDocument(ctx, doc.ID, doc.JSON)
}
