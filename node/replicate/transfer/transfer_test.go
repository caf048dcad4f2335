package transfer_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/node/replicate/couch"
	"github.com/divandb/divan/node/replicate/spec"
	"github.com/divandb/divan/node/replicate/transfer"
)

func options(t *testing.T, source, target *fake, members string) transfer.Options {
	t.Helper()
	d := spec.Standard()
	s, err := d.Parse([]byte(`{"source":"s","target":"t"` + members + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return transfer.Options{Spec: s, ID: spec.ID{Base: "id"}, Source: source, Target: target, Began: time.Now(),
		Session: strings.Repeat("a", 32)}
}

func complete(t *testing.T, source, target *fake) {
	t.Helper()
	source.mu.Lock()
	defer source.mu.Unlock()
	target.mu.Lock()
	defer target.mu.Unlock()
	for id := range source.docs {
		if target.docs[id] == nil {
			t.Errorf("%s is missing", id)
		}
	}
}

// Whatever fails now and then, every document arrives.
func TestRun_faults(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			source, target := newFake(700), newFake(0)
			source.add("_design/d")
			source.faults, target.faults = rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
			target.most = 64
			o := options(t, source, target, `,"worker_batch_size":50,"retries_per_request":20`)
			result, err := transfer.New(o).Do(t.Context(), nil)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			complete(t, source, target)
			last := gjson.GetBytes(result, "source_last_seq").Raw
			h := gjson.GetBytes(result, "history.0")
			if last != "701" || h.Get("docs_written").Int() != 701 || h.Get("recorded_seq").Raw != last {
				t.Errorf("seed %d: %s", seed, result)
			}
			if source.locals["id"] == nil || target.locals["id"] == nil {
				t.Error("no checkpoint")
			}
		})
	}
}

// A second run begins at the checkpoint, and one whose target was restored from a backup at the last common entry.
func TestRun_resumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, target := newFake(100), newFake(0)
		run := func(session string) string {
			o := options(t, source, target, "")
			o.Session = strings.Repeat(session, 32)
			result, err := transfer.New(o).Do(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return string(result)
		}
		run("a")
		backup := target.locals["id"]
		if got := run("b"); !gjson.Get(got, "no_changes").Bool() {
			t.Errorf("without changes: %s", got)
		}
		source.add("later")
		if got := run("c"); gjson.Get(got, "history.0.start_last_seq").Raw != "100" || gjson.Get(got, "history.#").Int() != 2 {
			t.Errorf("with a change: %s", got)
		}
		target.locals["id"] = backup
		delete(target.docs, "later")
		if got := run("d"); gjson.Get(got, "history.0.start_last_seq").Raw != "100" {
			t.Errorf("after a restore: %s", got)
		}
		complete(t, source, target)
	})
}

// Documents that the target refuses are counted. An error that may pass ends the run, so that they are not lost.
func TestRun_refused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, target := newFake(10), newFake(0)
		source.add("_design/d")
		target.forbid = func(id string) string {
			if id == "doc0003" || id == "_design/d" {
				return "forbidden"
			}
			return ""
		}
		result, err := transfer.New(options(t, source, target, "")).Do(t.Context(), nil)
		if h := gjson.GetBytes(result, "history.0"); err != nil || h.Get("doc_write_failures").Int() != 2 ||
			h.Get("docs_written").Int() != 9 {
			t.Errorf("%s, %v", result, err)
		}
		// One with an illegal id lets all of its request be refused; the others arrive.
		source, target = newFake(100), newFake(0)
		source.add("illegal1")
		source.add("illegal2")
		result, err = transfer.New(options(t, source, target, "")).Do(t.Context(), nil)
		if h := gjson.GetBytes(result, "history.0"); err != nil || h.Get("doc_write_failures").Int() != 2 ||
			h.Get("docs_written").Int() != 100 {
			t.Errorf("%s, %v", result, err)
		}
		target = newFake(0)
		target.forbid = func(id string) string { return map[string]string{"doc0003": "service_unavailable"}[id] }
		if _, err := transfer.New(options(t, source, target, "")).Do(t.Context(), nil); err == nil {
			t.Error("a document that the target cannot take for now was left out")
		}
		if target.locals["id"] != nil {
			t.Error("a checkpoint was recorded")
		}
	})
}

// A continuous replication copies what comes later, records checkpoints, and one more when it is stopped.
func TestRun_continuous(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, target := newFake(5), newFake(0)
		r := transfer.New(options(t, source, target, `,"continuous":true`))
		stop, ended := make(chan struct{}), make(chan error)
		go func() {
			_, err := r.Do(t.Context(), stop)
			ended <- err
		}()
		time.Sleep(time.Minute)
		source.mu.Lock()
		source.add("later")
		source.mu.Unlock()
		time.Sleep(15 * time.Second)
		complete(t, source, target)
		if got := target.checkpoint(); got != "5" {
			t.Errorf("checkpoint at %s", got)
		}
		close(stop)
		if err := <-ended; !errors.Is(err, transfer.ErrStopped) {
			t.Errorf("stopped with %v", err)
		}
		if got := target.checkpoint(); got != "6" {
			t.Errorf("last checkpoint at %s", got)
		}
	})
}

