package console

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/console/table"
)

const (
	// knownFor is how long what was read about a database is shown without reading it again, if nothing is written to
	// it. One that is written is read again after shownFor if it is shown, and after sortedFor to be sorted.
	knownFor  = 20 * time.Second
	shownFor  = time.Second
	sortedFor = 5 * time.Second
	// readWithin bounds how long a list waits for what is read about its databases, readers how many are read at once,
	// and maxKnown how many are remembered.
	readWithin = 2 * time.Second
	readers    = 8
	maxKnown   = 50_000
	// maxActive bounds how many databases a node reports as in use, the most used ones.
	maxActive = 3000
	// rateOver is the least time over which rates are computed, longestRate the longest, and usedFor how long what is
	// used is given to all who ask.
	rateOver    = 4 * time.Second
	longestRate = time.Minute
	usedFor     = 500 * time.Millisecond
)

// usage computes what is done in databases per second. It is safe for concurrent use.
type usage struct {
	mu struct {
		sync.Mutex
		at     time.Time
		before map[string]Use   // by database, without those that were not used
		rates  map[string]Rates // as of at, without Written
		last   map[string]Rates // as of lastAt
		lastAt time.Time
	}
}

// read returns the current rates of the databases in use. It computes them if the last time was long enough ago: while
// nobody asks nothing is done, and the first rates are those since the time that earlier returns, with what was done
// until then. Those that have been written since then are there too.
func (u *usage) read(now time.Time, used func(visit func(string, Use)),
	earlier func() (map[string]Use, time.Time)) map[string]Rates {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.mu.last != nil && now.Sub(u.mu.lastAt) < usedFor {
		return u.mu.last
	}
	if u.mu.before == nil || now.Sub(u.mu.at) > longestRate {
		u.mu.before, u.mu.at = earlier()
	}
	passed := now.Sub(u.mu.at)
	again := u.mu.before == nil || passed >= rateOver
	after, rates, last := map[string]Use{}, map[string]Rates{}, map[string]Rates{}
	used(func(name string, done Use) {
		if done == (Use{}) {
			return
		}
		before, r := u.mu.before[name], u.mu.rates[name]
		if again {
			after[name], r = done, Rates{}
			if u.mu.before != nil && passed <= longestRate {
				r = done.rates(before, passed)
			}
			if r.sum() > 0 {
				rates[name] = r
			}
		}
		if r.Writes > 0 || u.mu.before != nil && done.Writes != before.Writes {
			r.Written = done.Writes
		}
		if r != (Rates{}) {
			last[name] = r
		}
	})
	if again {
		u.mu.at, u.mu.before, u.mu.rates = now, after, rates
	}
	u.mu.last, u.mu.lastAt = last, now
	return last
}

// usedHere returns the rates of this node's databases, at most maxActive of them.
func (c *local) usedHere(context.Context, struct{}) (map[string]Rates, error) {
	rates := c.usage.read(time.Now(), c.o.Here.Used, c.trails.earlierUse)
	if len(rates) <= maxActive {
		return rates, nil
	}
	names := slices.SortedFunc(maps.Keys(rates), func(a, b string) int {
		return cmp.Compare(rates[b].sum(), rates[a].sum())
	})
	most := make(map[string]Rates, maxActive)
	for _, name := range names[:maxActive] {
		most[name] = rates[name]
	}
	return most, nil
}

// known remembers what was read about databases. It is safe for concurrent use.
type known struct {
	mu struct {
		sync.Mutex
		of map[string]knownDatabase
	}
}

type knownDatabase struct {
	state.Database           // without a name if it was never read
	at, changed    time.Time // when its reading began, and when an action of this node has changed it
	written        int64     // what nodes said before that they had written
}

// need is what is asked for of databases: all of it, and how old it may be where nodes have written since it was read.
type need struct {
	whole   bool
	within  time.Duration
	written map[string]int64 // what they say now, by database
}

// get returns what is known about a database, and whether that is new enough and complete.
func (k *known) get(name string, n need) (d state.Database, ok, fresh bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.mu.of[name]
	ok = ok && e.Name != ""
	most := knownFor
	if e.written != n.written[name] {
		most = n.within
	}
	fresh = ok && e.at.After(e.changed) && time.Since(e.at) < most
	return e.Database, ok, fresh && (!n.whole || e.Indexes != nil || e.Error != "")
}

// put remembers what was read about a database since a moment, after nodes said what they had written.
func (k *known) put(d state.Database, since time.Time, written int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	changed := k.room()[d.Name].changed
	k.mu.of[d.Name] = knownDatabase{d, since, changed, written}
}

// change notes that a database is to be read again. What is being read of it may be older than the change.
func (k *known) change(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.room()[name]
	e.changed = time.Now()
	k.mu.of[name] = e
}

// room returns the map, empty if it was full. The caller holds the lock.
func (k *known) room() map[string]knownDatabase {
	if k.mu.of == nil || len(k.mu.of) >= maxKnown {
		k.mu.of = map[string]knownDatabase{}
	}
	return k.mu.of
}

