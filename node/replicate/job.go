package replicate

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"strings"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/replicate/couch"
	"github.com/divandb/divan/node/replicate/spec"
	"github.com/divandb/divan/node/replicate/transfer"
)

// run is a job that this node works on.
type run struct {
	m    *Manager
	job  *layer.Job
	what layer.ReplicationJob
	rec  *record

	db   *layer.Database // of doc
	doc  *layer.Document // what describes the replication; nil for one of POST /_replicate
	spec *spec.Spec
	id   spec.ID
	user layer.UserCtx // as whom databases of this server are used

	continuous bool
	began      time.Time
	yield      chan struct{} // closed to stop the run, for others
	yields     bool          // yield is closed; guarded by Manager.mu
	elsewhere  bool          // another node has had the job before
	copying    bool          // the run can be stopped; guarded by Manager.mu
}

func newSession() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// Replicate implements actors.ReplicationWorker.
func (m *Manager) Replicate(ctx context.Context, stop <-chan struct{}, job *layer.Job) {
	r := &run{m: m, job: job, rec: parseRecord(job.Progress), began: time.Now(), yield: make(chan struct{})}
	r.elsewhere = r.rec.Node != "" && r.rec.Node != m.o.Node
	m.mu.Lock()
	m.running[job.ID] = r
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.running[job.ID] == r { // not another run, if this one has lost its job and the node has it again
			delete(m.running, job.ID)
		}
	}()
	if err := r.work(ctx, stop); err != nil && ctx.Err() == nil && layer.KindOf(err) != layer.Conflict {
		// The store failed. The job is tried again when its lease ends.
		m.o.Log.Log(ctx, m.o.storeLevel(ctx, err), "the state of a replication could not be written", "job", job.ID,
			"error", err)
		r.resume(ctx)
	}
}

// work works on the job and ends its run. The error is the store's.
func (r *run) work(ctx context.Context, stop <-chan struct{}) error {
	if err := json.Unmarshal(r.job.Data, &r.what); err != nil {
		return r.m.o.Store.Finish(ctx, r.job, nil) // of another version of Divan
	}
	// What the run waits for is broken off when the job is to be given back. What it writes of the job is not.
	working, cancel := transfer.Until(ctx, stop, errDrained)
	defer cancel()
	more, err := r.read(working)
	if err == nil && !more {
		return r.m.o.Store.Finish(ctx, r.job, nil)
	}
	if err == nil {
		r.id, err = r.m.ends.idOf(working, r.spec, r.user)
	} else if working.Err() == nil {
		return err
	}
	switch {
	case working.Err() != nil:
		return r.m.o.Store.GiveBack(ctx, r.job)
	case err != nil:
		return r.broken(ctx, err.Error())
	}
	holder, err := r.m.o.Store.Hold(ctx, r.job, r.id.String())
	if err != nil {
		return err
	}
	if holder != "" {
		return r.twice(ctx, holder)
	}
	r.continuous = r.spec.Continuous
	r.rec.ID, r.rec.Broken = r.id.String(), ""
	return r.copy(ctx, working)
}

// read reads what describes the replication. more is false if there is nothing to do.
func (r *run) read(ctx context.Context) (more bool, err error) {
	body := []byte(r.what.Request)
	rev := ""
	if r.what.Document == "" {
		r.user = layer.UserCtx{Name: r.what.User, Roles: r.what.Roles}
	} else {
		if r.db, r.doc, err = documentOf(ctx, r.m.o.Store, r.what); r.doc == nil || err != nil {
			return false, err
		}
		if isTerminal(r.doc.Body) {
			return false, nil
		}
		body, rev, r.user = r.doc.Body, r.doc.Rev.String(), runsAs(r.doc.Body)
	}
	if rev != r.rec.DocRev || r.rec.Began.IsZero() {
		r.rec = &record{DocRev: rev, Began: r.began.UTC()}
		r.rec.happened("added", "", r.m.o.Settings().MaxHistory)
	}
	r.rec.Node = r.m.o.Node
	d := r.m.o.Settings().Defaults
	if r.spec, err = d.Parse(body); err != nil {
		if r.doc != nil {
			return false, r.m.failed(ctx, r.db, r.doc, err.Error())
		}
		return false, nil // cannot happen: it was checked
	}
	r.spec.Moves = r.spec.Moves && r.doc == nil // who wrote the document need not be an admin
	r.rec.describe(r.spec)
	return true, nil
}

