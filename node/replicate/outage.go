package replicate

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/replicate/couch"
)

// storeAway reports whether this node's store does not answer.
func (o *Options) storeAway(ctx context.Context) bool {
	return o.StoreAway != nil && o.StoreAway(ctx)
}

// outlast waits until this node's store answers again, and reports whether it did not.
func (o *Options) outlast(ctx context.Context) bool {
	return o.Outlast != nil && o.Outlast(ctx)
}

// saysSilent reports whether an error is that of a node whose store does not answer.
func (o *Options) saysSilent(reason string) bool {
	return o.StoreSilent != "" && strings.Contains(reason, o.StoreSilent)
}

// storeLevel returns the level at which an error of the store is logged.
func (o *Options) storeLevel(ctx context.Context, err error) slog.Level {
	if layer.KindOf(err) == layer.Unavailable && !layer.IsDamaged(err) && o.storeAway(ctx) {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// level returns the level at which a failure of the run is logged: the usual one, unless it is this node's store that
// does not answer, from or to which all replications fail at once. What fails for another reason meanwhile, such as a
// source that was deleted, is logged as ever.
func (r *run) level(ctx context.Context, usual slog.Level, reason string) slog.Level {
	if r.ofStore(reason) && r.m.o.storeAway(ctx) {
		return slog.LevelDebug
	}
	return usual
}

// ofStore reports whether a run fails because a store does not answer. A replication may reach this node's own
// databases by its address, so that it cannot be told by the URL whether that is this node's. Within the process, an
// answer that has begun is only cut off if the store fails, or if the node logs why.
func (r *run) ofStore(reason string) bool {
	local := r.spec != nil && r.spec.Source.Local != "" && r.spec.Target.Local != ""
	return r.m.o.saysSilent(reason) || local && strings.Contains(reason, couch.CutOff)
}

// resumesAfter is the pause before a run goes on that an outage of the store has ended.
const resumesAfter = time.Second

// interrupted ends a run that has failed because this node's store does not answer, or did not a moment ago. That is no
// failure of the replication: it is not counted, and goes on when the store answers. done is false if the run has
// failed for another reason.
func (r *run) interrupted(ctx context.Context, reason string) (done bool, err error) {
	if !r.ofStore(reason) || !r.m.o.storeAway(ctx) {
		return false, nil
	}
	r.m.o.Log.Debug("a replication was interrupted by the store", "replication", r.id.String(), "error", reason)
	r.m.o.outlast(ctx)
	select {
	case <-ctx.Done():
		return true, ctx.Err()
	case <-time.After(resumesAfter): // what fails for the whole minute after an outage does not spin
	}
	if len(r.rec.History) > 0 && r.rec.History[0].Type == "started" {
		r.rec.happened("stopped", "", r.m.o.Settings().MaxHistory)
		r.m.count(func(c *Counts) { c.Stops++ })
	}
	r.job.Progress = r.rec.encode()
	return true, r.m.o.Store.GiveBack(ctx, r.job)
}

// resume gives a job back whose record could not be written during an outage of the store, once that is over, so that
// it goes on without waiting for its lease to end.
func (r *run) resume(ctx context.Context) {
	if !r.m.o.outlast(ctx) {
		return
	}
	r.job.Progress = nil // what the record has
	if err := r.m.o.Store.GiveBack(ctx, r.job); err != nil {
		r.m.o.Log.Debug("a replication could not be given back after an outage", "job", r.job.ID, "error", err)
	}
}
