package tracing

import (
	"context"
	"regexp"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Statement is the span of an SQL statement.
type Statement struct {
	t    *Tracer
	span trace.Span
}

// parent finds the trace that a client names in a comment, as sqlcommenter writes it.
var parent = regexp.MustCompile(`traceparent='([0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2})'`)

// searched is how much of a message's end is searched for a traceparent, which sqlcommenter appends. The search is
// repeated for each statement of the message.
const searched = 64 << 10

// Statement begins the span of a statement of a kind, such as "select". text is the client's message, which is only
// searched for a traceparent.
func (t *Tracer) Statement(kind, database, text string) *Statement {
	ctx := context.Background()
	text = text[max(0, len(text)-searched):]
	if strings.Contains(text, "traceparent='") {
		if found := parent.FindStringSubmatch(text); found != nil {
			ctx = t.parents.Extract(ctx, propagation.MapCarrier{"traceparent": found[1]})
		}
	}
	_, span := t.tracer.Start(ctx, kind+" "+database, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("db.system.name", "divan"), attribute.String("db.operation.name", kind),
			attribute.String("db.namespace", database)))
	return &Statement{t, span}
}

// Within returns a context for a part of the statement's work.
func (s *Statement) Within(ctx context.Context) context.Context { return s.t.below(ctx, s.span) }

// Ended ends the span. rows is how many rows were sent.
func (s *Statement) Ended(rows int64, failed bool) {
	s.span.SetAttributes(attribute.Int64("db.response.returned_rows", rows))
	if failed {
		s.span.SetStatus(codes.Error, "the statement failed")
	}
	s.span.End()
}
