package layer_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

func numberedEdits(t *testing.T, from, n, step int, revs map[string]layer.Rev) (edits []layer.Edit) {
	t.Helper()
	for i := range n {
		id := fmt.Sprintf("%06d", from+i*step)
		text := fmt.Sprintf(`{"_id":%q,"n":%d}`, id, i)
		if rev, ok := revs[id]; ok {
			text = fmt.Sprintf(`{"_id":%q,"_rev":%q,"n":%d}`, id, rev, i)
		}
		edits = append(edits, edit(t, text))
	}
	return edits
}

// Documents that are written together and have adjacent ids cost a few reads in total, whether they are new, updated,
// replicated or deleted. Those with distant ids cost at most one read each.
func TestBulk_reads_together(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	e := &costEngine{Engine: mustEngine(t)}
	d := mustCreate(t, mustStore(t, e, layer.Options{}), "db", layer.CreateOptions{})
	const docs = 400
	revs := map[string]layer.Rev{}
	write := func(what string, edits []layer.Edit, o layer.WriteOptions, most int64) {
		t.Helper()
		e.forget()
		for i, res := range mustBulk(t, d, edits, o) {
			if res.Err != nil {
				t.Fatalf("%s: %s: %v", what, res.ID, res.Err)
			}
			revs[edits[i].ID] = res.Rev
		}
		n := e.gets.Load() + e.ranges.Load()
		t.Logf("%s: %d reads of a key, %d ranges of %d rows", what, e.gets.Load(), e.ranges.Load(), e.rows.Load())
		if n > most {
			t.Errorf("%s: %d reads, want %d at most", what, n, most)
		}
	}
	write("new", numberedEdits(t, 0, docs, 1, nil), layer.WriteOptions{}, 10)
	write("updates", numberedEdits(t, 0, docs, 1, revs), layer.WriteOptions{}, 10)
	var again []layer.Edit
	for i := range docs {
		again = append(again,
			replicated(t, fmt.Sprintf(`{"_id":"%06d","_revisions":{"start":5,"ids":["e","d","c","b","a"]}}`, i)))
	}
	write("replicated", again, layer.WriteOptions{Replicated: true}, 10)
	// The existing documents lie between those written now.
	write("more", numberedEdits(t, 1_000, 10*docs, 1, nil), layer.WriteOptions{}, 100)
	write("scattered", numberedEdits(t, 100_000, docs, 100, nil), layer.WriteOptions{}, 10)
	write("between scattered", numberedEdits(t, 100_050, docs, 100, nil), layer.WriteOptions{}, docs+20)
	var deletions []layer.Edit
	for i := range docs {
		id := fmt.Sprintf("%06d", 1_000+i)
		deletions = append(deletions, edit(t, fmt.Sprintf(`{"_id":%q,"_rev":%q,"_deleted":true}`, id, revs[id])))
	}
	write("deletions", deletions, layer.WriteOptions{}, 10)
	if info, err := d.Info(t.Context()); err != nil || info.DocCount != docs+9*docs+2*docs || info.DocDelCount != docs {
		t.Errorf("%+v, %v", info, err)
	}
}

// notNow is an engine that can read many ranges together, but not now, like the embedded one in a transaction with
// writes.
type notNow struct{ *costEngine }

func (e notNow) Begin(ctx context.Context) kv.Transaction {
	return notNowTransaction{e.costEngine.Begin(ctx)}
}

type notNowTransaction struct{ kv.Transaction }

func (t notNowTransaction) Snapshot() kv.Reader { return notNowReader{t.Transaction.Snapshot()} }

type notNowReader struct{ kv.Reader }

func (notNowReader) GetRanges([]kv.KeyRange) (kv.RangeIterator, bool) { return nil, false }

// After some batches with scattered ids, ranges are no longer read together, also on an engine that could otherwise
// read them together wherever they are.
func TestBulk_reads_together_brake(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	e := &costEngine{Engine: mustEngine(t)}
	d := mustCreate(t, mustStore(t, notNow{e}, layer.Options{}), "db", layer.CreateOptions{})
	edits := numberedEdits(t, 0, 4000, 1, nil)
	revs := map[string]layer.Rev{}
	for i, r := range mustBulk(t, d, edits, layer.WriteOptions{}) {
		revs[edits[i].ID] = r.Rev
	}
	ranges := make([]int64, 6)
	for i := range ranges {
		e.forget()
		mustBulk(t, d, numberedEdits(t, i, 40, 100, revs), layer.WriteOptions{})
		ranges[i] = e.ranges.Load()
	}
	if first, last := ranges[0], ranges[len(ranges)-1]; last >= first {
		t.Errorf("batches read %v ranges", ranges)
	}
}

