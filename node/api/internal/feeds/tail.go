package feeds

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync"

	"github.com/divandb/divan/layer"
)

// tailEntries is the minimum number of a feed's newest entries that are kept for waiting feeds. At most twice as many
// are kept. A feed that is further behind reads the store itself.
const tailEntries = 500

// tailLeaves is how many leaves these may have together: a document in conflict may have thousands.
const tailLeaves = 20 * tailEntries

// feedTails has the newest entries of all feeds that clients wait for. A commit wakes all listeners of a database at
// once: one of them reads, and the others find what it read in memory. Only entries that such a read found are shown,
// and each read begins after the wake-up that it serves.
type feedTails struct {
	mu  sync.Mutex
	all map[feedTailKey]*feedTail // tails with users
}

type feedTailKey struct {
	database int64
	shard    layer.ShardID // "" means all shards, merged
}

// feedTail has the newest entries of one feed.
type feedTail struct {
	db    *layer.Database
	shard layer.ShardID
	users int // guarded by tails.mu

	mu sync.Mutex
	// entries has all entries after from, up to to, with their leaves, as of the last read. Its elements never change,
	// since readers keep slices of it.
	entries  []layer.Change
	ids      map[string]struct{} // ids of entries
	from, to layer.Seq
	known    bool // whether anything was read
	shards   []layer.ShardID
	moved    *layer.ShardMap
	next     *feedTailReading // the next read, not begun yet
	latest   *feedTailReading // the latest read that has begun
}

type feedTailReading struct {
	done chan struct{}
	err  error
}

// join makes the caller a user of a feed's tail. It must call leave once.
func (t *feedTails) join(db *layer.Database, shard layer.ShardID) (joined *feedTail, leave func()) {
	key := feedTailKey{db.Number(), shard}
	t.mu.Lock()
	defer t.mu.Unlock()
	joined = t.all[key]
	if joined == nil {
		if t.all == nil {
			t.all = map[feedTailKey]*feedTail{}
		}
		joined = &feedTail{db: db.Shared(), shard: shard}
		t.all[key] = joined
	}
	joined.users++
	return joined, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if joined.users--; joined.users == 0 {
			delete(t.all, key)
		}
	}
}

// pass returns a pass over what is new after o.Since, as layer.Database.Changes would make it now, or nil if the tail
// does not reach back that far. It uses only the options Since, AllLeaves and Match.
func (t *feedTail) pass(ctx context.Context, o layer.ChangesOptions) (*layer.ChangesPass, error) {
	if err := t.refresh(ctx, o.Since); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.known || o.Since.Compare(t.from) < 0 || o.Since.Compare(t.to) > 0 {
		return nil, nil
	}
	i, _ := slices.BinarySearchFunc(t.entries, o.Since, func(c layer.Change, since layer.Seq) int {
		return cmp.Or(c.Seq.Compare(since), -1) // the entry at since was already read
	})
	to, shards, moved := t.to, t.shards, t.moved
	return &layer.ChangesPass{
		Rows:      shown(slices.Clip(t.entries[i:]), o),
		LastSeq:   func() layer.Seq { return to },
		Pending:   func(context.Context) (int64, error) { return 0, nil },
		Resharded: func() *layer.ShardMap { return moved },
		Shards:    func() []layer.ShardID { return shards },
	}, nil
}

// shown returns the entries that the options ask for, with the leaves that they ask for.
func shown(entries []layer.Change, o layer.ChangesOptions) iter.Seq2[layer.Change, error] {
	return func(yield func(layer.Change, error) bool) {
		for _, c := range entries {
			if o.Match != nil && !o.Match(&c) {
				continue
			}
			if !o.AllLeaves {
				c.Leaves = c.Leaves[:1]
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

var errTailReading = errors.New("reading the end of the feed was interrupted")

// refresh returns after a read that began after the call. All callers that come during another read share the next one,
// which the first of them does.
func (t *feedTail) refresh(ctx context.Context, since layer.Seq) error {
	t.mu.Lock()
	if r := t.next; r != nil {
		t.mu.Unlock()
		select {
		case <-r.done:
			return r.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r, before := &feedTailReading{done: make(chan struct{}), err: errTailReading}, t.latest
	t.next = r
	t.mu.Unlock()
	if before != nil {
		<-before.done
	}
	runtime.Gosched() // let those woken together with this caller join its read
	defer close(r.done)
	t.mu.Lock()
	t.next, t.latest = nil, r
	if t.known {
		since = t.to
	}
	t.mu.Unlock()
	r.err = t.read(context.WithoutCancel(ctx), since) // also for the others, whose requests continue
	return r.err
}

// read adds what is new after since, which is the end of the entries, or their start if there are none.
func (t *feedTail) read(ctx context.Context, since layer.Seq) error {
	pass, err := t.db.Changes(ctx, layer.ChangesOptions{Since: since, Shard: t.shard, AllLeaves: true,
		Limit: tailEntries})
	if err != nil {
		return err
	}
	var news []layer.Change
	leaves := 0
	for c, err := range pass.Rows {
		if err != nil {
			return err
		}
		c.Leaves = slices.Clone(c.Leaves)
		news = append(news, c)
		if leaves += len(c.Leaves); leaves > tailLeaves {
			break
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.entries {
		leaves += len(c.Leaves)
	}
	if len(news) == tailEntries || leaves > tailLeaves { // there may be more, or too many
		t.known, t.entries, t.ids = false, nil, nil
		return nil
	}
	if !t.known {
		t.known, t.from, t.ids = true, since, map[string]struct{}{}
	}
	t.append(news)
	t.to, t.shards, t.moved = pass.LastSeq(), pass.Shards(), pass.Resharded()
	return nil
}

// append adds entries. It drops entries that they replace, as the feed does, and the oldest ones beyond the limit.
func (t *feedTail) append(news []layer.Change) {
	replaced := map[string]bool{}
	for i := range news {
		if _, ok := t.ids[news[i].ID]; ok {
			replaced[news[i].ID] = true
		}
		t.ids[news[i].ID] = struct{}{}
	}
	if len(replaced) > 0 {
		t.entries = append(slices.DeleteFunc(slices.Clone(t.entries),
			func(c layer.Change) bool { return replaced[c.ID] }), news...)
	} else {
		t.entries = append(t.entries, news...) // beyond the slices that readers keep
	}
	if drop := len(t.entries) - tailEntries; drop > tailEntries {
		for i := range drop {
			delete(t.ids, t.entries[i].ID)
		}
		t.from = t.entries[drop-1].Seq
		t.entries = slices.Clone(t.entries[drop:])
	}
}
