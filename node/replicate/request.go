package replicate

import (
	"context"
	"errors"
	"slices"

	"github.com/divandb/divan/layer"
)

// Answer is the answer to POST /_replicate.
type Answer struct {
	Status int
	// LocalID is the id of the replication that has begun or was cancelled; or Result is an object about one that is
	// complete, without "ok".
	LocalID string
	Result  []byte
}

// Request answers POST /_replicate. It waits until a replication that is not continuous is complete; if ctx ends, the
// replication continues. Errors are a *spec.Error, a *Fault or a *layer.Error.
func (m *Manager) Request(ctx context.Context, body []byte, user layer.UserCtx) (*Answer, error) {
	d := m.o.Settings().Defaults
	s, err := d.Parse(body)
	if err != nil {
		return nil, err
	}
	if s.Moves && (s.Target.Local == "" || !slices.Contains(user.Roles, layer.AdminRole)) {
		return nil, &Fault{403, "forbidden", "only a server admin can move documents, to a database of this server"}
	}
	id := s.CancelID
	if !s.Cancel || id == "" {
		computed, err := m.ends.idOf(ctx, s, user)
		if err != nil {
			return nil, idFault(err)
		}
		id = computed.String()
	}
	if s.Cancel {
		return m.cancel(ctx, id, user)
	}
	return m.begin(ctx, body, id, s.Continuous, user)
}

// idFault is the answer if a filter function cannot be read.
func idFault(err error) error { return &Fault{404, "not_found", err.Error()} }

func errNoReplication() error { return &Fault{404, "not_found", "missing"} }

// cancel ends a replication, whatever began it. Users end only their own.
func (m *Manager) cancel(ctx context.Context, id string, user layer.UserCtx) (*Answer, error) {
	for {
		job, err := m.jobOf(ctx, id)
		if err != nil {
			return nil, err
		}
		if job == nil {
			return nil, errNoReplication()
		}
		if err := m.mayTouch(job, user); err != nil {
			return nil, err
		}
		replaced, err := m.isReplaced(ctx, job, id)
		if err != nil {
			return nil, err
		}
		removed := false
		if !replaced {
			if removed, err = m.o.Store.RemoveJobLike(ctx, job); err != nil {
				return nil, err
			}
		}
		if replaced || removed {
			m.o.Log.Info("a replication was cancelled", "replication", id, "user", user.Name)
			return &Answer{Status: 200, LocalID: id}, nil
		}
	}
}

// isReplaced reports whether the document of a job asks for another replication than id by now, which the job does
// next. It ends the one that it does by itself then.
func (m *Manager) isReplaced(ctx context.Context, job *layer.Job, id string) (bool, error) {
	what := dataOf(job)
	if what.Document == "" {
		return false, nil
	}
	_, doc, err := documentOf(ctx, m.o.Store, what)
	if err != nil || doc == nil || isTerminal(doc.Body) || doc.Rev.String() == parseRecord(job.Progress).DocRev {
		return false, err
	}
	return m.ends.askedBy(ctx, doc) != id, nil
}

// jobOf returns the job of a replication, or nil.
func (m *Manager) jobOf(ctx context.Context, id string) (*layer.Job, error) {
	job, err := m.o.Store.Holder(ctx, layer.ReplicationJobs, id)
	if err != nil || job != nil {
		return job, err
	}
	job, w, err := m.o.Store.Job(ctx, layer.ReplicationJobs, layer.ReplicationJobID("", id)) // it may not have begun
	if w != nil {
		w.Cancel()
	}
	if err != nil || job == nil || job.State == layer.JobFinished {
		return nil, err
	}
	return job, nil
}

// mayTouch refuses users who are no server admins and have not begun the replication.
func (m *Manager) mayTouch(job *layer.Job, user layer.UserCtx) error {
	what := dataOf(job)
	if slices.Contains(user.Roles, "_admin") || what.Document == "" && what.User == user.Name && user.Name != "" {
		return nil
	}
	return &layer.Error{Kind: layer.Unauthorized, Name: "unauthorized", Reason: "You are not a server admin."}
}

// begin enqueues a job, unless the replication is under way, and waits for its end if it will end.
func (m *Manager) begin(ctx context.Context, body []byte, id string, continuous bool,
	user layer.UserCtx) (*Answer, error) {
	job, err := m.jobOf(ctx, id)
	if err != nil {
		return nil, err
	}
	name := layer.ReplicationJobID("", id)
	if job != nil {
		if err := m.mayTouch(job, user); err != nil {
			return nil, err
		}
		name = job.ID
	} else {
		data := layer.ReplicationJob{Request: body, User: user.Name, Roles: user.Roles}.Encode()
		if err := m.o.Store.Enqueue(ctx, layer.ReplicationJobs, name, data); err != nil {
			return nil, err
		}
	}
	if continuous {
		return &Answer{Status: 202, LocalID: id}, nil
	}
	return m.await(ctx, name)
}

// await waits for the end of a replication. One that a document asks for too is tried again after failures; await ends
// with the first of these, or with the last one while the replication waits to be tried again.
func (m *Manager) await(ctx context.Context, name string) (*Answer, error) {
	for {
		job, w, err := m.o.Store.Job(ctx, layer.ReplicationJobs, name)
		if err != nil {
			return nil, err
		}
		if job == nil {
			w.Cancel()
			return nil, &Fault{500, "stopped", "the replication was cancelled"}
		}
		rec := parseRecord(job.Progress)
		switch {
		case job.State != layer.JobFinished:
			if crash := rec.waitsAfter(); crash != nil && rec.Fault == nil {
				w.Cancel()
				return nil, faultOf(errors.New(crash.Reason))
			}
		case rec.Fault != nil:
			w.Cancel()
			return nil, rec.Fault
		case rec.Result != nil:
			w.Cancel()
			return &Answer{Status: 200, Result: rec.Result}, nil
		default:
			w.Cancel()
			return nil, &Fault{500, "stopped", "the replication ended without a result"}
		}
		select {
		case <-ctx.Done():
			w.Cancel()
			return nil, ctx.Err()
		case <-w.Done():
			w.Cancel()
		}
	}
}
