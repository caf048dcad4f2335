// Package tracing sends spans of HTTP requests, SQL statements and the transactions that they need to a collector, in
// the format of OpenTelemetry. It is off unless a collector is configured. No span contains a document, a key, the text
// of a statement or a path: names are those of endpoints and kinds of statements.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/divandb/divan/layer/kv"
)

const (
	// service is the name under which collectors show Divan's spans.
	service = "divan"
	// sendWithin bounds one delivery to the collector, and closeWithin the last one. maxWaiting bounds the spans that
	// wait for delivery; further ones are dropped.
	sendWithin  = 5 * time.Second
	closeWithin = time.Second
	maxWaiting  = 4096
	// tracesAt is the path below which collectors take spans.
	tracesAt = "/v1/traces"
)

// Options of New. All but Headers are required.
type Options struct {
	Endpoint string // URL of the collector, with or without "/v1/traces"
	Headers  map[string]string
	Sample   int // one in how many requests and statements is traced
	Node     string
	Version  string
	Log      *slog.Logger
}

// Tracer traces requests and statements. nil is a Tracer that is off. It is safe for concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	parents  propagation.TraceContext
}

// New returns a Tracer. It does not wait for the collector, which may be started later.
func New(ctx context.Context, o Options) (*Tracer, error) {
	at := strings.TrimSuffix(o.Endpoint, "/")
	if !strings.HasSuffix(at, tracesAt) {
		at += tracesAt
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(at),
		otlptracehttp.WithHeaders(o.Headers), otlptracehttp.WithTimeout(sendWithin),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{})) // spans are not worth holding up later ones
	if err != nil {
		return nil, fmt.Errorf("create the exporter: %w", err)
	}
	about := resource.NewSchemaless(attribute.String("service.name", service),
		attribute.String("service.version", o.Version), attribute.String("service.instance.id", o.Node))
	provider := sdk.NewTracerProvider(sdk.WithResource(about),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(1/float64(o.Sample)))),
		sdk.WithBatcher(&deliveries{SpanExporter: exporter, log: o.Log}, sdk.WithMaxQueueSize(maxWaiting),
			sdk.WithExportTimeout(2*sendWithin)))
	return &Tracer{provider: provider, tracer: provider.Tracer("github.com/divandb/divan")}, nil
}

// Close sends the last spans, as far as the collector takes them within a second.
func (t *Tracer) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // a collector that does not answer is no failure of the node
	return nil
}

// deliveries logs once when the collector does not take spans, and once when it does again.
type deliveries struct {
	sdk.SpanExporter
	log *slog.Logger

	mu struct {
		sync.Mutex
		failing bool
	}
}

// ExportSpans implements sdk.SpanExporter. Its error would be logged again.
func (d *deliveries) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := d.SpanExporter.ExportSpans(ctx, spans)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err != nil && !d.mu.failing:
		d.log.Warn("the collector of traces does not take spans, which are dropped", "error", err)
	case err == nil && d.mu.failing:
		d.log.Info("the collector of traces takes spans again")
	}
	d.mu.failing = err != nil
	return nil
}

// below returns a context for the work of a span, in which transactions become its children.
func (t *Tracer) below(ctx context.Context, span trace.Span) context.Context {
	ctx = trace.ContextWithSpan(ctx, span)
	if !span.IsRecording() {
		return ctx
	}
	return kv.WithTracer(ctx, t.transaction)
}

// transaction is a kv.Tracer.
func (t *Tracer) transaction(ctx context.Context, what kv.Traced) func(kv.TraceEnd) {
	_, span := t.tracer.Start(ctx, string(what))
	return func(o kv.TraceEnd) {
		if !span.IsRecording() {
			return
		}
		span.SetAttributes(attribute.Int("divan.attempts", o.Attempts))
		if o.Version > 0 {
			span.SetAttributes(attribute.Int64("divan.version", o.Version))
		}
		// What the layer refuses, such as an id that no document has, is an answer and no failure.
		var failed *kv.Error
		switch {
		case errors.As(o.Err, &failed):
			span.SetStatus(codes.Error, "not committed")
			span.SetAttributes(attribute.Int("divan.code", int(failed.Code)))
		case errors.Is(o.Err, context.Canceled) || errors.Is(o.Err, context.DeadlineExceeded):
			span.SetStatus(codes.Error, "given up")
		}
		span.End()
	}
}
