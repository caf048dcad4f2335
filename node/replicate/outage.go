package replicate

import (
	"context"
	"log/slog"
	"strings"
)

// storeSilent is the reason that a node whose store does not answer gives. A replication may reach this node's own
// databases by its address, so that it cannot be told by the URL which node that is.
const storeSilent = "The store is unable to service this request at the moment."

// storeAway reports whether this node's store does not answer.
func (o *Options) storeAway(ctx context.Context) bool {
	return o.StoreAway != nil && o.StoreAway(ctx)
}

// storeLevel returns the level at which a failure of the store is logged.
func (o *Options) storeLevel(ctx context.Context) slog.Level {
	if o.storeAway(ctx) {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// level returns the level at which a failure of the run is logged: the usual one, unless it is this node's store that
// does not answer, from or to which all replications fail at once.
func (r *run) level(ctx context.Context, usual slog.Level, reason string) slog.Level {
	local := r.spec != nil && r.spec.Source.Local != "" && r.spec.Target.Local != ""
	if (local || strings.Contains(reason, storeSilent)) && r.m.o.storeAway(ctx) {
		return slog.LevelDebug
	}
	return usual
}
