package node

import (
	"context"
	"fmt"
	"net/http"

	"github.com/divandb/divan/node/api"
	"github.com/divandb/divan/node/metrics"
	"github.com/divandb/divan/node/tracing"
	"github.com/divandb/divan/query"
)

// traces sends spans to a collector, if that is configured.
type traces struct {
	tracer *tracing.Tracer // nil if it is off
}

// start returns the step of Node.Start.
func (t *traces) start(n *Node) func(context.Context) error {
	c := n.cfg.Tracing
	return func(ctx context.Context) (err error) {
		if c.Endpoint == "" {
			return nil
		}
		t.tracer, err = tracing.New(ctx, tracing.Options{Endpoint: c.Endpoint, Headers: c.Headers, Sample: c.Sample,
			Node: n.name, Version: Version(), Log: n.log})
		if err != nil {
			return fmt.Errorf("tracing.endpoint: %w", err)
		}
		n.parts.add("tracing", t.tracer.Close)
		return nil
	}
}

// http traces the requests that next answers.
func (t *traces) http(next http.Handler) http.Handler { return t.tracer.HTTP(next) }

// statement returns what traces SQL statements, or nil if tracing is off.
func (t *traces) statement() func(database, statement, message string) query.Trace {
	if t.tracer == nil {
		return nil
	}
	return func(database, statement, message string) query.Trace {
		return t.tracer.Statement(metrics.StatementKind(statement), database, message)
	}
}

// answered names the span of a request.
func (t *traces) answered(ctx context.Context, r api.Observed) {
	if t.tracer != nil {
		tracing.Answered(ctx, r.Method, r.Route, r.Status)
	}
}
