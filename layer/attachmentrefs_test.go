package layer_test

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// refsModel is a database with attachments that two stores write and compact at once.
type refsModel struct {
	dbs [2]*layer.Database
}

// refsStep is one action of a writer, drawn in advance.
type refsStep struct {
	kind, store, doc, name, leaf int
}

func drawRefsSteps(t *rapid.T) (steps []refsStep) {
	for range rapid.IntRange(1, 12).Draw(t, "steps") {
		steps = append(steps, refsStep{
			kind: rapid.IntRange(0, 11).Draw(t, "kind"), store: rapid.IntRange(0, 1).Draw(t, "store"),
			doc: rapid.IntRange(0, 1).Draw(t, "doc"), name: rapid.IntRange(0, 2).Draw(t, "name"),
			leaf: rapid.IntRange(0, 2).Draw(t, "leaf"),
		})
	}
	return steps
}

// do performs a step. Conflicts are expected, because others write too. Edits draw from few bodies, so that some make a
// forgotten revision again.
func (m *refsModel) do(ctx context.Context, s refsStep) error {
	d, id := m.dbs[s.store], fmt.Sprint("doc", s.doc)
	name := fmt.Sprint("a", s.name)
	answers, err := d.OpenRevs(ctx, id, nil, layer.GetOptions{Revs: true})
	if err != nil {
		return err
	}
	fresh := layer.AttachmentEdit{Name: name, Data: fmt.Appendf(nil, "%s of %s %d", name, id, s.leaf), Length: -1}
	e := layer.Edit{ID: id, Body: fmt.Appendf(nil, `{"n":%d}`, s.kind),
		Attachments: []layer.AttachmentEdit{fresh}}
	if len(answers) == 0 || s.kind == 0 {
		if len(answers) > 0 { // a branch
			e.Rev = layer.Rev{Pos: 1, ID: fmt.Sprintf("%032x", s.leaf)}
			return m.bulk(ctx, d, e, true)
		}
		return m.bulk(ctx, d, e, false)
	}
	old := answers[s.leaf%len(answers)].Doc
	if old == nil {
		return nil // purged in the meantime
	}
	e.Rev = old.Rev
	stubs := func() {
		e.Attachments = nil
		for _, a := range old.Attachments {
			e.Attachments = append(e.Attachments, layer.AttachmentEdit{Name: a.Name, Stub: true})
		}
	}
	switch s.kind {
	case 1:
		_, err := d.Purge(ctx, id, []layer.Rev{old.Rev})
		return err
	case 2, 3:
		return d.Compact(ctx)
	case 4:
		e.Deleted, e.Attachments = true, nil
		return m.bulk(ctx, d, e, false)
	case 5: // a history that skips revisions, with stubs
		stubs()
		e.Ancestors = append([]layer.Rev{{Pos: old.Rev.Pos + 1, ID: fmt.Sprintf("%032x", s.name)}}, old.Revs...)
		e.Rev = layer.Rev{Pos: old.Rev.Pos + 2, ID: fmt.Sprintf("%032x", 7+s.leaf)}
		return m.bulk(ctx, d, e, true)
	case 6: // an ancestor is replicated again, with its own data
		if len(old.Revs) < 2 {
			return nil
		}
		e.Rev, e.Ancestors = old.Revs[1], old.Revs[2:]
		return m.bulk(ctx, d, e, true)
	case 7: // a family of edits: the second one keeps what the first one adds
		next := layer.Edit{ID: id, Rev: layer.Rev{Pos: old.Rev.Pos + 2, ID: fmt.Sprintf("%032x", 20+s.leaf)},
			Attachments: []layer.AttachmentEdit{{Name: name, Stub: true}}}
		e.Ancestors = old.Revs
		e.Rev = layer.Rev{Pos: old.Rev.Pos + 1, ID: fmt.Sprintf("%032x", 10+s.leaf)}
		next.Ancestors = append([]layer.Rev{e.Rev}, old.Revs...)
		_, err := d.Bulk(ctx, []layer.Edit{e, next}, layer.WriteOptions{Replicated: true})
		return err
	case 8: // a branch from an ancestor keeps the ancestor's attachments
		if len(old.Revs) < 2 {
			return nil
		}
		e.Ancestors, e.Rev = old.Revs[1:], layer.Rev{Pos: old.Rev.Pos, ID: fmt.Sprintf("%032x", 30+s.leaf)}
		e.Attachments = []layer.AttachmentEdit{{Name: name, Stub: true}}
		return m.bulk(ctx, d, e, true)
	case 9:
		stubs()
		e.Attachments = slices.DeleteFunc(e.Attachments, func(a layer.AttachmentEdit) bool { return a.Name == name })
		e.Attachments = append(e.Attachments, fresh)
		return m.bulk(ctx, d, e, false)
	}
	stubs()
	return m.bulk(ctx, d, e, false)
}

// bulk writes an edit. A conflict, or a missing parent revision, is reported in the edit's own result.
func (m *refsModel) bulk(ctx context.Context, d *layer.Database, e layer.Edit, replicated bool) error {
	_, err := d.Bulk(ctx, []layer.Edit{e}, layer.WriteOptions{Replicated: replicated})
	return err
}

