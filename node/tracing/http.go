package tracing

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// methods are the methods that spans name; a client can send any.
var methods = map[string]bool{"GET": true, "HEAD": true, "POST": true, "PUT": true, "DELETE": true, "COPY": true,
	"OPTIONS": true}

// HTTP traces the requests that next answers. A request with a traceparent becomes a part of that trace.
func (t *Tracer) HTTP(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := t.parents.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		method := r.Method
		if !methods[method] {
			method = "_OTHER"
		}
		ctx, span := t.tracer.Start(ctx, method, trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("http.request.method", method)))
		defer span.End()
		next.ServeHTTP(w, r.WithContext(t.below(ctx, span)))
	})
}

// Answered names the span of a request by its endpoint, such as /{db}/_changes, and adds the status of the response; 0
// if there was none.
func Answered(ctx context.Context, method, route string, status int) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	if methods[method] {
		span.SetName(method + " " + route)
	}
	span.SetAttributes(attribute.String("http.route", route), attribute.Int("http.response.status_code", status))
	if status >= http.StatusInternalServerError || status == 0 {
		span.SetStatus(codes.Error, http.StatusText(status))
	}
}
