package kv

import "context"

// Tracer is told of what is done with an engine below a context: when it begins, with what it is, and by the function
// that it returns, when it has ended. That function may be nil, and may be called again. Both must not block.
type Tracer func(ctx context.Context, what Traced) (ended func(TraceEnd))

// Traced is what a Tracer is told of.
type Traced string

// What is traced.
const (
	TracedTransaction Traced = "transaction" // a Transact, with all its attempts
	TracedRead        Traced = "read"        // an answer that may take longer than a transaction
	TracedSnapshot    Traced = "snapshot"    // from Pin to Close
)

// TraceEnd describes how it has ended.
type TraceEnd struct {
	// Attempts is the number of transactions.
	Attempts int
	// Version is the commit version; 0 or less if nothing was written.
	Version int64
	Err     error
}

type tracerKey struct{}

// WithTracer returns a context below which t is told of what is done.
func WithTracer(ctx context.Context, t Tracer) context.Context {
	return context.WithValue(ctx, tracerKey{}, t)
}

// Trace tells the context's Tracer, if there is one, that something begins. It returns nil, or what to call at its end.
func Trace(ctx context.Context, what Traced) (ended func(TraceEnd)) {
	if t, ok := ctx.Value(tracerKey{}).(Tracer); ok {
		return t(ctx, what)
	}
	return nil
}
