package transfer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/divandb/divan/node/replicate/couch"
)

// singles copies documents one by one, with their attachments, several at the same time.
func (w *worker) singles(ctx context.Context, list []couch.Missing) error {
	if len(list) == 0 {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, doc := range byDocument(list) {
		select {
		case w.r.slots <- struct{}{}:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), g.Wait())
		}
		g.Go(func() error {
			defer func() { <-w.r.slots }()
			return w.r.single(ctx, doc)
		})
	}
	return g.Wait()
}

// wantedDoc is a document of which some revisions are missing.
type wantedDoc struct {
	id              string
	revs, ancestors []string
}

// maxOpenRevs bounds the revisions of one request, so that its URL is not too long.
const maxOpenRevs = 50

// byDocument collects the revisions of each document.
func byDocument(list []couch.Missing) (docs []*wantedDoc) {
	at := map[string]*wantedDoc{}
	for _, m := range list {
		d := at[m.ID]
		if d == nil || len(d.revs) == maxOpenRevs {
			d = &wantedDoc{id: m.ID, ancestors: m.Ancestors}
			at[m.ID] = d
			docs = append(docs, d)
		}
		d.revs = append(d.revs, m.Rev)
	}
	return docs
}

// single copies revisions of a document. It is repeated after errors that may pass: of the source, while its answer is
// read, or of the target, which gets the data as they arrive.
func (r *Run) single(ctx context.Context, d *wantedDoc) error {
	missing := false
	for tries := 0; ; {
		var stats Stats
		err := r.o.Source.OpenRevs(ctx, d.id, d.revs, d.ancestors, func(doc *couch.Related) error {
			stats.DocsRead++
			err := r.putSingle(ctx, doc)
			if why, ok := refusal(err); ok {
				if _, err := r.o.Target.Info(ctx); err != nil {
					return err // the whole target refuses, not only the document
				}
				r.refused(&couch.Failure{ID: d.id, Rev: strings.Join(d.revs, ","), Name: why.Name, Reason: why.Reason})
				stats.DocWriteFailures++
				return nil
			}
			if err == nil {
				stats.DocsWritten++
			}
			return err
		})
		var e *couch.Error
		var read *couch.ReadError
		wait := 250 * time.Millisecond << min(tries, 10)
		switch {
		case err == nil:
			r.add(stats)
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, couch.ErrMissing) && !missing:
			// The feed was ahead of what the source can give, as within a cluster.
			missing, wait = true, r.o.MissingWait
		case errors.As(err, &e) && e.Outage:
			tries, wait = 0, 250*time.Millisecond
		case errors.As(err, &e) && e.Status == http.StatusPreconditionFailed && d.ancestors != nil:
			d.ancestors, wait = nil, 0 // the target does not have an attachment that its ancestor should have
		case (errors.As(err, &read) || errors.As(err, &e) && e.Transient()) && tries < r.o.Spec.RetriesPerRequest:
			tries++
		default:
			return failed("doc_write_failed", fmt.Errorf("document %q: %w", d.id, err))
		}
		r.log.Debug("a document is copied again", "id", d.id, "wait", wait, "error", err)
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

func (r *Run) putSingle(ctx context.Context, doc *couch.Related) error {
	if doc.HasData() {
		return r.o.Target.PutRelated(ctx, doc)
	}
	return r.o.Target.PutDocument(ctx, doc.ID, doc.JSON)
}

// refusal reports whether the target will not take the document, now or later.
func refusal(err error) (why *couch.Error, ok bool) {
	if !errors.As(err, &why) || errors.As(err, new(*couch.ReadError)) {
		return nil, false
	}
	switch why.Status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType:
		return why, true
	}
	return nil, false
}
