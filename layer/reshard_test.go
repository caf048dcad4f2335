package layer_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer"
)

// follower reads a feed like a consumer that continues until it is stopped, and records what it has seen.
type follower struct {
	mu    sync.Mutex
	last  map[string]layer.Rev // by document: the newest entry seen
	at    map[string]layer.Seq
	seqs  map[layer.Seq]bool
	rows  int
	fault error
}

func newFollower() *follower {
	return &follower{last: map[string]layer.Rev{}, at: map[string]layer.Seq{}, seqs: map[layer.Seq]bool{}}
}

func (f *follower) see(c layer.Change) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seqs[c.Seq] {
		return fmt.Errorf("%s came twice", c.Seq)
	}
	f.seqs[c.Seq] = true
	if f.at[c.ID].Compare(c.Seq) >= 0 {
		return fmt.Errorf("%s: %s after %s", c.ID, c.Seq, f.at[c.ID])
	}
	f.last[c.ID], f.at[c.ID] = c.Rev, c.Seq
	f.rows++
	return nil
}

// pass reads once from since. The shard is "" for the merged feed.
func (f *follower) pass(ctx context.Context, d *layer.Database, shard layer.ShardID, since layer.Seq) (layer.Seq,
	*layer.ShardMap, error) {
	p, err := d.Changes(ctx, layer.ChangesOptions{Since: since, Shard: shard, Limit: -1})
	if err != nil {
		return since, nil, err
	}
	prev := since
	for c, err := range p.Rows {
		if err != nil {
			return since, nil, err
		}
		if c.Seq.Compare(prev) <= 0 {
			return since, nil, fmt.Errorf("%s after %s", c.Seq, prev)
		}
		prev = c.Seq
		if err := f.see(c); err != nil {
			return since, nil, err
		}
	}
	return p.LastSeq(), p.Resharded(), nil
}

// followMerged reads until it is stopped, and once more.
func (f *follower) followMerged(ctx context.Context, d *layer.Database, stop <-chan struct{}) error {
	var since layer.Seq
	for last := false; ; {
		var err error
		if since, _, err = f.pass(ctx, d, "", since); err != nil || last {
			return err
		}
		maps, err := d.ShardMaps(ctx, since)
		if err != nil {
			return err
		}
		if last, err = await(ctx, d, maps[len(maps)-1].Shards, since, stop); err != nil {
			return err
		}
	}
}

// await blocks until one of the shards has something newer than since, or has been replaced, or until stop is closed.
func await(ctx context.Context, d *layer.Database, shards []layer.ShardID, since layer.Seq,
	stop <-chan struct{}) (stopped bool, err error) {
	cases := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(stop)}}
	for _, id := range shards {
		w, seen, err := d.WatchShard(ctx, id, nil)
		if err != nil {
			return false, err
		}
		defer w.Cancel()
		if seen.Compare(since) > 0 {
			return false, nil
		}
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(w.Done())})
	}
	fired, _, _ := reflect.Select(cases)
	return fired == 0, nil
}

// followShard reads a shard to its end, and then, together with other readers, the shards that replaced it.
func (f *follower) followShard(ctx context.Context, d *layer.Database, wg *sync.WaitGroup, started *sync.Map,
	shard layer.ShardID, since layer.Seq, stop <-chan struct{}) error {
	for last := false; ; {
		next, resharded, err := f.pass(ctx, d, shard, since)
		if err != nil {
			return err
		}
		since = next
		if resharded != nil {
			f.startShards(ctx, d, wg, started, resharded, stop)
			return nil
		}
		if last {
			return nil
		}
		if last, err = await(ctx, d, []layer.ShardID{shard}, since, stop); err != nil {
			return err
		}
	}
}

func (f *follower) startShards(ctx context.Context, d *layer.Database, wg *sync.WaitGroup, started *sync.Map,
	m *layer.ShardMap, stop <-chan struct{}) {
	for _, id := range m.Shards {
		if _, again := started.LoadOrStore(id, true); again {
			continue
		}
		wg.Go(func() {
			if err := f.followShard(ctx, d, wg, started, id, m.Since, stop); err != nil {
				f.mu.Lock()
				f.fault = errors.Join(f.fault, fmt.Errorf("shard %s: %w", id, err))
				f.mu.Unlock()
			}
		})
	}
}

