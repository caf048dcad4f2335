package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/node/replicate/couch"
)

const (
	// flushBytes and flushDocs bound what one _bulk_docs writes.
	flushBytes = 1 << 20
	flushDocs  = 500
)

// worker copies one batch of changes after the other.
type worker struct {
	r    *Run
	diff usefulness // of _revs_diff
	bulk usefulness // of _bulk_get

	docs  [][]byte // to be written together
	bytes int
	stats Stats // not yet added to those of the run
}

func newWorker(r *Run) *worker {
	now := time.Now()
	return &worker{r: r, diff: usefulness{limit: 0.95, decay: 0.4, at: now},
		bulk: usefulness{limit: 0.5, decay: 0.25, at: now}}
}

// work copies batches until there are no more.
func (w *worker) work(ctx context.Context) error {
	r := w.r
	for {
		stream, number := 0, int64(0)
		items := r.feed.take(r.o.Spec.WorkerBatchSize, func(s int, last json.RawMessage) {
			r.mu.Lock()
			defer r.mu.Unlock()
			stream, number = s, r.track.take(s, last)
		})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case items == nil:
			return nil
		case len(items) == 0:
			continue
		}
		if err := w.batch(ctx, items); err != nil {
			return err
		}
		r.mu.Lock()
		r.track.done(stream, number)
		r.mu.Unlock()
	}
}

// batch copies what the target does not have of a batch.
func (w *worker) batch(ctx context.Context, items []item) error {
	missing, err := w.missing(ctx, items)
	if err != nil {
		return err
	}
	var single, together []couch.Missing
	for _, m := range missing {
		if strings.HasPrefix(m.ID, "_design/") {
			single = append(single, m) // by itself, since the target may refuse it for other reasons than documents
		} else {
			together = append(together, m)
		}
	}
	rest, err := w.together(ctx, together)
	if err != nil {
		return err
	}
	return w.singles(ctx, append(single, rest...))
}

