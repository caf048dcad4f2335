package layer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// bodies returns what Bodies reads, as allDocs does.
func bodies(tb testing.TB, d *layer.Database, o layer.BodiesOptions) (string, error) {
	tb.Helper()
	read, ok, err := d.Bodies(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	if !ok {
		tb.Skip("the engine holds no snapshots")
	}
	defer read.Close()
	var out []string
	for {
		rows, err := read.Next()
		if err != nil && len(rows) > 0 {
			tb.Fatalf("%d rows with the error %v", len(rows), err)
		}
		if err != nil {
			if _, again := read.Next(); !errors.Is(again, err) {
				tb.Fatalf("after the error %v comes %v", err, again)
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return strings.Join(out, " "), err
		}
		for _, row := range rows {
			out = append(out, row.ID+string(row.Body))
		}
	}
}

// TestBodies compares Bodies with AllDocs, over documents of very different lengths, some of them deleted, with old
// revisions, conflicts and attachments.
func TestBodies(t *testing.T) {
	d := mustDatabase(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	var edits []layer.Edit
	var revised []string
	for i := range 1500 {
		id := fmt.Sprintf("%05d", i*7)
		switch rnd.IntN(40) {
		case 0:
			id += "\x00é"
		case 1:
			id = "_design/" + id
		}
		length := rnd.IntN(200)
		if rnd.IntN(100) == 0 {
			length = rnd.IntN(300_000)
		}
		attachments := ""
		if rnd.IntN(10) == 0 {
			attachments = `,"_attachments":{"a":{"content_type":"text/plain","data":"aGVsbG8="}}`
		}
		e := edit(t, fmt.Sprintf(`{"_id":%q,"text":%q%s}`, strings.ReplaceAll(id, "\x00", "\t"),
			strings.Repeat("x", length), attachments))
		e.ID = id
		edits = append(edits, e)
		if rnd.IntN(5) == 0 && !strings.HasPrefix(id, "_") {
			revised = append(revised, id)
		}
	}
	results, err := d.Bulk(t.Context(), edits, layer.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	revs := map[string]string{}
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.ID, r.Err)
		}
		revs[r.ID] = r.Rev.String()
	}
	edits = edits[:0]
	for i, id := range revised {
		e := edit(t, fmt.Sprintf(`{"_id":"x","_rev":%q,"again":%d,"_deleted":%t}`, revs[id], i, i%3 == 0))
		e.ID = id
		edits = append(edits, e)
	}
	if _, err := d.Bulk(t.Context(), edits, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	text := func(s string) *string { return &s }
	for _, o := range []layer.BodiesOptions{
		{Limit: -1}, {Limit: -1, WithoutDesigns: true}, {Limit: -1, NoBodies: true}, {Limit: 0}, {Limit: 1},
		{Limit: 33, WithoutDesigns: true}, {Limit: 1000, WithoutDesigns: true}, {Limit: 1200, NoBodies: true},
		{Limit: -1, Start: text("00700"), End: text("01400")}, {Limit: 10, Start: text("00701"), WithoutDesigns: true},
		{Limit: -1, Start: text("2"), End: text("1")}, {Limit: 60, Start: text("_design/"), WithoutDesigns: true},
		{Limit: 2000, WithoutDesigns: true},
	} {
		got, err := bodies(t, d, o)
		if err != nil {
			t.Fatal(err)
		}
		all := layer.AllDocsOptions{Start: o.Start, End: o.End, ExcludeEnd: true, Limit: o.Limit,
			IncludeDocs: !o.NoBodies}
		if o.WithoutDesigns {
			all.Only = layer.WithoutDesigns
		}
		want := ""
		if o.Limit != 0 {
			want, _ = allDocs(t, d, all)
		}
		if got != want {
			t.Errorf("%+v: %d bytes, want %d; they differ from %q", o, len(got), len(want), differ(got, want))
		}
	}
}

// differ returns what follows in a where a and b begin to differ.
func differ(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[max(0, n-20):min(len(a), n+40)]
}

// TestBodies_damage reads documents of which one body cannot be read, as after a block was damaged: those before it are
// returned, and then the error.
func TestBodies_damage(t *testing.T) {
	e, ok := mustEngine(t).(kv.Snapshotter)
	if !ok {
		t.Skip("the engine holds no snapshots")
	}
	damaged := &damagedBodies{Engine: e.(kv.Engine)}
	d := mustCreate(t, mustStore(t, damaged, layer.Options{}), "db", layer.CreateOptions{})
	var all []string
	for i := range 100 {
		id := fmt.Sprintf("%02d", i)
		put(t, d, `{"_id":"`+id+`","v":1}`)
		all = append(all, id+`{"v":1}`)
	}
	for _, bad := range []int{0, 15, 16, 50, 99} {
		damaged.bad = []byte(fmt.Sprintf("%02d\x00", bad))
		got, err := bodies(t, d, layer.BodiesOptions{Limit: -1})
		if want := strings.Join(all[:bad], " "); got != want || !kv.IsCode(err, kv.CodeFileCorrupt) {
			t.Errorf("with %d damaged: %d bytes, want %d; %v", bad, len(got), len(want), err)
		}
		if got, err := bodies(t, d, layer.BodiesOptions{Limit: bad}); got != strings.Join(all[:bad], " ") || err != nil {
			t.Errorf("%d documents before a damaged one: %d bytes, %v", bad, len(got), err)
		}
		if got, err := bodies(t, d, layer.BodiesOptions{Limit: -1, NoBodies: true}); len(got) != 299 || err != nil {
			t.Errorf("ids: %d bytes, %v", len(got), err)
		}
	}
}

// damagedBodies is an engine whose snapshots cannot read the bodies whose keys contain bad.
type damagedBodies struct {
	kv.Engine
	bad []byte
}

func (e *damagedBodies) OpenSnapshot(ctx context.Context) (kv.Snapshot, error) {
	s, err := e.Engine.(kv.Snapshotter).OpenSnapshot(ctx)
	return damagedSnapshot{s, e.bad}, err
}

type damagedSnapshot struct {
	kv.Snapshot
	bad []byte
}

var errDamaged = &kv.Error{Code: kv.CodeFileCorrupt}

func (s damagedSnapshot) Get(key []byte) kv.Future[[]byte] {
	if s.bad != nil && bytes.Contains(key, s.bad) {
		return failedGet{}
	}
	return s.Snapshot.Get(key)
}

func (s damagedSnapshot) GetRanges(ranges []kv.KeyRange) (kv.RangeIterator, bool) {
	it, ok := kv.GetRanges(s.Snapshot, ranges)
	return &damagedRows{RangeIterator: it, bad: s.bad}, ok
}

type failedGet struct{}

func (failedGet) Wait() ([]byte, error) { return nil, errDamaged }

type damagedRows struct {
	kv.RangeIterator
	bad []byte
	err error
}

func (r *damagedRows) Next() bool {
	if r.err != nil || !r.RangeIterator.Next() {
		return false
	}
	if r.bad != nil && bytes.Contains(r.KeyValue().Key, r.bad) {
		r.err = errDamaged
	}
	return r.err == nil
}

func (r *damagedRows) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.RangeIterator.Err()
}
