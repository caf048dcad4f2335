package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/tuple"
)

// What FoundationDB publishes about itself (documentation "Performance", ServerKnobs.cpp of 7.3). These are the only
// values here that are not measured.
const (
	publishedWrites = 20_000      // sets per second of a storage process, ssd engine, small keys and values
	shardBytes      = 500_000_000 // a range of keys that is larger is split
	replicas        = 3
)

// runScale prints the data for docs/design/scale.md: the cost of operations, the distribution of the keys of many
// documents, and a simulation of where writes go.
func runScale(ctx context.Context, e *environment, t *table) error {
	list, err := cities(20_001)
	if err != nil {
		return err
	}
	edits := make([]layer.Edit, len(list))
	for i := range list {
		if edits[i], err = layer.ParseEdit(mustJSON(list[i]), false); err != nil {
			return err
		}
	}
	dir := filepath.Join(e.newDir("scale"), "store")
	costs, err := costsOf(ctx, dir, edits, t)
	if err != nil {
		return err
	}
	measured, err := storedBytes(ctx, dir)
	if err != nil {
		return err
	}
	var model distribution
	for _, doc := range edits[1:] {
		model.add(doc.ID, len(doc.Body))
	}
	for _, s := range model.parts() {
		t.row("check: "+s.name+" of 20,000 cities", "%d bytes by the generator, %.0f stored", s.bytes, measured[s.name])
	}
	const many = 10_000_000
	var keys distribution
	for i := range many {
		keys.add(fmt.Sprintf("%08x-%07d", uint32(i)*2654435761, i), 0)
	}
	for _, s := range keys.parts() {
		t.row(fmt.Sprintf("keys of %d documents without bodies: %s", many, s.name),
			"%.0f MB, %.1f bytes a document, %d ranges of %d MB",
			float64(s.bytes)/1e6, float64(s.bytes)/many, (s.bytes+shardBytes-1)/shardBytes, shardBytes/1_000_000)
	}
	simulate(costs, t)
	return nil
}

// distribution adds up the keys and values of documents as layer/keyspace lays them out. A test checks the layout, and
// runScale compares the sums with what the layer has stored.
type distribution struct {
	revisions, changes, documents, allDocs int
	buf                                    []byte
}

func (d *distribution) add(id string, body int) {
	prefix := tuple.AppendInt(tuple.AppendInt(d.buf[:0], int64(keyspace.Data)), 27)
	sub := func(s keyspace.Subspace) []byte { return tuple.AppendInt(prefix[:len(prefix):len(prefix)], int64(s)) }
	idLength := len(tuple.AppendString(nil, id))
	const rev = 2 + 18 // position and hash; a zero byte in the hash takes one more byte, once in 256
	const stamp, number = 13, 2
	d.revisions += len(sub(keyspace.Revisions)) + idLength + 1 + rev + number + 1 + stamp + number + 2
	d.changes += len(sub(keyspace.Changes)) + 3 + 1 + stamp + number + idLength + rev + number + 1
	header := 3 + 1
	if body >= 128 {
		header++
	}
	d.documents += len(sub(keyspace.Documents)) + idLength + rev + 1 + header + body
	d.allDocs += len(sub(keyspace.AllDocs)) + idLength + rev
	d.buf = prefix[:0]
}

// part is the contents of one subspace.
type part struct {
	name  string
	bytes int
}

func (d *distribution) parts() []part {
	return []part{{"Revisions", d.revisions}, {"Changes", d.changes}, {"Documents", d.documents},
		{"AllDocs", d.allDocs}}
}

// simulate estimates how many writes per second the storage servers take until the busiest one reaches the published
// limit of a process. FoundationDB splits ranges that are written all over until the load is even. Ranges that grow at
// their end cannot be split: the next key always follows the last one, on one team.
func simulate(costs map[string]counts, t *table) {
	type scenario struct {
		what     string
		servers  int
		feeds    int // changes shards of all databases that are written
		ordered  bool
		together int // documents per transaction
		of       string
	}
	for _, s := range []scenario{
		{"one database, 1 shard, random ids, single writes", 30, 1, false, 1, "insert"},
		{"one database, 1 shard, random ids, single writes", 30, 1, false, 1, "update"},
		{"one database, 8 shards, random ids, single writes", 30, 8, false, 1, "update"},
		{"one database, 1 shard, random ids, batches of 500", 30, 1, false, 500, "insert"},
		{"one database, 1 shard, ascending ids, batches of 500", 30, 1, true, 500, "insert"},
		{"one database, 8 shards, random ids, batches of 500", 30, 8, false, 500, "insert"},
		{"one database, 64 shards, random ids, batches of 500", 30, 64, false, 500, "insert"},
		{"100 databases of 1 shard, random ids, single writes", 30, 100, false, 1, "insert"},
		{"10,000 databases of 1 shard, random ids, single writes", 30, 10_000, false, 1, "insert"},
		{"10,000 databases of 1 shard, ascending ids, single writes", 30, 10_000, true, 1, "insert"},
	} {
		limits := make([]float64, 201)
		even := 0.0
		r := rand.New(rand.NewPCG(1, uint64(s.feeds)))
		for i := range limits {
			limits[i], even = saturates(r, costs[s.of], s.servers, s.feeds, s.ordered, s.together)
		}
		slices.Sort(limits)
		t.row(fmt.Sprintf("simulated, %d storage servers: %s", s.servers, s.what),
			"%.0f %ss/s (%.0f to %.0f in nine of ten placements), %.0f%% of what an even distribution allows",
			limits[len(limits)/2], s.of, limits[len(limits)/20], limits[len(limits)*19/20],
			100*limits[len(limits)/2]/even)
	}
}

// saturates places the ranges that grow at their ends on random teams. It returns how many writes per second the
// busiest server allows, and how many an even distribution would allow. Keys that are cleared are spread evenly.
func saturates(r *rand.Rand, write counts, servers, feeds int, ordered bool, together int) (limit, even float64) {
	// counters and wake keys are written once per transaction
	shared := float64(write.hot) / float64(together)
	tail := float64(write.tail)                                           // the entry in the feed
	byID := float64(write.sets+write.clears+write.cleared-write.tail) - 1 // the wake key is one of the sets
	all := tail + shared + byID
	load := make([]float64, servers) // sets per write
	place := func(sets float64) {
		for _, server := range r.Perm(servers)[:replicas] {
			load[server] += sets
		}
	}
	for range feeds {
		place(tail / float64(feeds))
		place(shared / float64(feeds))
		if ordered { // the documents, their branches and the list by id grow at their ends too
			for range 3 {
				place(byID / 3 / float64(feeds))
			}
		}
	}
	if !ordered {
		for i := range load {
			load[i] += byID * replicas / float64(servers)
		}
	}
	return publishedWrites / slices.Max(load), publishedWrites * float64(servers) / (all * replicas)
}
