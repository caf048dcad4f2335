package fdb_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/kv/fdb"
)

// The free space of a cluster is that of its last answer.
func TestRoom(t *testing.T) {
	var now fdb.Status
	failure := errors.New("no answer")
	r := &fdb.Room{Status: func(context.Context) (fdb.Status, error) { return now, failure }}
	ask := func(s fdb.Status, err error) {
		now, failure = s, err
		r.Ask(t.Context())
	}
	ask(fdb.Status{}, failure)
	if _, ok := r.FreeBytes(); ok {
		t.Error("the free space is known before the cluster has answered")
	}
	if text, low := r.DiskLow(); low {
		t.Errorf("low before the cluster has answered: %s", text)
	}
	check := func(want int64, wantText string) {
		t.Helper()
		got, ok := r.FreeBytes()
		text, low := r.DiskLow()
		if got != want || !ok || low != (wantText != "") || !strings.Contains(text, wantText) {
			t.Errorf("%d bytes, %v; low: %v, %q; want %d, %q", got, ok, low, text, want, wantText)
		}
	}
	free, little := int64(50e9), int64(300e6)
	ask(fdb.Status{Free: &free}, nil)
	check(50e9, "")
	ask(fdb.Status{}, errors.New("no answer"))
	check(50e9, "")
	ask(fdb.Status{Free: &little}, nil)
	check(300e6, "300.0 MB left")
	ask(fdb.Status{Free: &free, Limit: "Log server running out of space (approaching 5% limit)."}, nil)
	check(50e9, "Log server running out of space")
}
