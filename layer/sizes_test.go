package layer_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
)

// The sizes of a database are those of its leaves, whatever superseded revisions there are besides. Compaction makes
// FileSize equal to ActiveSize, and changes nothing else.
func TestInfo_sizes(t *testing.T) {
	d := mustDatabase(t)
	info := func() layer.Info {
		t.Helper()
		i, err := d.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	data := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a", 1000)))
	r := put(t, d, `{"_id":"a","n":100,"_attachments":{"f":{"data":"`+data+`"}}}`)
	first := info()
	if first.ActiveSize != first.FileSize || first.ActiveSize < 1000 || first.ActiveSize > 1200 {
		t.Fatalf("%+v", first)
	}
	for i := range 20 {
		r = put(t, d, fmt.Sprintf(`{"_id":"a","_rev":%q,"n":%d,"_attachments":{"f":{"stub":true}}}`, r, 101+i))
	}
	if now := info(); now.ActiveSize != first.ActiveSize || now.ExternalSize != first.ExternalSize ||
		now.FileSize <= first.FileSize+20*50 || now.FileSize > first.FileSize+20*120 {
		t.Errorf("after updates %+v, before %+v", now, first)
	}
	r = put(t, d, fmt.Sprintf(`{"_id":"a","_rev":%q,"n":200}`, r)) // without its attachment
	without := info()
	if without.ActiveSize >= 100 || without.FileSize < 2000 {
		t.Errorf("without the attachment %+v", without)
	}
	// A replicated branch of the superseded revision that keeps the attachment.
	push(t, d, `{"_id":"b","_attachments":{"f":{"data":"`+data+`"}},"_revisions":{"start":1,"ids":["a"]}}`)
	push(t, d, `{"_id":"b","_revisions":{"start":2,"ids":["b","a"]}}`)
	if now := info(); now.ActiveSize >= 200 {
		t.Errorf("a successor without the attachment: %+v", now)
	}
	push(t, d, `{"_id":"b","_attachments":{"f":{"stub":true,"revpos":1}},"_revisions":{"start":2,"ids":["c","a"]}}`)
	if now := info(); now.ActiveSize < 1000 {
		t.Errorf("a branch that keeps the attachment: %+v", now)
	}
	// Another branch has it too, so that the first one can go.
	push(t, d, `{"_id":"b","_attachments":{"f":{"stub":true,"revpos":1}},"_revisions":{"start":2,"ids":["d","a"]}}`)
	put(t, d, `{"_id":"b","_rev":"2-c","_deleted":true}`)
	if now := info(); now.ActiveSize < 1000 {
		t.Errorf("the other branch has the attachment: %+v", now)
	}
	if _, err := d.Purge(t.Context(), "b", []layer.Rev{rev(t, "2-d")}); err != nil {
		t.Fatal(err)
	}
	before := info()
	if before.ActiveSize >= 300 || before.FileSize < 2000 {
		t.Errorf("after the purge: %+v", before)
	}
	if err := d.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := info(); now.ActiveSize != before.ActiveSize || now.ExternalSize != before.ExternalSize ||
		now.FileSize != now.ActiveSize {
		t.Errorf("after compaction %+v, before %+v", now, before)
	}
	put(t, d, fmt.Sprintf(`{"_id":"a","_rev":%q,"_deleted":true}`, r))
	if now := info(); now.ActiveSize >= before.ActiveSize || now.FileSize <= now.ActiveSize {
		t.Errorf("after a deletion %+v, before %+v", now, before)
	}
}
