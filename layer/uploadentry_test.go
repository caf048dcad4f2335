package layer_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// An upload that takes hours is not swept, neither while its data arrives nor while it waits for its document.
func TestUpload_takesHours(t *testing.T) {
	e := mustEngine(t)
	s := mustStore(t, e, layer.Options{})
	other := mustStore(t, e, layer.Options{}) // another node's, which sweeps too
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	hours := 0
	hourPasses := func() {
		t.Helper()
		hours++
		after := time.Duration(hours) * time.Hour
		// in the first minute of the hour the other one may be first
		for _, sweeper := range []*layer.Store{other, s} {
			if err := layer.SweepStore(t.Context(), sweeper, after); err != nil {
				t.Fatal(err)
			}
			if err := layer.RenewUploads(t.Context(), s, after); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context()) // as in a request
	defer cancel()
	waiting, err := d.Upload(ctx, "doc", strings.NewReader("hello"), 5, "")
	if err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	type result struct {
		u   *layer.Upload
		err error
	}
	ended := make(chan result, 1)
	go func() {
		u, err := d.Upload(ctx, "doc", r, -1, "")
		r.CloseWithError(err)
		ended <- result{u, err}
	}()
	for range 4 { // each is more than one transaction stores
		if _, err := w.Write(bytes.Repeat([]byte("x"), 1_000_000)); err != nil {
			t.Fatal(err)
		}
		hourPasses()
	}
	w.Close()
	slow := <-ended
	if slow.err != nil {
		t.Fatal(slow.err)
	}
	hourPasses()
	hourPasses()
	_, err = d.Put(ctx, layer.Edit{ID: "doc", Attachments: []layer.AttachmentEdit{
		{Name: "waiting", Upload: waiting}, {Name: "slow", Upload: slow.u},
	}}, layer.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // data that a document uses is not swept
		hourPasses()
	}
	if got := readAttachment(t, d, "doc", "waiting", 0, -1); string(got) != "hello" {
		t.Errorf("%q", got)
	}
	if got := readAttachment(t, d, "doc", "slow", 0, -1); len(got) != 4_000_000 {
		t.Errorf("%d bytes", len(got))
	}
}

// An upload whose request has ended is swept, even if its node is alive.
func TestUpload_orphan(t *testing.T) {
	e := mustEngine(t)
	s := mustStore(t, e, layer.Options{})
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	for i := range 250 { // more than one transaction can sweep
		request := t.Context()
		if i%2 == 0 {
			request = ctx
		}
		if _, err := d.Upload(request, fmt.Sprint("doc", i), strings.NewReader("x"), 1, ""); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	for hours := range 4 {
		// The work after the end of a request runs on its own goroutine, possibly after the first renewal.
		if err := layer.RenewUploads(t.Context(), s, time.Duration(hours)*time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := layer.SweepStore(t.Context(), s, time.Duration(hours)*time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if n := countKeys(t, e, "attachments"); n != 125 {
		t.Errorf("%d uploads are left, want those of the unfinished request", n)
	}
}

// A sweep continues after a database in which it fails.
func TestSweep_pastBroken(t *testing.T) {
	e := mustEngine(t)
	s := mustStore(t, e, layer.Options{})
	var broken []byte
	for _, name := range []string{"a", "b", "c"} {
		d := mustCreate(t, s, name, layer.CreateOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := d.Upload(ctx, "doc", strings.NewReader("x"), 1, ""); err != nil {
			t.Fatal(err)
		}
		cancel()
		if name == "b" {
			broken = tuple.Tuple{int64(keyspace.Data), prefixesOf(t, e)["b"], int64(keyspace.Uploads), int64(0),
				"no upload"}.Pack()
		}
	}
	change := func(fn func(tx kv.Transaction)) {
		t.Helper()
		if _, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			fn(tx)
			return struct{}{}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	change(func(tx kv.Transaction) { tx.Set(broken, nil) })
	if err := layer.SweepStore(t.Context(), s, 3*time.Hour); err == nil ||
		!strings.Contains(err.Error(), "database b") {
		t.Errorf("the sweep says %v", err)
	}
	if n := countKeys(t, e, "attachments"); n != 1 {
		t.Errorf("%d uploads are left, want that of the broken database", n)
	}
	change(func(tx kv.Transaction) { tx.Clear(broken) })
}
