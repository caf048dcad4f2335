package fdb_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/layer/kv/fdb"
)

// The free space of a cluster is asked for once a minute, and kept while the cluster does not answer.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := int64(50e9)
		now, failure := fdb.Status{Free: &free}, error(nil)
		asked := 0
		r := &fdb.Room{Status: func(context.Context) (fdb.Status, error) {
			asked++
			return now, failure
		}}
		if _, ok := r.FreeBytes(); ok {
			t.Error("free space is known before the cluster was asked")
		}
		if text, low := r.DiskLow(); low {
			t.Errorf("low before the cluster was asked: %s", text)
		}
		stop := r.Run()
		defer stop()
		check := func(want int64, wantText string) {
			t.Helper()
			got, ok := r.FreeBytes()
			text, low := r.DiskLow()
			if got != want || !ok || low != (wantText != "") || !strings.Contains(text, wantText) {
				t.Errorf("%d bytes, %v; low: %v, %q; want %d, %q", got, ok, low, text, want, wantText)
			}
		}
		later := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		check(50e9, "")
		failure = errors.New("no answer")
		later(3 * time.Minute)
		check(50e9, "")
		little := int64(300e6)
		now, failure = fdb.Status{Free: &little}, nil
		later(time.Minute)
		check(300e6, "300.0 MB left")
		now = fdb.Status{Free: &free, Limit: "Log server running out of space (approaching 5% limit)."}
		later(time.Minute)
		check(50e9, "Log server running out of space")
		if asked != 6 {
			t.Errorf("asked %d times in five minutes", asked)
		}
	})
}