// missing asks the target what it does not have. If it turns out to have next to nothing, it is not asked.
func (w *worker) missing(ctx context.Context, items []item) (list []couch.Missing, err error) {
	var asked []couch.Change
	revs := 0
	for i := range items {
		if c := &items[i].change; c.ID != "" && len(c.Revs) > 0 {
			asked = append(asked, *c)
			revs += len(c.Revs)
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	now := time.Now()
	if w.diff.worthwhile(now) {
		if list, err = w.r.o.Target.RevsDiff(ctx, merged(asked)); err != nil {
			return nil, failed("revs_diff_failed", err)
		}
		fresh := 0
		for i := range list {
			if len(list[i].Ancestors) == 0 {
				fresh++
			}
		}
		w.diff.saw(fresh, revs, now)
	} else {
		for _, c := range asked {
			for _, rev := range c.Revs {
				list = append(list, couch.Missing{ID: c.ID, Rev: rev})
			}
		}
	}
	w.r.add(Stats{RevisionsChecked: int64(revs), MissingFound: int64(len(list))})
	return list, nil
}

// merged returns the changes with one entry for each document, since a JSON object has one member of a name.
func merged(changes []couch.Change) []couch.Change {
	at := make(map[string]int, len(changes))
	list := changes[:0]
	for _, c := range changes {
		if i, ok := at[c.ID]; ok {
			list[i].Revs = append(list[i].Revs[:len(list[i].Revs):len(list[i].Revs)], c.Revs...)
			continue
		}
		at[c.ID] = len(list)
		list = append(list, c)
	}
	return list
}

// together reads documents with _bulk_get and writes those without attachments. It returns the others.
func (w *worker) together(ctx context.Context, wanted []couch.Missing) (rest []couch.Missing, err error) {
	now := time.Now()
	if len(wanted) == 0 || !w.r.o.Spec.UseBulkGet || !w.bulk.worthwhile(now) || !w.r.hasBulkGet(now) {
		return wanted, nil
	}
	got := make([]bool, len(wanted))
	var unwritten error // the target's, which says nothing about the source
	put := func(i int, doc []byte) error {
		if doc == nil || hasAttachments(doc) {
			got[i] = false
			return nil
		}
		got[i] = true
		unwritten = w.put(ctx, doc)
		return unwritten
	}
	err = w.r.o.Source.BulkGet(ctx, wanted, put)
	switch {
	case unwritten != nil:
		return nil, unwritten
	case couch.NoBulkGet(err):
		w.r.noBulkGet(err)
	case err != nil:
		return nil, failed("bulk_get_failed", err)
	}
	if err := w.flush(ctx); err != nil {
		return nil, err
	}
	for i := range wanted {
		if !got[i] {
			rest = append(rest, wanted[i])
		}
	}
	if err == nil {
		w.r.bulkGetWorks()
	}
	w.bulk.saw(len(rest), len(wanted), now)
	w.r.add(Stats{BulkGetDocs: int64(len(wanted) - len(rest)), BulkGetAttempts: int64(len(wanted))})
	return rest, nil
}

const (
	// bulkAgain is when a source is asked again that has no _bulk_get, or one that does not work: a long replication is
	// to get over what was wrong with it for some time.
	bulkAgain = 10 * time.Minute
	// bulkSoon is when it is asked again after a failure that may pass at once, such as while it starts. It doubles
	// with each such failure in a row, up to bulkAgain.
	bulkSoon = 5 * time.Second
)

// hasBulkGet reports whether the source can be asked for several documents at once.
func (r *Run) hasBulkGet(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !now.Before(r.bulkFrom)
}

// noBulkGet lets all workers read documents one by one for some time.
func (r *Run) noBulkGet(why error) {
	var e *couch.Error
	passing := errors.As(why, &e) && e.Transient() && e.Err == nil && e.Status != http.StatusNotImplemented
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Before(r.bulkFrom) {
		return // another worker has found that out
	}
	level := slog.LevelDebug
	if r.bulkPause = min(max(bulkSoon, 2*r.bulkPause), bulkAgain); !passing || r.bulkPause == bulkAgain {
		r.bulkPause, level = bulkAgain, slog.LevelInfo
	}
	r.bulkFrom = now.Add(r.bulkPause)
	r.log.Log(context.Background(), level, "documents are read one by one, since the source's _bulk_get fails",
		"for", r.bulkPause, "error", why)
}

// bulkGetWorks notes that the source has answered _bulk_get.
func (r *Run) bulkGetWorks() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bulkPause = 0
}

// hasAttachments reports whether a document has any.
func hasAttachments(doc []byte) bool {
	list := gjson.GetBytes(doc, "_attachments")
	return list.Exists() && list.Raw != "{}"
}

// put adds a document to those that are written together.
func (w *worker) put(ctx context.Context, doc []byte) error {
	w.docs = append(w.docs, doc)
	w.bytes += len(doc)
	w.stats.DocsRead++
	if w.bytes < flushBytes && len(w.docs) < flushDocs {
		return nil
	}
	return w.flush(ctx)
}

// flush writes the documents that wait.
func (w *worker) flush(ctx context.Context) error {
	defer func() {
		clear(w.docs)
		w.docs, w.bytes = w.docs[:0], 0
		w.r.add(w.stats)
		w.stats = Stats{}
	}()
	return w.write(ctx, w.docs)
}

// write writes documents, in two halves if they are too large together, or if the target refuses them all because of
// one, as CouchDB and Divan do if its id is illegal or a special member has no sense.
func (w *worker) write(ctx context.Context, docs [][]byte) error {
	if len(docs) == 0 {
		return nil
	}
	refused, err := w.r.o.Target.BulkDocs(ctx, docs)
	var why *couch.Error
	rejected := errors.As(err, &why) && why.Status == http.StatusBadRequest && why.Name != "" // else not by a CouchDB
	switch {
	case errors.Is(err, couch.ErrTooLarge) && len(docs) == 1:
		w.r.log.Error("a document was not written because it is too large for the target", "id", idOf(docs[0]))
		w.stats.DocWriteFailures++
		return nil
	case rejected && len(docs) == 1:
		refused = []couch.Failure{{ID: idOf(docs[0]), Rev: gjson.GetBytes(docs[0], "_rev").Str, Name: why.Name,
			Reason: why.Reason}}
	case errors.Is(err, couch.ErrTooLarge), rejected:
		half := len(docs) / 2
		if err := w.write(ctx, docs[:half]); err != nil {
			return err
		}
		return w.write(ctx, docs[half:])
	case err != nil:
		return failed("bulk_docs_failed", err)
	}
	for i := range refused {
		if passing(refused[i].Name) {
			return failed("bulk_docs_failed", fmt.Errorf("%s: %s", refused[i].Name, refused[i].Reason))
		}
		w.r.refused(&refused[i])
	}
	w.stats.DocsWritten += int64(len(docs) - len(refused))
	w.stats.DocWriteFailures += int64(len(refused))
	return nil
}

// refused logs a document that the target did not take.
func (r *Run) refused(f *couch.Failure) {
	r.log.Error("the target refused a document", "id", f.ID, "rev", f.Rev, "error", f.Name, "reason", f.Reason)
}

func idOf(doc []byte) string { return gjson.GetBytes(doc, "_id").Str }

// passing reports whether the target may take a document later that it refuses now with this error. Then the
// replication must not go on without it.
func passing(name string) bool {
	switch name {
	case "timeout", "service_unavailable", "unavailable", "internal_server_error", "functions_busy",
		"insufficient_storage", "full", "too_many_requests":
		return true
	}
	return false
}

// usefulness decides whether a request is worth its while, as CouchDB's replicator does: not as long as the moving
// average of what it did not help with is above a limit. It is tried again from time to time.
type usefulness struct {
	limit, decay, average float64
	at                    time.Time
}

const tryAgain = 37 * time.Second

func (u *usefulness) worthwhile(now time.Time) bool {
	return u.average <= u.limit || now.Sub(u.at) > tryAgain
}

func (u *usefulness) saw(useless, all int, now time.Time) {
	share := 0.0
	if all > 0 {
		share = float64(useless) / float64(all)
	}
	u.average += u.decay * (share - u.average)
	u.at = now
}
