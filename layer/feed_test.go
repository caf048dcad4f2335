package layer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer"
)

// feedOf runs a pass and renders its rows.
func feedOf(tb testing.TB, d *layer.Database, o layer.ChangesOptions) (rows []string, pass *layer.ChangesPass) {
	tb.Helper()
	if o.Limit == 0 {
		o.Limit = -1
	}
	pass, err := d.Changes(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	var last layer.Seq
	for c, err := range pass.Rows {
		if err != nil {
			tb.Fatal(err)
		}
		if !o.Descending && c.Seq.Compare(last) <= 0 {
			tb.Fatalf("%s after %s", c.Seq, last)
		}
		last = c.Seq
		row := c.ID + " " + short(c.Rev)
		if c.Deleted {
			row += " deleted"
		}
		for _, l := range c.Leaves[1:] {
			row += " " + short(l)
		}
		if c.Doc != nil {
			row += " " + string(c.Doc.Body)
		}
		rows = append(rows, row)
	}
	return rows, pass
}

// short omits hashes, which tests do not know.
func short(r layer.Rev) string {
	if r.IsHash() {
		return fmt.Sprint(r.Pos)
	}
	return r.String()
}

func want(tb testing.TB, got []string, want ...string) {
	tb.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		tb.Fatalf("got\n%s\nwant\n%s", g, w)
	}
}

func TestChanges_once(t *testing.T) {
	d := mustDatabase(t)
	a := put(t, d, `{"_id":"a"}`)
	put(t, d, `{"_id":"b"}`)
	rows, pass := feedOf(t, d, layer.ChangesOptions{})
	want(t, rows, "a 1", "b 1")
	since := pass.LastSeq()
	put(t, d, `{"_id":"a","_rev":"`+a.String()+`","x":1}`)
	rows, _ = feedOf(t, d, layer.ChangesOptions{})
	want(t, rows, "b 1", "a 2")
	rows, pass = feedOf(t, d, layer.ChangesOptions{Since: since, IncludeDocs: true})
	want(t, rows, `a 2 {"x":1}`)
	if last, err := d.LastSeq(t.Context()); err != nil || last != pass.LastSeq() {
		t.Fatalf("last sequence %v, %v; the pass ended at %v", last, err, pass.LastSeq())
	}
	rows, _ = feedOf(t, d, layer.ChangesOptions{Descending: true})
	want(t, rows, "a 2", "b 1")
}

func TestChanges_sinceIsChecked(t *testing.T) {
	d := mustDatabase(t)
	put(t, d, `{"_id":"a"}`)
	last, err := d.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	future := last
	future.Stamp[0]++
	_, err = d.Changes(t.Context(), layer.ChangesOptions{Since: future, Limit: -1})
	wantKind(t, err, layer.Invalid)
	_, err = d.Changes(t.Context(), layer.ChangesOptions{Since: layer.Seq{Incarnation: 1}, Limit: -1})
	wantKind(t, err, layer.Invalid)
	_, err = d.Changes(t.Context(), layer.ChangesOptions{Shard: "99", Limit: -1})
	wantKind(t, err, layer.NotFound)
}