// Rows between the documents of a batch count as read: if they are long histories, reading together stops.
func TestBulk_reads_together_bytes(t *testing.T) {
	oneGoroutine(t)
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	e := &costEngine{Engine: mustEngine(t)}
	d := mustCreate(t, mustStore(t, e, layer.Options{}), "db", layer.CreateOptions{})
	history := make([]string, 800)
	for i := range history {
		history[i] = fmt.Sprintf(`"%032x"`, len(history)-i)
	}
	const docs, between = 100, 7
	var long, edits []layer.Edit
	for i := range docs {
		for j := range between {
			long = append(long, replicated(t, fmt.Sprintf(`{"_id":"%06d-%d","_revisions":{"start":%d,"ids":[%s]}}`, i,
				j,
				len(history), strings.Join(history, ","))))
		}
		r := put(t, d, fmt.Sprintf(`{"_id":"%06d-a"}`, i))
		edits = append(edits, edit(t, fmt.Sprintf(`{"_id":"%06d-a","_rev":%q}`, i, r)))
	}
	mustBulk(t, d, long, layer.WriteOptions{Replicated: true})
	e.forget()
	mustBulk(t, d, edits, layer.WriteOptions{})
	const most = 100 // of more than 12 KB
	if n := e.rows.Load(); n > most {
		t.Errorf("a batch of %d documents among long histories has read %d rows, want %d at most", docs, n, most)
	}
}

// meeting is an engine whose commits wait until a number of transactions have reached theirs. It applies to
// transactions whose context was made by noteBegins.
type meeting struct {
	kv.Engine
	at *sync.WaitGroup
	mu sync.Mutex
	n  int
}

func (e *meeting) Begin(ctx context.Context) kv.Transaction {
	if notedBegins(ctx) == nil {
		return e.Engine.Begin(ctx)
	}
	return &meetingTransaction{e.Engine.Begin(ctx), e}
}

type meetingTransaction struct {
	kv.Transaction
	e *meeting
}

func (t *meetingTransaction) Commit() error {
	t.e.mu.Lock()
	wait := t.e.n > 0
	if wait {
		t.e.n--
	}
	t.e.mu.Unlock()
	if wait {
		t.e.at.Done()
		t.e.at.Wait()
	}
	return t.Transaction.Commit()
}

// Two writers of interleaved documents, who read their ranges at the same time, do not conflict. Two writers of the
// same documents do, and one of them gets the conflict.
func TestBulk_reads_together_conflicts(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	for _, c := range []struct {
		name      string
		second    int // first of the second writer's documents
		conflicts int64
		refused   int
	}{
		{"among each other", 1, 0, 0},
		{"the same", 0, 1, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &meeting{Engine: mustEngine(t), at: new(sync.WaitGroup)}
			e := &costEngine{Engine: h}
			d := mustCreate(t, mustStore(t, e, layer.Options{}), "db", layer.CreateOptions{})
			if _, err := d.LastSeq(t.Context()); err != nil {
				t.Fatal(err)
			}
			h.at.Add(2)
			h.mu.Lock()
			h.n = 2
			h.mu.Unlock()
			e.forget()
			results := make([][]layer.EditResult, 2)
			ctx, _ := noteBegins(t.Context())
			var wg sync.WaitGroup
			for i, from := range []int{0, c.second} {
				edits := numberedEdits(t, from, 100, 2, nil)
				wg.Go(func() {
					var err error
					if results[i], err = d.Bulk(ctx, edits, layer.WriteOptions{}); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			refused := 0
			for _, rs := range results {
				for _, r := range rs {
					if layer.KindOf(r.Err) == layer.Conflict {
						refused++
					} else if r.Err != nil {
						t.Error(r.Err)
					}
				}
			}
			if n := e.conflicts.Load(); n != c.conflicts || refused != c.refused {
				t.Errorf("%d conflicts of transactions, %d of documents; want %d and %d", n, refused, c.conflicts,
					c.refused)
			}
		})
	}
}