// readAll reads what is needed of databases and not known, or too old, until readWithin has passed. It reports whether
// it has read all.
func readAll(ctx context.Context, c *Console, names []string, n need) bool {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	work := make(chan string)
	var reading sync.WaitGroup
	for range min(readers, len(names)) {
		reading.Go(func() {
			for name := range work {
				since := time.Now()
				d, err := c.o.Here.Database(ctx, name, n.whole)
				if ctx.Err() != nil {
					continue
				}
				if d.Name = name; err != nil {
					d.Error = short(c.o.told(err))
				}
				c.known.put(d, since, n.written[name])
			}
		})
	}
	complete := true
	for _, name := range names {
		if _, _, fresh := c.known.get(name, n); fresh {
			continue
		}
		select {
		case work <- name:
			continue
		case <-ctx.Done():
			complete = false
		}
		break
	}
	close(work)
	reading.Wait()
	return complete && ctx.Err() == nil
}

func size[N int | int64](of func(*state.Database) *N) func(*state.Database) table.Key {
	return func(d *state.Database) table.Key {
		if n := of(d); n != nil {
			return table.Number(float64(*n))
		}
		return table.Number(math.NaN())
	}
}

var databaseTable = table.Table[state.Database]{
	Columns: map[string]func(*state.Database) table.Key{
		"name":    text(func(d *state.Database) string { return d.Name }),
		"docs":    size(func(d *state.Database) *int64 { return d.Docs }),
		"deleted": size(func(d *state.Database) *int64 { return d.Deleted }),
		"bytes":   size(func(d *state.Database) *int64 { return d.Bytes }),
		"shards":  size(func(d *state.Database) *int { return d.Shards }),
		"indexes": size(func(d *state.Database) *int { return d.Indexes }),
		"writes":  number(func(d *state.Database) float64 { return d.Writes }),
		"refused": number(func(d *state.Database) float64 { return d.Refused }),
		"reads":   number(func(d *state.Database) float64 { return d.Reads }),
		"feed":    number(func(d *state.Database) float64 { return d.Feed }),
	},
	Default: "name",
	ID:      func(d *state.Database) string { return d.Name },
	Search:  func(d *state.Database) []string { return []string{d.Name, d.Error} },

	Database: func(d *state.Database) string { return d.Name },
}

// bySize are the columns whose values must be read of all databases before they can be sorted.
var bySize = map[string]bool{"docs": true, "deleted": true, "bytes": true, "shards": true, "indexes": true}

// Databases returns a page of the databases, with what all nodes do in them.
func (c *Console) Databases(ctx context.Context, q table.Query) (List[state.Database], error) {
	if err := databaseTable.Check(q); err != nil {
		return List[state.Database]{}, err
	}
	var names []string
	within, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	for name, err := range c.o.Here.Databases(within) {
		if err != nil {
			return List[state.Database]{}, err
		}
		if q.Database == "" || q.Database == name {
			names = append(names, name)
		}
	}
	answers, absent := gather(ctx, c, "used", struct{}{}, c.local.usedHere)
	out := List[state.Database]{Now: time.Now().UTC(), Absent: absent}
	const late = "Some databases were not read in time; the values of the others are older."
	written := map[string]int64{}
	for _, a := range answers {
		for name, r := range a.Value {
			written[name] += r.Written
		}
	}
	sorted := need{whole: q.Sort == "indexes", within: sortedFor, written: written}
	if bySize[q.Sort] && !readAll(ctx, c, names, sorted) {
		out.Partial = late
	}
	rows := func(yield func(state.Database) bool) {
		for _, name := range names {
			d := state.Database{Name: name}
			if bySize[q.Sort] {
				if read, ok, _ := c.known.get(name, need{}); ok {
					d = read
				}
			}
			for _, a := range answers {
				r := a.Value[name]
				d.Writes += r.Writes
				d.Refused += r.Refused
				d.Reads += r.Reads
				d.Feed += r.Feed
			}
			if !yield(d) {
				return
			}
		}
	}
	page, err := databaseTable.Select(rows, q)
	if err != nil {
		return out, err
	}
	out.Page = page
	if out.Partial == "" {
		shown := make([]string, len(page.Rows))
		for i, d := range page.Rows {
			shown[i] = d.Name
		}
		if !readAll(ctx, c, shown, need{whole: true, within: shownFor, written: written}) {
			out.Partial = late
		}
		for i := range page.Rows {
			row := &page.Rows[i]
			if read, ok, _ := c.known.get(row.Name, need{}); ok {
				row.Docs, row.Deleted, row.Bytes, row.Shards, row.Indexes, row.Error = read.Docs, read.Deleted,
					read.Bytes, read.Shards, read.Indexes, read.Error
			}
		}
	}
	addLines(ctx, c, out.Rows)
	return out, nil
}
