package replicate

import (
	"context"
	"log/slog"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/replicate/couch"
)

// storeAway reports whether this node's store does not answer.
func (o *Options) storeAway(ctx context.Context) bool {
	return o.StoreAway != nil && o.StoreAway(ctx)
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
	silent := r.m.o.StoreSilent
	local := r.spec != nil && r.spec.Source.Local != "" && r.spec.Target.Local != ""
	return silent != "" && strings.Contains(reason, silent) || local && strings.Contains(reason, couch.CutOff)
}
