package runtime

import (
	"context"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// NewActorSystem returns a protoactor system that logs to l what matters to an operator.
func NewActorSystem(l *slog.Logger) *actor.ActorSystem {
	logger := slog.New(demoted{l.Handler()}).With("lib", "protoactor")
	return actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return logger }),
		// protoactor keeps a goroutine for this long after a message to a stopped actor, which is common.
		actor.WithDeadLetterThrottleInterval(100*time.Millisecond))
}

// demoted lowers every record by one level: protoactor's info is for its developers, and what it logs as an error is a
// peer that hung up. What it says in turn about the connections to a node that is gone becomes debug: membership tells
// that, once.
type demoted struct{ slog.Handler }

// ofGonePeers is what protoactor logs as errors when a peer is gone.
var ofGonePeers = map[string]bool{
	"EndpointWriter lost connection":                    true,
	"EndpointWriter failed to connect":                  true,
	"EndpointWriter failed to create receive stream":    true,
	"EndpointWriter failed to send connect request":     true,
	"EndpointWriter failed to receive connect response": true,
}

const oneLevel = slog.LevelInfo - slog.LevelDebug

func (d demoted) Enabled(ctx context.Context, l slog.Level) bool {
	return d.Handler.Enabled(ctx, l-oneLevel)
}

func (d demoted) Handle(ctx context.Context, r slog.Record) error {
	r.Level -= oneLevel
	if ofGonePeers[r.Message] {
		if r.Level = slog.LevelDebug; !d.Handler.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return d.Handler.Handle(ctx, r)
}

func (d demoted) WithAttrs(a []slog.Attr) slog.Handler { return demoted{d.Handler.WithAttrs(a)} }
func (d demoted) WithGroup(n string) slog.Handler      { return demoted{d.Handler.WithGroup(n)} }