// A database that was deleted and made anew meanwhile gets no checkpoint of the old one.
func TestRun_remade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, target := newFake(5), newFake(0)
		r := transfer.New(options(t, source, target, `,"continuous":true`))
		ended := make(chan error)
		go func() {
			_, err := r.Do(t.Context(), nil)
			ended <- err
		}()
		time.Sleep(time.Second)
		target.mu.Lock()
		target.start = "2"
		target.mu.Unlock()
		var f *transfer.Failure
		if err := <-ended; !errors.As(err, &f) || f.Step != "checkpoint_commit_failure" {
			t.Errorf("%v", err)
		}
	})
}

// A revision that the source does not have at first is asked for again; then the run fails.
func TestRun_missing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, target := newFake(3), newFake(0)
		doc := source.docs["doc0001"]
		delete(source.docs, "doc0001")
		time.AfterFunc(time.Second, func() {
			source.mu.Lock()
			defer source.mu.Unlock()
			source.docs["doc0001"] = doc
		})
		if _, err := transfer.New(options(t, source, target, "")).Do(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		complete(t, source, target)
		delete(source.docs, "doc0001")
		target = newFake(0)
		if _, err := transfer.New(options(t, source, target, "")).Do(t.Context(), nil); !errors.Is(err, couch.ErrMissing) {
			t.Errorf("%v", err)
		}
	})
}

// A source whose _bulk_get fails is asked for single documents, and not again for each batch. If the connection fails
// or the source asks to come later, the run fails.
func TestRun_noBulkGet(t *testing.T) {
	for _, c := range []struct {
		why      couch.Error
		complete bool
	}{
		{couch.Error{Status: 400}, true}, {couch.Error{Status: 401}, true}, {couch.Error{Status: 403}, true},
		{couch.Error{Status: 404}, true}, {couch.Error{Status: 500}, true}, {couch.Error{Status: 501}, true},
		{couch.Error{Status: 502}, true}, {couch.Error{Status: 503}, true},
		{couch.Error{Status: 503, Wait: time.Second}, false}, {couch.Error{Status: 429}, false},
		{couch.Error{Err: io.ErrUnexpectedEOF}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			source, target := newFake(700), newFake(0)
			source.bulk = &c.why
			o := options(t, source, target, `,"worker_batch_size":50,"worker_processes":1`)
			result, err := transfer.New(o).Do(t.Context(), nil)
			if (err == nil) != c.complete || source.bulks != 1 {
				t.Errorf("%v: asked %d times, %v", &c.why, source.bulks, err)
			}
			if h := gjson.GetBytes(result, "history.0"); c.complete && (h.Get("docs_written").Int() != 700 ||
				h.Get("bulk_get_docs").Int() != 0) {
				t.Errorf("%v: %s", &c.why, result)
			}
		})
	}
}

// A continuous run asks a source again later that had no _bulk_get.
func TestRun_bulkGetAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, target := newFake(5), newFake(0)
		source.bulk = &couch.Error{Status: 404}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := transfer.New(options(t, source, target, `,"continuous":true,"worker_processes":1`)).Do(ctx, nil)
			ended <- err
		}()
		for i, want := range []int{1, 1, 2} {
			time.Sleep(6 * time.Minute)
			source.mu.Lock()
			if source.bulks != want {
				t.Errorf("asked %d times, want %d", source.bulks, want)
			}
			source.add(strings.Repeat("x", i+1))
			source.mu.Unlock()
			time.Sleep(time.Minute)
		}
		complete(t, source, target)
		cancel()
		<-ended
	})
}

// A source whose _bulk_get fails in a way that may pass, as during an outage, is soon asked again, and less often as
// long as that goes on.
func TestRun_bulkGetSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, target := newFake(0), newFake(0)
		down := &couch.Error{Status: 503}
		source.bulk = down
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := transfer.New(options(t, source, target, `,"continuous":true,"worker_processes":1`)).Do(ctx, nil)
			ended <- err
		}()
		asked := func(during time.Duration) int {
			source.mu.Lock()
			before := source.bulks
			source.mu.Unlock()
			for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(10 * time.Second) {
				source.mu.Lock()
				source.add("d" + strconv.Itoa(len(source.changes)))
				source.mu.Unlock()
			}
			source.mu.Lock()
			defer source.mu.Unlock()
			return source.bulks - before
		}
		if n := asked(5 * time.Minute); n < 3 || n > 6 {
			t.Errorf("asked %d times in five minutes", n)
		}
		if n := asked(time.Hour); n < 4 || n > 10 {
			t.Errorf("asked %d times in the next hour", n)
		}
		is := func(err error) {
			source.mu.Lock()
			defer source.mu.Unlock()
			source.bulk = err
		}
		is(nil)
		asked(10 * time.Minute)
		is(down) // the next outage begins anew
		asked(10 * time.Second)
		is(nil)
		if n := asked(time.Minute); n < 3 {
			t.Errorf("asked %d times in the minute after an outage", n)
		}
		time.Sleep(time.Minute) // the feed of a fake looks for more every ten seconds
		complete(t, source, target)
		cancel()
		<-ended
	})
}

// What the target answers to documents while _bulk_get is read is the target's fault: none is taken as written.
func TestRun_refusedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, target := newFake(1), newFake(0)
		source.docs["doc0000"] = []byte(`{"_id":"doc0000","x":"` + strings.Repeat("x", 1<<20) + `"}`)
		target.refuse = &couch.Error{Method: "POST", URL: "fake", Status: 400}
		_, err := transfer.New(options(t, source, target, "")).Do(t.Context(), nil)
		var f *transfer.Failure
		if !errors.As(err, &f) || f.Step != "bulk_docs_failed" || target.locals["id"] != nil {
			t.Errorf("%v, checkpoint %s", err, target.locals["id"])
		}
	})
}