func TestChanges_paging(t *testing.T) {
	d := mustDatabase(t)
	const n = 57
	var edits []layer.Edit
	for i := range n {
		edits = append(edits, edit(t, fmt.Sprintf(`{"_id":"%03d"}`, i)))
	}
	if _, err := d.Bulk(t.Context(), edits, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	var since layer.Seq
	seen := 0
	for round := 0; ; round++ {
		rows, pass := feedOf(t, d, layer.ChangesOptions{Since: since, Limit: 10, IncludeDocs: round%2 == 0})
		for i, row := range rows {
			if want := fmt.Sprintf("%03d 1", seen+i); !strings.HasPrefix(row, want) {
				t.Fatalf("row %d is %q", seen+i, row)
			}
		}
		seen += len(rows)
		if pending, err := pass.Pending(t.Context()); err != nil || pending != int64(n-seen) {
			t.Fatalf("after %d: %d pending, %v", seen, pending, err)
		}
		if len(rows) == 0 {
			break
		}
		since = pass.LastSeq()
	}
	if seen != n {
		t.Fatalf("%d rows", seen)
	}
	// In the middle, with an empty cache.
	_, pass := feedOf(t, d, layer.ChangesOptions{Limit: 7, Match: func(c *layer.Change) bool { return c.ID >= "010" }})
	if pending, err := pass.Pending(t.Context()); err != nil || pending != n-17 {
		t.Fatalf("%d pending, %v", pending, err)
	}
	put(t, d, `{"_id":"zz"}`)
	_, pass = feedOf(t, d, layer.ChangesOptions{Limit: 7, Since: pass.LastSeq()})
	if pending, err := pass.Pending(t.Context()); err != nil || pending != n-24+1 {
		t.Fatalf("%d pending, %v", pending, err)
	}
}

func TestWatchShard(t *testing.T) {
	d := mustDatabase(t)
	maps, err := d.ShardMaps(t.Context(), layer.Seq{})
	if err != nil || len(maps) != 1 || len(maps[0].Shards) != 1 {
		t.Fatalf("%v, %v", maps, err)
	}
	arm := func() (wait func() bool, seen layer.Seq) {
		w, seen, err := d.WatchShard(t.Context(), maps[0].Shards[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		return func() bool {
			select {
			case <-w.Done():
				return w.Err() == nil
			case <-time.After(5 * time.Second):
				return false
			}
		}, seen
	}
	wait, seen := arm()
	if !seen.IsZero() {
		t.Fatalf("an empty database is at %s", seen)
	}
	put(t, d, `{"_id":"a"}`)
	if !wait() {
		t.Fatal("no wake after a write")
	}
	wait, seen = arm()
	if last, _ := d.LastSeq(t.Context()); seen != last {
		t.Fatalf("armed at %s, database at %s", seen, last)
	}
	if _, err := d.Reshard(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if !wait() {
		t.Fatal("no wake after a reshard")
	}
}

// WatchShard calls the function with which readers start once the sequence is settled. A reader that starts there finds
// what was committed before. What is committed while the watch is being armed fires it, or is included in the sequence
// that it returns, so listeners woken in between miss nothing.
func TestWatchShard_settled(t *testing.T) {
	d := mustDatabase(t)
	maps, err := d.ShardMaps(t.Context(), layer.Seq{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, d, `{"_id":"before"}`)
	before, err := d.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	w, seen, err := d.WatchShard(t.Context(), maps[0].Shards[0], func() {
		calls++
		if now, err := d.LastSeq(t.Context()); err != nil || now.Compare(before) < 0 {
			t.Errorf("a reader finds %s, %v, but the database was at %s", now, err, before)
		}
		put(t, d, fmt.Sprintf(`{"_id":"meanwhile %d"}`, calls))
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Cancel()
	last, err := d.LastSeq(t.Context())
	if err != nil || calls == 0 {
		t.Fatal(calls, err)
	}
	if seen == last {
		t.Fatal("the watch looks from after the call")
	}
	select {
	case <-w.Done():
		if w.Err() != nil {
			t.Error(w.Err())
		}
	case <-time.After(10 * time.Second):
		t.Errorf("armed at %s, the database is at %s, and the watch does not fire", seen, last)
	}
}

func TestChanges_abandoned(t *testing.T) {
	d := mustDatabase(t)
	put(t, d, `{"_id":"a"}`)
	ctx, cancel := context.WithCancel(t.Context())
	pass, err := d.Changes(ctx, layer.ChangesOptions{Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for _, err := range pass.Rows {
		if err != nil {
			wantKind(t, err, layer.Timeout)
			return
		}
	}
	t.Fatal("a pass whose context has ended went on")
}

// A reader that leaves in the middle, because its connection broke, gets nothing more.
func TestChanges_leftInTheMiddle(t *testing.T) {
	d := mustDatabase(t)
	fill(t, d, 100)
	for _, docs := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		pass, err := d.Changes(ctx, layer.ChangesOptions{Limit: -1, IncludeDocs: docs})
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for _, err := range pass.Rows { // this panics if another row or an error is yielded after the break
			if err != nil {
				t.Fatal(err)
			}
			if rows++; rows == 50 {
				cancel()
				break
			}
		}
		cancel()
		if pass.LastSeq().IsZero() {
			t.Error("the pass did not count its rows")
		}
	}
}

// A pass over chosen documents returns the same rows and the same end as a pass over the feed without the other
// documents.
func TestChanges_chosen(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		d := mustCreate(t, s, fmt.Sprintf("db%d", n),
			layer.CreateOptions{Shards: rapid.IntRange(1, 3).Draw(rt, "shards")})
		ids := []string{"a", "b", "c", "d", "e", "f", "_design/x", "_design/y", "_design0", "_designer"}
		seqs := []layer.Seq{{}}
		for range rapid.IntRange(1, 30).Draw(rt, "writes") {
			id := rapid.SampledFrom(ids[:8]).Draw(rt, "id")
			switch rapid.IntRange(0, 6).Draw(rt, "what") {
			case 0:
				if _, err := d.Reshard(t.Context(), rapid.IntRange(1, 4).Draw(rt, "n")); err != nil {
					t.Fatal(err)
				}
			case 1:
				if _, err := d.Get(t.Context(), id, layer.GetOptions{}); err == nil {
					save(t, d, `{"_id":"`+id+`","_deleted":true}`)
				}
			case 2:
				push(t, d,
					fmt.Sprintf(`{"_id":"%s","_revisions":{"start":1,"ids":["%c"]}}`, id,
						'a'+rune(rapid.IntRange(0, 5).Draw(rt, "rev"))))
			default:
				save(t, d, `{"_id":"`+id+`","x":1}`)
			}
			last, err := d.LastSeq(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			seqs = append(seqs, last)
		}
		o := layer.ChangesOptions{
			Since: rapid.SampledFrom(seqs).Draw(rt, "since"), Until: rapid.SampledFrom(seqs).Draw(rt, "until"),
			Descending:  rapid.Bool().Draw(rt, "descending"),
			IncludeDocs: rapid.Bool().Draw(rt, "docs"), AllLeaves: rapid.Bool().Draw(rt, "leaves"),
			Limit: rapid.SampledFrom([]int{-1, 1, 2, 5}).Draw(rt, "limit"),
		}
		if maps, err := d.ShardMaps(t.Context(), layer.Seq{}); err != nil {
			t.Fatal(err)
		} else if rapid.Bool().Draw(rt, "one shard") {
			o.Shard = rapid.SampledFrom(maps[rapid.IntRange(0, len(maps)-1).Draw(rt, "map")].Shards).Draw(rt, "shard")
		}
		chosen, filtered := o, o
		if rapid.Bool().Draw(rt, "designs") {
			chosen.Only = layer.DesignOnly
			filtered.Match = func(c *layer.Change) bool { return strings.HasPrefix(c.ID, "_design/") }
		} else {
			chosen.IDs = append([]string{}, rapid.SliceOf(rapid.SampledFrom(ids)).Draw(rt, "ids")...)
			filtered.Match = func(c *layer.Change) bool { return slices.Contains(chosen.IDs, c.ID) }
		}
		got, pass := feedOf(t, d, chosen)
		want, all := feedOf(t, d, filtered)
		if !slices.Equal(got, want) {
			rt.Fatalf("got %q, want %q", got, want)
		}
		cut := o.Limit >= 0 && len(got) == o.Limit
		if !o.Descending && !cut && pass.LastSeq() != all.LastSeq() {
			rt.Fatalf("ended at %s, not at %s", pass.LastSeq(), all.LastSeq())
		}
		if r, s := pass.Resharded(), all.Resharded(); !cut && (r == nil) != (s == nil) {
			rt.Fatalf("resharded %v and %v", r, s)
		}
	})
}
