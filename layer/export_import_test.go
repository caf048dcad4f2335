package layer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// fullDatabase returns a database with everything that an export contains: conflicts, deletions, histories, attachments
// shared between leaves, large bodies, _local documents, design documents, several shard maps.
func fullDatabase(tb testing.TB, s *layer.Store) *layer.Database {
	tb.Helper()
	d := mustCreate(tb, s, "source", layer.CreateOptions{Shards: 2, Security: []byte(`{"admins":{"names":["x"]}}`)})
	if err := d.SetRevsLimit(tb.Context(), 7); err != nil {
		tb.Fatal(err)
	}
	for i := range 30 {
		r := put(tb, d, fmt.Sprintf(`{"_id":"doc%02d","v":1}`, i))
		for range i % 10 {
			r = put(tb, d, fmt.Sprintf(`{"_id":"doc%02d","_rev":"%s","v":%d}`, i, r, i))
		}
		if i%7 == 3 {
			put(tb, d, fmt.Sprintf(`{"_id":"doc%02d","_rev":"%s","_deleted":true,"why":"x"}`, i, r))
		}
		if i == 15 {
			if _, err := d.Reshard(tb.Context(), 3); err != nil {
				tb.Fatal(err)
			}
		}
	}
	for _, leaf := range []string{"a", "b", "c"} {
		push(tb, d, `{"_id":"conflict","leaf":"`+leaf+`","_revisions":{"start":3,"ids":["`+leaf+`","q","p"]}}`)
	}
	push(tb, d, `{"_id":"conflict","_deleted":true,"_revisions":{"start":4,"ids":["z","c","q","p"]}}`)
	put(tb, d, `{"_id":"large","b":"`+strings.Repeat("x", 300_000)+`"}`)
	u, err := d.Upload(tb.Context(), "att", strings.NewReader(strings.Repeat("y", 1_200_000)), -1, "")
	if err != nil {
		tb.Fatal(err)
	}
	r, err := d.Put(tb.Context(),
		layer.Edit{ID: "att",
			Attachments: []layer.AttachmentEdit{{Name: "big", Upload: u}, {Name: "small", Data: []byte("hello")}}},
		layer.WriteOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	put(tb, d, `{"_id":"att","_rev":"`+r.String()+`","_attachments":{"big":{"stub":true},"small":{"stub":true}}}`)
	put(tb, d, `{"_id":"_design/v","refuse":"bad"}`)
	for _, id := range []string{"purged", "conflict"} {
		r := put(tb, d, `{"_id":"purged"}`)
		if id == "conflict" {
			r = rev(tb, "3-a")
		}
		if purged, err := d.Purge(tb.Context(), id, []layer.Rev{r}); err != nil || len(purged) != 1 {
			tb.Fatal(purged, err)
		}
	}
	if _, err := d.PutLocal(tb.Context(),
		edit(tb, `{"_id":"_local/large","b":"`+strings.Repeat("z", 250_000)+`"}`)); err != nil {
		tb.Fatal(err)
	}
	if _, err := d.PutLocal(tb.Context(), edit(tb, `{"_id":"_local/check","_rev":"0-4","at":1}`)); err != nil {
		tb.Fatal(err)
	}
	return d
}

// describeDatabase renders everything that a user can see of a database.
func describeDatabase(tb testing.TB, d *layer.Database) string {
	tb.Helper()
	var b strings.Builder
	pass, err := d.Changes(tb.Context(), layer.ChangesOptions{Limit: -1, AllLeaves: true})
	if err != nil {
		tb.Fatal(err)
	}
	for c, err := range pass.Rows {
		if err != nil {
			tb.Fatal(err)
		}
		fmt.Fprintln(&b, c.Seq, c.Shard, c.ID, c.Leaves, c.Deleted)
		answers, err := d.OpenRevs(tb.Context(), c.ID, nil, layer.GetOptions{Revs: true})
		if err != nil {
			tb.Fatal(err)
		}
		for _, a := range answers {
			fmt.Fprintln(&b, string(a.Doc.AppendJSON(nil)))
			for _, att := range a.Doc.Attachments {
				r, err := d.OpenAttachment(tb.Context(), c.ID, att, 0, -1)
				if err != nil {
					tb.Fatal(err)
				}
				data, err := io.ReadAll(r)
				if err != nil {
					tb.Fatal(err)
				}
				fmt.Fprintf(&b, "%s %d %x\n", att.Name, len(data), data[:min(len(data), 20)])
			}
		}
	}
	locals, _ := allDocs(tb, d, layer.AllDocsOptions{Only: layer.LocalOnly, IncludeDocs: true})
	live, res := allDocs(tb, d, layer.AllDocsOptions{})
	fmt.Fprintln(&b, locals, live, res.TotalRows, res.UpdateSeq)
	security, err := d.Security(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	limit, err := d.RevsLimit(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	maps, err := d.ShardMaps(tb.Context(), layer.Seq{})
	if err != nil {
		tb.Fatal(err)
	}
	fmt.Fprintln(&b, string(security), limit, maps)
	if limit, err = d.PurgesLimit(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	fmt.Fprintln(&b, limit)
	for info, err := range d.Purges(tb.Context()) {
		if err != nil {
			tb.Fatal(err)
		}
		fmt.Fprintln(&b, info)
	}
	info, err := d.Info(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	fmt.Fprintln(&b, info.UUID, info.Partitioned, info.DocCount, info.DocDelCount, info.PurgeSeq, info.UpdateSeq,
		info.Shards)
	return b.String()
}

func export(tb testing.TB, d *layer.Database) []byte {
	tb.Helper()
	var file bytes.Buffer
	if err := d.Export(tb.Context(), &file, nil); err != nil {
		tb.Fatal(err)
	}
	return file.Bytes()
}

// C8: a database that moves to another store keeps its sequences and continues with the next incarnation. Its consumers
// continue from their old sequences.
func TestExport_relocation(t *testing.T) {
	oneGoroutine(t)
	o := layer.Options{Validator: &wordValidator{}}
	source := fullDatabase(t, mustStore(t, mustEngine(t), o))
	file := export(t, source)
	target := mustStore(t, mustEngine(t), o)
	d, err := target.Import(t.Context(), "moved", bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := describeDatabase(t, d), describeDatabase(t, source); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	before, err := source.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	after, err := d.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if after.UUID != before.UUID || after.Incarnation != before.Incarnation+1 || after.DocCount != before.DocCount ||
		after.DocDelCount != before.DocDelCount || after.UpdateSeq != before.UpdateSeq {
		t.Errorf("%+v became %+v", before, after)
	}
	// A consumer in the middle of the feed continues with what it has not seen, followed by new changes, each once.
	rows, _ := feedOf(t, source, layer.ChangesOptions{})
	_, half := feedOf(t, source, layer.ChangesOptions{Limit: 10})
	put(t, d, `{"_id":"new"}`)
	doc, err := d.Get(t.Context(), "large", layer.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, d, `{"_id":"large","_rev":"`+doc.Rev.String()+`"}`)
	rest, pass := feedOf(t, d, layer.ChangesOptions{Since: half.LastSeq()})
	var want1 []string
	for _, row := range rows[10:] {
		if !strings.HasPrefix(row, "large ") {
			want1 = append(want1, row)
		}
	}
	want(t, rest, append(want1, "new 1", "large 2")...)
	if pass.LastSeq().Incarnation != before.Incarnation+1 {
		t.Errorf("new sequences are like %s", pass.LastSeq())
	}
	_, err = d.Put(t.Context(), edit(t, `{"_id":"x","x":"bad"}`), layer.WriteOptions{User: &layer.UserCtx{}})
	wantKind(t, err, layer.Forbidden)
	if err := d.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Reshard(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	put(t, d, `{"_id":"after"}`)
	// And on to a third store.
	if _, err := target.Import(t.Context(), "again", bytes.NewReader(export(t, d))); err != nil {
		t.Fatal(err)
	}
	_, err = target.Import(t.Context(), "moved", bytes.NewReader(file))
	wantKind(t, err, layer.Exists)
}

// A damaged, truncated or foreign file is refused before anything is written.
func TestImport_refuses(t *testing.T) {
	e := mustEngine(t)
	s := mustStore(t, e, layer.Options{})
	d := mustCreate(t, s, "source", layer.CreateOptions{})
	put(t, d, `{"_id":"a","v":"some text"}`)
	file := export(t, d)
	before := len(dumpOf(t, e))
	refuse := func(what string, file []byte) {
		t.Helper()
		_, err := s.Import(t.Context(), "target", bytes.NewReader(file))
		if layer.KindOf(err) != layer.Invalid {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := layer.ReadExport(bytes.NewReader(file)); !errors.Is(err, layer.ErrExport) {
			t.Errorf("%s: read as complete: %v", what, err)
		}
	}
	for i := range file {
		refuse(fmt.Sprintf("byte %d flipped", i), append(append(bytes.Clone(file[:i]), file[i]^1), file[i+1:]...))
		refuse(fmt.Sprintf("cut at %d", i), file[:i])
	}
	refuse("two files", append(bytes.Clone(file), file...))
	refuse("text", []byte("hello, world, this is text"))
	if after := len(dumpOf(t, e)); after != before {
		t.Errorf("%d keys became %d", before, after)
	}
}

// cutWriter fails after a number of bytes.
type cutWriter struct {
	bytes.Buffer
	left int
}

var errCut = errors.New("the connection was cut")

func (w *cutWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		n, _ := w.Buffer.Write(p[:w.left])
		w.left = 0
		return n, errCut
	}
	w.left -= len(p)
	return w.Buffer.Write(p)
}

// An export that is cut off again and again, while the database changes and documents are purged, is continued until it
// is complete, and contains the state at its end.
func TestExport_continued(t *testing.T) {
	oneGoroutine(t)
	s := mustStore(t, mustEngine(t), layer.Options{})
	d := fullDatabase(t, s)
	var file []byte
	var from *layer.ExportPosition
	cuts := 0
	for step := 1; ; step++ {
		w := &cutWriter{left: 400 * step * step}
		err := d.Export(t.Context(), w, from)
		file = append(file, w.Bytes()...)
		if err == nil {
			break
		}
		if !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		cuts++
		x, err := layer.ReadExport(bytes.NewReader(file))
		if !errors.Is(err, layer.ErrExport) {
			t.Fatalf("a cut file is complete: %v", err)
		}
		p := x.Position
		if from = nil; p.Records > 0 {
			again, err := layer.ParseExportPosition(p.String())
			if err != nil {
				t.Fatal(err)
			}
			from = &again
		}
		file = file[:p.Offset]
		put(t, d, fmt.Sprintf(`{"_id":"meanwhile%d"}`, step))
		if step%4 == 0 {
			id := fmt.Sprintf("meanwhile%d", step-2)
			if _, err := d.Purge(t.Context(), id, leafRevs(t, d, id)); err != nil {
				t.Fatal(err)
			}
		}
		if step%3 == 0 {
			if _, err := d.PutLocal(t.Context(), edit(t, fmt.Sprintf(`{"_id":"_local/l%d"}`, step))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if cuts < 10 {
		t.Fatalf("only %d cuts", cuts)
	}
	moved, err := s.Import(t.Context(), "moved", bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := describeDatabase(t, moved), describeDatabase(t, d); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}

// An export stitched from transactions that end early, while writers write, contains the state at its end, also after
// an import with faults.
func TestExport_stitched(t *testing.T) {
	s, _ := mustFaulty(t,
		faultkv.Options{Rates: faultkv.Rates{TooOld: 0.01, UnknownLost: 0.05, UnknownCommitted: 0.05, Conflict: 0.05}})
	d := fullDatabase(t, s)
	var writers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	writers.Go(func() {
		var r layer.Rev
		for i := 0; ctx.Err() == nil && i < 200; i++ {
			var err error
			if r, err = d.Put(t.Context(), layer.Edit{ID: "busy", Rev: r, Body: []byte("{}")},
				layer.WriteOptions{}); err != nil {
				t.Error(err)
				return
			}
			if _, err := d.Put(t.Context(), layer.Edit{ID: fmt.Sprintf("w%d", i), Body: []byte("{}")},
				layer.WriteOptions{}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	during := export(t, d)
	stop()
	writers.Wait()
	if _, err := s.Import(t.Context(), "during", bytes.NewReader(during)); err != nil {
		t.Fatal(err)
	}
	moved, err := s.Import(t.Context(), "moved", bytes.NewReader(export(t, d)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := describeDatabase(t, moved), describeDatabase(t, d); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}

// The partial import of a dead node is swept.
func TestImport_swept(t *testing.T) {
	e := mustEngine(t)
	s := mustStore(t, e, layer.Options{})
	file := export(t, fullDatabase(t, s))
	before := len(dumpOf(t, e))
	if err := layer.ImportAbandoned(t.Context(), s, bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	if after := len(dumpOf(t, e)); after <= before {
		t.Fatal("nothing was imported")
	}
	if err := layer.SweepImports(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if after := len(dumpOf(t, e)); after != before {
		t.Errorf("%d keys before, %d after the sweep", before, after)
	}
}

// secondPass fails, or calls a function, when the file is read for the second time.
type secondPass struct {
	*bytes.Reader
	do func() error
}

func (r *secondPass) Seek(offset int64, whence int) (int64, error) {
	n, err := r.Reader.Seek(offset, whence)
	do := r.do
	r.do = nil
	r.Reader = bytes.NewReader(nil)
	if doErr := do(); doErr != nil {
		return 0, doErr
	}
	return n, err
}

// An import that fails after it has begun reports that, and leaves nothing behind.
func TestImport_fails(t *testing.T) {
	e := mustEngine(t)
	s := mustStore(t, e, layer.Options{})
	file := export(t, fullDatabase(t, s))
	before := len(dumpOf(t, e))
	for name, c := range map[string]struct {
		r    io.ReadSeeker
		want error
	}{
		"the file cannot be read again": {&secondPass{bytes.NewReader(file), func() error { return errCut }}, errCut},
		"the file has shrunk": {&secondPass{bytes.NewReader(file), func() error {
			return nil
		}}, layer.ErrExport},
	} {
		_, err := s.Import(t.Context(), "target", c.r)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.Database(t.Context(), "target"); layer.KindOf(err) != layer.NotFound {
			t.Errorf("%s: the database is there: %v", name, err)
		}
	}
	if after := len(dumpOf(t, e)); after != before {
		t.Errorf("%d keys became %d", before, after)
	}
	taken := &takenMeanwhile{Reader: bytes.NewReader(file), take: func() {
		mustCreate(t, s, "target", layer.CreateOptions{})
	}}
	_, err := s.Import(t.Context(), "target", taken)
	wantKind(t, err, layer.Exists)
	d, err := s.Database(t.Context(), "target")
	if err != nil {
		t.Fatal(err)
	}
	if rows, _ := feedOf(t, d, layer.ChangesOptions{}); len(rows) != 0 {
		t.Errorf("the other's database has %v", rows)
	}
}

// takenMeanwhile lets another client create the database while the file is read for the second time.
type takenMeanwhile struct {
	*bytes.Reader
	take   func()
	seeked bool
}

func (r *takenMeanwhile) Seek(offset int64, whence int) (int64, error) {
	r.seeked = true
	return r.Reader.Seek(offset, whence)
}

func (r *takenMeanwhile) Read(p []byte) (int, error) {
	if r.seeked && r.take != nil {
		r.take()
		r.take = nil
	}
	return r.Reader.Read(p)
}
