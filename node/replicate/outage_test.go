package replicate

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/node/replicate/couch"
	"github.com/divandb/divan/node/replicate/spec"
)

// While the store does not answer, and shortly after, only what fails because of that is logged for developers.
func TestLevel(t *testing.T) {
	const silent = "The store is silent."
	away := true
	o := &Options{StoreAway: func(context.Context) bool { return away }, StoreSilent: silent}
	within := &spec.Spec{Source: spec.Endpoint{Local: "a"}, Target: spec.Endpoint{Local: "b"}}
	outside := &spec.Spec{Source: spec.Endpoint{Local: "a"}}
	for _, c := range []struct {
		spec   *spec.Spec
		reason string
		quiet  bool
	}{
		{within, "http_request_failed: GET a: status 503, service unavailable: " + silent, true},
		{outside, "http_request_failed: GET http://b/a: status 503, service unavailable: " + silent, true},
		{nil, "Could not open source database `a`: status 503, service unavailable: " + silent, true},
		{within, "http_request_failed: GET a/_changes: " + couch.CutOff, true},
		{outside, "http_request_failed: GET http://b/a/_changes: " + couch.CutOff, false},
		{within, "db_not_found: could not open a", false},
		{within, "changes_reader_died: status 403, forbidden: no", false},
		{nil, "Couldn't open document `_design/f` from source database `a`: not_found", false},
	} {
		r := &run{m: &Manager{o: *o}, spec: c.spec}
		if got := r.level(t.Context(), slog.LevelError, c.reason); (got == slog.LevelDebug) != c.quiet {
			t.Errorf("%s is logged at %s", c.reason, got)
		}
	}
	for err, quiet := range map[error]bool{
		kv.NewError(kv.CodeUnreachable, "no", nil):                  true,
		kv.NewError(kv.CodeTooOld, "lost", kv.ErrConnectionLost):    true,
		&layer.Error{Kind: layer.Unavailable, Reason: "not now"}:    true,
		kv.NewError(kv.CodeFileCorrupt, "damaged", nil):             false,
		kv.NewError(kv.CodeDiskFull, "full", nil):                   false,
		errors.New("another"):                                       false,
		&layer.Error{Kind: layer.NotFound, Reason: "it is deleted"}: false,
	} {
		if got := o.storeLevel(t.Context(), err); (got == slog.LevelDebug) != quiet {
			t.Errorf("%v is logged at %s", err, got)
		}
	}
	away = false
	if o.storeLevel(t.Context(), kv.NewError(kv.CodeUnreachable, "no", nil)) != slog.LevelWarn {
		t.Error("an error of a store that answers is not logged")
	}
}