// documentOf reads the document that asks for a job. It is nil if there is none, or no such database.
func documentOf(ctx context.Context, s *layer.Store, of layer.ReplicationJob) (
	*layer.Database, *layer.Document, error,
) {
	db, err := s.Database(ctx, of.Database)
	if err == nil {
		var doc *layer.Document
		if doc, err = db.Get(ctx, of.Document, layer.GetOptions{}); err == nil && !doc.Deleted {
			return db, doc, nil
		}
	}
	if layer.KindOf(err) == layer.NotFound || err == nil {
		return nil, nil, nil
	}
	return nil, nil, err
}

// broken ends a run that could not find out the replication's id. It is tried again later, like CouchDB does.
func (r *run) broken(ctx context.Context, reason string) error {
	if done, err := r.interrupted(ctx, reason); done {
		return err
	}
	if r.doc == nil {
		return r.fault(ctx, &Fault{404, "not_found", reason})
	}
	const first = 64 * time.Second
	r.rec.Errors++
	r.rec.Broken, r.rec.ID = reason, ""
	r.rec.Changed = time.Now().UTC()
	wait := mathrand.N(first<<min(r.rec.Errors-1, 12)) + time.Second
	r.report(ctx, reason, wait)
	return r.postpone(ctx, wait, errors.New(reason))
}

// report reports a failed run.
func (r *run) report(ctx context.Context, reason string, wait time.Duration) {
	r.m.o.Log.Log(ctx, r.level(ctx, slog.LevelError, reason), "a replication failed", "replication", r.id.String(),
		"database", r.what.Database, "document", r.what.Document, "source", r.rec.Source, "target", r.rec.Target,
		"failures", r.rec.Errors, "again_in", wait.Round(time.Second), "reason", reason)
	f := Failed{Database: r.what.Database, Document: r.what.Document, ID: r.id.String(), Source: r.rec.Source,
		Target: r.rec.Target, Reason: reason, Errors: r.rec.Errors}
	if wait > 0 {
		f.Again = time.Now().Add(wait)
	}
	r.m.notify(f)
}

func (r *run) postpone(ctx context.Context, wait time.Duration, why error) error {
	r.job.Progress = r.rec.encode()
	return r.m.o.Store.Postpone(ctx, r.job, wait, why)
}

// twice ends a run whose replication another job does already.
func (r *run) twice(ctx context.Context, holder string) error {
	database, document, _ := strings.Cut(holder, "/")
	if r.doc == nil {
		return r.fault(ctx, &Fault{409, "conflict", fmt.Sprintf("Replication `%s` is already running", r.id)})
	}
	if database == "" {
		return r.broken(ctx, fmt.Sprintf("Replication `%s` specified by document `%s` already running as a transient "+
			"replication, started via `_replicate` API endpoint", r.id, r.doc.ID))
	}
	reason := fmt.Sprintf("Replication `%s` specified by document `%s` already started, triggered by document `%s` "+
		"from db `%s`", r.id, r.doc.ID, document, unescaped(database))
	if err := r.m.failed(ctx, r.db, r.doc, reason); err != nil {
		return err
	}
	return r.m.o.Store.Finish(ctx, r.job, nil)
}

// fault ends a replication of POST /_replicate with an error.
func (r *run) fault(ctx context.Context, f *Fault) error {
	r.rec.Fault = f
	if err := r.m.o.Store.Report(ctx, r.job, r.rec.encode()); err != nil {
		return err
	}
	return r.m.o.Store.Finish(ctx, r.job, nil)
}