// P3 to P6 under load: 32 writers, four reshards up and down with competing ones, a consumer of the merged feed and one
// of every shard. Writers get no errors; no entry is lost, repeated, out of order or in a replaced shard (checkStore).
func TestReshard_underLoad(t *testing.T) {
	d := mustCreate(t, mustStore(t, mustEngine(t), layer.Options{}), "db", layer.CreateOptions{Shards: 2})
	const writers, docs = 32, 8
	stop := make(chan struct{})
	var stopped atomic.Bool
	merged, sharded := newFollower(), newFollower()
	var consumers, load sync.WaitGroup
	consumers.Go(func() {
		if err := merged.followMerged(t.Context(), d, stop); err != nil {
			t.Errorf("merged feed: %v", err)
		}
	})
	maps, err := d.ShardMaps(t.Context(), layer.Seq{})
	if err != nil {
		t.Fatal(err)
	}
	var started sync.Map
	sharded.startShards(t.Context(), d, &consumers, &started, &maps[0], stop)

	var mu sync.Mutex
	final := map[string]layer.Rev{}
	for w := range writers {
		load.Go(func() {
			var revs [docs]layer.Rev
			for i := 0; !stopped.Load() || i < docs; i++ {
				n := i % docs
				id := fmt.Sprintf("%d-%d", w, n)
				rev, err := d.Put(t.Context(), layer.Edit{ID: id, Rev: revs[n], Body: fmt.Appendf(nil, `{"i":%d}`, i)},
					layer.WriteOptions{})
				if err != nil {
					t.Errorf("%s: %v", id, err)
					return
				}
				revs[n] = rev
			}
			mu.Lock()
			defer mu.Unlock()
			for n, r := range revs {
				final[fmt.Sprintf("%d-%d", w, n)] = r
			}
		})
	}
	for _, round := range [][]int{{4, 1}, {8, 3}, {2, 5}, {1, 7}} {
		var both sync.WaitGroup
		for _, n := range round {
			both.Go(func() {
				m, err := d.Reshard(t.Context(), n)
				if err != nil || len(m.Shards) != n {
					t.Errorf("resharding to %d: %v, %v", n, m, err)
				}
			})
		}
		both.Wait()
		for i := range 80 { // time for the others to write and read across the change
			put(t, d, fmt.Sprintf(`{"_id":"round%d-%d"}`, round[0], i))
		}
	}
	stopped.Store(true)
	load.Wait()
	close(stop)
	consumers.Wait()
	if sharded.fault != nil {
		t.Error(sharded.fault)
	}
	for name, f := range map[string]*follower{"merged": merged, "shards": sharded} {
		if len(f.last) != len(final)+4*80 {
			t.Errorf("%s: %d documents of %d", name, len(f.last), len(final)+4*80)
		}
		for id, want := range final {
			if f.last[id] != want {
				t.Errorf("%s: the last entry of %s is %v, should be %v", name, id, f.last[id], want)
			}
		}
		t.Logf("%s: %d rows", name, f.rows)
	}
	if maps, err = d.ShardMaps(t.Context(), layer.Seq{}); err != nil || len(maps) != 9 {
		t.Errorf("%d maps, %v", len(maps), err)
	}
	rows, _ := feedOf(t, d, layer.ChangesOptions{})
	if len(rows) != len(final)+4*80 {
		t.Errorf("the feed has %d rows for %d documents", len(rows), len(final)+4*80)
	}
}

func TestReshard_bad(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{MaxShards: 4})
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	for _, n := range []int{0, -1, 5} {
		_, err := d.Reshard(t.Context(), n)
		wantKind(t, err, layer.Invalid)
	}
	if maps, err := d.ShardMaps(t.Context(), layer.Seq{}); err != nil || len(maps) != 1 ||
		maps[0].Scheme != "xxh64-jump" {
		t.Fatalf("%v, %v", maps, err)
	}
	if err := s.Delete(t.Context(), "db"); err != nil {
		t.Fatal(err)
	}
	_, err := d.Reshard(t.Context(), 2)
	wantKind(t, err, layer.NotFound)
}