// check reads every attachment of every leaf, compacts, and checks that nothing else is stored.
func (m *refsModel) check(t *rapid.T, ctx context.Context) {
	wanted := map[[16]byte]bool{}
	for i := range 2 {
		id := fmt.Sprint("doc", i)
		answers, err := m.dbs[i].OpenRevs(ctx, id, nil, layer.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, answer := range answers {
			if answer.Doc == nil {
				t.Fatalf("%s: leaf %v has no body", id, answer.Rev)
			}
			for _, a := range answer.Doc.Attachments {
				wanted[a.ID] = true
				r, err := m.dbs[i].OpenAttachment(ctx, id, a, 0, -1)
				if err != nil {
					t.Fatal(err)
				}
				data, err := io.ReadAll(r)
				sum := md5.Sum(data)
				if digest := "md5-" + base64.StdEncoding.EncodeToString(sum[:]); err != nil || digest != a.Digest {
					t.Fatalf("%s %v: attachment %s is %q, %v", id, answer.Rev, a.Name, data, err)
				}
			}
		}
	}
	before, err := m.dbs[0].Info(ctx)
	if err == nil {
		err = m.dbs[0].Compact(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	after, err := m.dbs[0].Info(ctx)
	if err != nil || after.ActiveSize != before.ActiveSize || after.ExternalSize != before.ExternalSize ||
		after.FileSize != after.ActiveSize || before.FileSize < before.ActiveSize {
		t.Fatalf("%+v after compaction, %+v before; %v", after, before, err)
	}
	stored, err := layer.StoredAttachments(ctx, m.dbs[0])
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(stored, wanted) {
		t.Fatalf("%d attachments are stored after compaction, leaves have %d", len(stored), len(wanted))
	}
}

// Writers and compactions of two stores work at once on documents that share attachments among their revisions, also on
// bodies of a store of format 3. No leaf loses an attachment, and no attachment without a leaf stays.
func TestAttachmentRefs_model(t *testing.T) {
	below := mustEngine(t)
	e := faultkv.New(below, faultkv.Options{Seed: 5,
		Rates: faultkv.Rates{Conflict: 0.03, UnknownLost: 0.01, UnknownCommitted: 0.01}})
	var stores [2]*layer.Store
	for i := range stores {
		var err error
		if stores[i], err = layer.Open(t.Context(), e, layer.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, s := range stores {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		checkStore(t, below)
	})
	defer layer.LookRows(2)()
	var n atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		m := &refsModel{}
		var err error
		db := fmt.Sprint("db", n.Add(1))
		if m.dbs[0], err = stores[0].Create(ctx, db, layer.CreateOptions{}); err == nil {
			m.dbs[1], err = stores[1].Database(ctx, db)
		}
		if err == nil {
			err = m.dbs[0].SetRevsLimit(ctx, rapid.SampledFrom([]int{1000, 3}).Draw(t, "limit"))
		}
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 3).Draw(t, "rounds") {
			m.round(t, ctx)
			if rapid.Bool().Draw(t, "old") {
				if err := layer.ForgetRefs(ctx, m.dbs[0]); err != nil {
					t.Fatal(err)
				}
				continue
			}
			m.check(t, ctx)
		}
		m.check(t, ctx)
	})
	if lines := verifyAll(t, stores[0], true); len(lines) > 0 {
		t.Errorf("Verify says:\n%s", strings.Join(lines, "\n"))
	}
}

// round runs some writers at once.
func (m *refsModel) round(t *rapid.T, ctx context.Context) {
	var writers sync.WaitGroup
	var failed [3]error
	for w := range failed {
		steps := drawRefsSteps(t)
		writers.Go(func() {
			for _, s := range steps {
				if failed[w] = m.do(ctx, s); failed[w] != nil {
					return
				}
			}
		})
	}
	writers.Wait()
	for _, err := range failed {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Compacting a document with an attachment and many revisions takes time proportional to its revisions, whether or not
// its bodies are counted.
func TestCompact_sharedAttachment(t *testing.T) {
	oneGoroutine(t)
	for name, old := range map[string]bool{"counted": false, "of format 3": true} {
		t.Run(name, func(t *testing.T) {
			e := &costEngine{Engine: mustEngine(t)}
			s := mustStore(t, e, layer.Options{})
			rows := func(db string, revisions int) int64 {
				d := mustCreate(t, s, db, layer.CreateOptions{})
				r := put(t, d, `{"_id":"a","_attachments":{"keep":{"data":"aGVsbG8="},"drop":{"data":"aGVsbG8="}}}`)
				for range revisions {
					r = put(t, d, `{"_id":"a","_rev":"`+r.String()+`","_attachments":{"keep":{"stub":true}}}`)
				}
				if old {
					if err := layer.ForgetRefs(t.Context(), d); err != nil {
						t.Fatal(err)
					}
				}
				e.forget()
				if err := d.Compact(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n, err := layer.StoredAttachments(t.Context(), d); err != nil || len(n) != 1 {
					t.Fatalf("%d attachments, %v", len(n), err)
				}
				return e.rows.Load() + e.gets.Load()
			}
			few, many := rows("few", 300), rows("many", 1200)
			if many > 6*few && !faultkv.Enabled() { // failed attempts have read too
				t.Errorf("%d reads for 300 revisions, %d for 1200", few, many)
			}
		})
	}
}