// copy runs the replication and ends its run. working ends when the job is to be given back, or with ctx.
func (r *run) copy(ctx, working context.Context) error {
	settings := r.m.o.Settings()
	t, e, err := r.m.ends.make(ctx, r.spec, r.id, r.user, r.rec)
	if err != nil {
		return r.crashed(ctx, err)
	}
	defer e.close()
	r.rec.happened("started", "", settings.MaxHistory)
	r.m.count(func(c *Counts) { c.Starts++ })
	if err := r.m.o.Store.Report(ctx, r.job, r.rec.encode()); err != nil {
		return err
	}
	result, why := r.attend(ctx, working, t)
	r.rec.figures(t.Status(), r.rec.Pending)
	r.m.count(func(c *Counts) { c.add(t.Own()) })
	switch {
	case ctx.Err() != nil:
		return ctx.Err() // another worker has the job
	case errors.Is(why, errDrained):
		r.rec.happened("stopped", "", settings.MaxHistory)
		r.job.Progress = r.rec.encode()
		return r.m.o.Store.GiveBack(ctx, r.job)
	case errors.Is(why, transfer.ErrStopped), errors.Is(why, errChanged), errors.Is(why, couch.ErrResharded):
		r.rec.happened("stopped", "", settings.MaxHistory)
		r.rec.Errors = 0
		r.m.count(func(c *Counts) { c.Stops++ })
		return r.postpone(ctx, 0, nil)
	case why != nil:
		return r.crashed(ctx, why)
	}
	return r.complete(ctx, result)
}

// add counts what a run has done.
func (c *Counts) add(s transfer.Stats) {
	c.DocsRead += s.DocsRead
	c.DocsWritten += s.DocsWritten
	c.WriteFailures += s.DocWriteFailures
}

// complete ends a replication that is complete.
func (r *run) complete(ctx context.Context, result []byte) error {
	r.m.count(func(c *Counts) { c.Completed++ })
	r.rec.Pending = nil // what was counted during the run, or during an earlier one
	r.m.o.Log.Info("a replication is complete", "replication", r.id.String(), "source", r.rec.Source,
		"target", r.rec.Target, "docs_written", r.rec.Stats.DocsWritten,
		"doc_write_failures", r.rec.Stats.DocWriteFailures)
	if r.doc != nil {
		if err := r.m.completed(ctx, r.db, r.doc, r.rec); err != nil {
			return err
		}
	}
	r.rec.Result = result
	if err := r.m.o.Store.Report(ctx, r.job, r.rec.encode()); err != nil {
		return err
	}
	return r.m.o.Store.Finish(ctx, r.job, nil)
}

// crashed ends a run that failed. Replications of documents, and continuous ones, are tried again.
func (r *run) crashed(ctx context.Context, why error) error {
	if done, err := r.interrupted(ctx, why.Error()); done {
		return err
	}
	settings := r.m.o.Settings()
	r.m.count(func(c *Counts) { c.Crashes++ })
	if time.Since(r.began) > settings.HealthThreshold {
		r.rec.Errors = 0
	}
	r.rec.Errors++
	r.rec.happened("crashed", why.Error(), settings.MaxHistory)
	if r.doc == nil && !r.continuous {
		r.report(ctx, why.Error(), 0)
		return r.fault(ctx, faultOf(why))
	}
	const first = 30 * time.Second
	wait := first << min(r.rec.Errors-1, 10)
	r.report(ctx, why.Error(), wait)
	if r.doc != nil && settings.UpdateDocs {
		err := r.m.update(ctx, r.db, r.doc, Broken, member{"_replication_state_reason", quoted(why.Error())},
			member{"_replication_id", quoted(r.id.String())}, member{"_replication_stats", nil})
		if err != nil {
			return err
		}
	}
	return r.postpone(ctx, wait, why)
}

// faultOf returns the answer to a POST /_replicate that failed.
func faultOf(why error) *Fault {
	var e *couch.Error
	if errors.As(why, &e) && e.Method == "" {
		f := &Fault{500, e.Name, e.Reason}
		if e.Status != 0 {
			f.Status = e.Status
		}
		return f
	}
	name, reason, ok := strings.Cut(why.Error(), ": ")
	if !ok || strings.Contains(name, " ") { // a sentence, such as of a file that cannot be read
		name, reason = "replication_failed", why.Error()
	}
	return &Fault{500, name, reason}
}
