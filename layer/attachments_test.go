package layer_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

func readAttachment(tb testing.TB, d *layer.Database, id, name string, off, n int64) []byte {
	tb.Helper()
	doc, err := d.Get(tb.Context(), id, layer.GetOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	for _, a := range doc.Attachments {
		if a.Name != name {
			continue
		}
		r, err := d.OpenAttachment(tb.Context(), id, a, off, n)
		if err != nil {
			tb.Fatal(err)
		}
		defer r.Close()
		data, err := io.ReadAll(r)
		if err != nil {
			tb.Fatal(err)
		}
		return data
	}
	tb.Fatalf("%s has no attachment %s", id, name)
	return nil
}

func TestAttachments_inline(t *testing.T) {
	d := mustDatabase(t)
	r := put(t, d,
		`{"_id":"a","_attachments":{"x.txt":{"content_type":"text/plain","data":"aGVsbG8="},"y":{"data":""}}}`)
	const digest = "md5-XUFAKrxLKna5cZ2REBfFkg=="
	want := `{"_id":"a","_rev":"` + r.String() +
		`","_attachments":{"x.txt":{"content_type":"text/plain","revpos":1,"digest":"` + digest +
		`","length":5,"stub":true},"y":{"content_type":"application/octet-stream","revpos":1,"digest":"md5-1B2M2Y8AsgTpgAmY7PhCfg==","length":0,"stub":true}}}`
	if got := get(t, d, "a", layer.GetOptions{}); got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	if got := readAttachment(t, d, "a", "x.txt", 1, 3); string(got) != "ell" {
		t.Fatalf("%q", got)
	}
	// One is kept by its stub. The other is not named, so it is dropped.
	r2 := put(t, d,
		`{"_id":"a","_rev":"`+r.String()+`","_attachments":{"x.txt":{"stub":true,"revpos":1,"digest":"`+digest+`"}}}`)
	if got := get(t, d, "a", layer.GetOptions{}); !strings.Contains(got,
		`"x.txt":{"content_type":"text/plain","revpos":1`) || strings.Contains(got, `"y"`) {
		t.Fatal(got)
	}
	if got := readAttachment(t, d, "a", "x.txt", 0, -1); string(got) != "hello" {
		t.Fatalf("%q", got)
	}
	for _, bad := range []string{
		`{"_id":"a","_rev":"` + r2.String() + `","_attachments":{"nope":{"stub":true}}}`,
		`{"_id":"a","_rev":"` + r2.String() + `","_attachments":{"x.txt":{"stub":true,"revpos":2}}}`,
		`{"_id":"a","_rev":"` + r2.String() +
			`","_attachments":{"x.txt":{"stub":true,"digest":"md5-AAAAAAAAAAAAAAAAAAAAAA=="}}}`,
		`{"_id":"new","_attachments":{"x.txt":{"stub":true}}}`,
		`{"_id":"new","_attachments":{"x.txt":{"follows":true,"length":3}}}`,
	} {
		_, err := d.Put(t.Context(), edit(t, bad), layer.WriteOptions{})
		wantKind(t, err, layer.Invalid)
	}
	// Standalone: one is added to those of the parent, whose body stays.
	r3, err := d.Put(t.Context(),
		layer.Edit{ID: "a", Rev: r2, KeepAttachments: true,
			Attachments: []layer.AttachmentEdit{{Name: "z", ContentType: "image/png", Data: []byte{1}}}},
		layer.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = d.Put(t.Context(), layer.Edit{ID: "a", Rev: r3, KeepAttachments: true, RemoveAttachment: "x.txt"},
		layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := get(t, d, "a", layer.GetOptions{}); strings.Contains(got, "x.txt") ||
		!strings.Contains(got, `"z":{"content_type":"image/png","revpos":3`) {
		t.Fatal(got)
	}
}

func TestAttachments_upload(t *testing.T) {
	d := mustDatabase(t)
	data := make([]byte, 2_500_000)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	sum := md5.Sum(data)
	u, err := d.Upload(t.Context(), "a", bytes.NewReader(data), int64(len(data)), "")
	if err != nil {
		t.Fatal(err)
	}
	if u.Digest != "md5-"+base64.StdEncoding.EncodeToString(sum[:]) || u.Length != int64(len(data)) {
		t.Fatalf("%+v", u)
	}
	if _, err := d.Put(t.Context(), layer.Edit{ID: "b", Attachments: []layer.AttachmentEdit{{Name: "x", Upload: u}}},
		layer.WriteOptions{}); err == nil {
		t.Fatal("an upload for another document was accepted")
	}
	if _, err := d.Put(t.Context(), layer.Edit{ID: "a", Attachments: []layer.AttachmentEdit{{Name: "x", Upload: u}}},
		layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, r := range [][2]int64{{0, -1}, {0, 10}, {96_000, 96_000}, {95_999, 2}, {2_499_999, 5},
		{1_000_000, 1_200_000}, {2_500_000, -1}} {
		end := int64(len(data))
		if r[1] >= 0 {
			end = min(end, r[0]+r[1])
		}
		if got := readAttachment(t, d, "a", "x", r[0], r[1]); !bytes.Equal(got, data[r[0]:end]) {
			t.Errorf("from %d, %d bytes: got %d", r[0], r[1], len(got))
		}
	}
	// Large inline data is uploaded during the request.
	if _, err := d.Put(t.Context(),
		layer.Edit{ID: "c", Attachments: []layer.AttachmentEdit{{Name: "x", Data: data}, {Name: "y", Data: data[:10]}}},
		layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := readAttachment(t, d, "c", "x", 0, -1); !bytes.Equal(got, data) {
		t.Error("large inline data differs")
	}
}

type failingReader struct{ n int }

var errReader = errors.New("the client went away")

func (r *failingReader) Read(p []byte) (int, error) {
	if r.n -= len(p); r.n < 0 {
		return 0, errReader
	}
	return len(p), nil
}

func TestUpload_bad(t *testing.T) {
	e := mustEngine(t)
	d := mustCreate(t, mustStore(t, e, layer.Options{MaxAttachment: 2_000_000}), "db", layer.CreateOptions{})
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(make([]byte, 1_000_000))
	w.Close()
	for name, c := range map[string]struct {
		r        io.Reader
		length   int64
		encoding string
		want     layer.Kind
	}{
		"shorter":        {strings.NewReader("abc"), 4, "", layer.Invalid},
		"longer":         {strings.NewReader("abc"), 2, "", layer.Invalid},
		"too large":      {io.LimitReader(&failingReader{1 << 30}, 3_000_000), -1, "", layer.TooLarge},
		"announced":      {strings.NewReader("abc"), 3_000_000, "", layer.TooLarge},
		"not gzip":       {strings.NewReader("abc"), 3, "gzip", layer.Invalid},
		"truncated gzip": {bytes.NewReader(z.Bytes()[:z.Len()-9]), -1, "gzip", layer.Invalid},
		"encoding":       {strings.NewReader("abc"), 3, "br", layer.Invalid},
	} {
		_, err := d.Upload(t.Context(), "a", c.r, c.length, c.encoding)
		if err == nil || layer.KindOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := d.Upload(t.Context(), "a", &failingReader{1_500_000}, -1, ""); !errors.Is(err, errReader) {
		t.Error(err)
	}
	u, err := d.Upload(t.Context(), "a", &z, -1, "gzip")
	if err != nil || u.Length != 1_000_000 || u.EncodedLength >= 10_000 {
		t.Fatalf("%+v, %v", u, err)
	}
	if n := countKeys(t, e, "attachments"); n != 1 {
		t.Errorf("%d attachment chunks are stored, want the one of the valid upload", n)
	}
	if _, err := d.Put(t.Context(),
		layer.Edit{ID: "a",
			Attachments: []layer.AttachmentEdit{{Name: "x", Upload: u, Digest: "md5-AAAAAAAAAAAAAAAAAAAAAA=="}}},
		layer.WriteOptions{}); err == nil {
		t.Error("a wrong digest was accepted")
	}
	if err := layer.SweepUploads(t.Context(), d, time.Now().Add(3*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n := countKeys(t, e, "attachments"); n != 0 {
		t.Errorf("%d chunks are left after the sweep", n)
	}
	_, err = d.Put(t.Context(), layer.Edit{ID: "a", Attachments: []layer.AttachmentEdit{{Name: "x", Upload: u}}},
		layer.WriteOptions{})
	wantKind(t, err, layer.Unavailable)
}

// Compaction and purging remove the data of attachments that no leaf refers to, and no other.
func TestCompact_attachments(t *testing.T) {
	e := mustEngine(t)
	d := mustCreate(t, mustStore(t, e, layer.Options{}), "db", layer.CreateOptions{})
	r := put(t, d, `{"_id":"a","_attachments":{"keep":{"data":"aGVsbG8="},"drop":{"data":"aGVsbG8="}}}`)
	r = put(t, d, `{"_id":"a","_rev":"`+r.String()+`","_attachments":{"keep":{"stub":true}}}`)
	if n := countKeys(t, e, "attachments"); n != 2 {
		t.Fatalf("%d chunks", n)
	}
	if err := d.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := countKeys(t, e, "attachments"); n != 1 {
		t.Fatalf("%d chunks after compaction", n)
	}
	if got := readAttachment(t, d, "a", "keep", 0, -1); string(got) != "hello" {
		t.Fatalf("%q", got)
	}
	put(t, d, `{"_id":"a","_rev":"`+r.String()+`","_attachments":{"keep":{"stub":true}}}`)
	doc, err := d.Get(t.Context(), "a", layer.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if purged, err := d.Purge(t.Context(), "a", []layer.Rev{doc.Rev, r}); err != nil || len(purged) != 1 ||
		purged[0] != doc.Rev {
		t.Fatalf("%v, %v", purged, err)
	}
	if n := countKeys(t, e, "attachments") + countKeys(t, e, "documents"); n != 0 {
		t.Fatalf("%d chunks of bodies and attachments after the purge", n)
	}
	if got := get(t, d, "a", layer.GetOptions{}); got != "missing" {
		t.Fatal(got)
	}
	if err := d.Compact(t.Context()); err != nil { // the queue names bodies that no longer exist
		t.Fatal(err)
	}
	info, err := d.Info(t.Context())
	if err != nil || info.ActiveSize != 0 || info.ExternalSize != 0 || info.DocCount != 0 || info.PurgeSeq != 1 {
		t.Fatalf("%+v, %v", info, err)
	}
	put(t, d, `{"_id":"a"}`)
}

func TestPurge_branches(t *testing.T) {
	d := mustDatabase(t)
	for _, leaf := range []string{"a", "b", "c"} {
		push(t, d, `{"_id":"x","_revisions":{"start":2,"ids":["`+leaf+`","r"]}}`)
	}
	_, pass := feedOf(t, d, layer.ChangesOptions{})
	purged, err := d.Purge(t.Context(), "x", []layer.Rev{rev(t, "2-c"), rev(t, "1-r"), rev(t, "9-z")})
	if err != nil || len(purged) != 1 {
		t.Fatalf("%v, %v", purged, err)
	}
	rows, _ := feedOf(t, d, layer.ChangesOptions{AllLeaves: true, Since: pass.LastSeq()})
	want(t, rows, "x 2-b 2-a")
	if purged, err = d.Purge(t.Context(), "nope", []layer.Rev{rev(t, "2-c")}); err != nil || len(purged) != 0 {
		t.Fatalf("%v, %v", purged, err)
	}
}

// A stream that breaks off does not become an attachment, whether or not its length was announced.
func TestUpload_brokenOff(t *testing.T) {
	d := mustDatabase(t)
	for _, length := range []int64{-1, 100, 2_000_000} {
		for _, came := range []int{0, 100, 1_500_000} {
			broken := io.MultiReader(strings.NewReader(strings.Repeat("x", came)),
				iotest.ErrReader(io.ErrUnexpectedEOF))
			_, err := d.Upload(t.Context(), "a", broken, length, "")
			wantKind(t, err, layer.Invalid)
		}
	}
}

// The data of an edit that is not written is removed at once, and so is the stored part of an upload whose client
// disconnects.
func TestAttachments_discarded(t *testing.T) {
	e := mustEngine(t)
	d, err := mustStore(t, e, layer.Options{}).Create(t.Context(), "db", layer.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stored := func() (chunks int) {
		t.Helper()
		tx := e.Begin(t.Context())
		defer tx.Cancel()
		it := tx.GetRange(kv.KeyRange{Begin: []byte{}, End: []byte{0xff}}, kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			if len(it.KeyValue().Value) > 50_000 {
				chunks++
			}
		}
		if err := it.Err(); err != nil {
			t.Fatal(err)
		}
		return chunks
	}
	if _, err := d.Put(t.Context(), layer.Edit{ID: "a"}, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 2_500_000)
	u, err := d.Upload(t.Context(), "a", bytes.NewReader(data), int64(len(data)), "")
	if err != nil {
		t.Fatal(err)
	}
	if stored() == 0 {
		t.Error("nothing is stored of an upload")
	}
	// does not name the existing revision
	edit := layer.Edit{ID: "a", Attachments: []layer.AttachmentEdit{{Name: "x", Upload: u}}}
	if _, err := d.Put(t.Context(), edit, layer.WriteOptions{}); layer.KindOf(err) != layer.Conflict {
		t.Fatal(err)
	}
	if n := stored(); n != 0 {
		t.Errorf("%d chunks are left after a conflict", n)
	}
	edit.Attachments = []layer.AttachmentEdit{{Name: "x", Data: data}}
	if results, err := d.Bulk(t.Context(), []layer.Edit{edit}, layer.WriteOptions{}); err != nil ||
		layer.KindOf(results[0].Err) != layer.Conflict {
		t.Fatal(results, err)
	}
	if n := stored(); n != 0 {
		t.Errorf("%d chunks are left after a conflict of a bulk", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	sent := 0
	gone := readerFunc(func(b []byte) (int, error) {
		if sent += len(b); sent > 2_500_000 {
			cancel()
		}
		return len(b), nil
	})
	if _, err := d.Upload(ctx, "a", gone, -1, ""); err == nil {
		t.Fatal("an unfinished upload has succeeded")
	}
	if n := stored(); n != 0 {
		t.Errorf("%d chunks are left after a client disconnected", n)
	}
}

type readerFunc func(b []byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// The process that opens a store in a directory removes the uploads of the previous one, also while another process
// continues with one.
func TestUpload_left(t *testing.T) {
	e := mustEngine(t)
	d := mustCreate(t, mustStore(t, e, layer.Options{}), "db", layer.CreateOptions{})
	for i := range 150 {
		if _, err := d.Upload(t.Context(), fmt.Sprint("dead", i), strings.NewReader("x"), 1, ""); err != nil {
			t.Fatal(err)
		}
	}
	r, w := io.Pipe()
	ended := make(chan error)
	go func() {
		_, err := d.Upload(t.Context(), "alive", r, -1, "")
		ended <- err
	}()
	// It stores 960,000 bytes at a time. The rest is read after these have been stored.
	if _, err := w.Write(make([]byte, 1_000_000)); err != nil {
		t.Fatal(err)
	}
	heir, err := layer.Open(t.Context(), e, layer.Options{Owner: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := heir.Close(); err != nil {
			t.Error(err)
		}
	}()
	mine, err := heir.Database(t.Context(), "db")
	if err != nil {
		t.Fatal(err)
	}
	u, err := mine.Upload(t.Context(), "new", strings.NewReader("hello"), 5, "")
	if err != nil {
		t.Fatal(err)
	}
	for n := countKeys(t, e, "attachments"); n != 1; n = countKeys(t, e, "attachments") {
		if t.Context().Err() != nil {
			t.Fatalf("%d chunks are left", n)
		}
	}
	if _, err := w.Write(make([]byte, 920_000)); err != nil {
		t.Fatal(err)
	}
	wantKind(t, <-ended, layer.Unavailable)
	if _, err := mine.Put(t.Context(), layer.Edit{ID: "new",
		Attachments: []layer.AttachmentEdit{{Name: "x", Upload: u}}}, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := countKeys(t, e, "attachments"); n != 1 {
		t.Errorf("%d chunks are stored, want the one of the document", n)
	}
}
