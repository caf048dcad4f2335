package layer_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/revtree"
	"github.com/divandb/divan/layer/tuple"
)

var parseRev = revtree.ParseRev

// checkStore reads a store's keys as any FoundationDB tool could, using only keyspace's documentation, and checks what
// must hold between subspaces: every document has one entry in the feed, at its winner's sequence and in the right
// shard; lists and counters agree with the branches; every leaf has a body; no transaction id is left.
func checkStore(tb testing.TB, e kv.Engine) {
	tb.Helper()
	databases := map[int64]*keyDump{}
	for _, row := range dumpStill(tb, e) {
		switch keyspace.Section(row.key[0].(int64)) {
		case keyspace.Transactions:
			tb.Errorf("transaction id %v is left", row.key)
		case keyspace.Data:
			n := row.key[1].(int64)
			if databases[n] == nil {
				databases[n] = newKeyDump()
			}
			databases[n].add(tb, keyspace.Subspace(row.key[2].(int64)), row.key[3:], row.value)
		}
	}
	for n, d := range databases {
		d.check(tb, fmt.Sprintf("database %d", n))
	}
}

// checkDatabase is checkStore for one database.
func checkDatabase(tb rapid.TB, e kv.Engine, d *layer.Database) *keyDump {
	tb.Helper()
	tx := e.Begin(faultkv.Forever(context.Background()))
	defer tx.Cancel()
	keys := newKeyDump()
	for _, row := range dumpRange(tb, tx, layer.KeysOf(d)) {
		keys.add(tb, keyspace.Subspace(row.key[2].(int64)), row.key[3:], row.value)
	}
	keys.check(tb, d.Name())
	if tb.Failed() {
		tb.FailNow()
	}
	return keys
}

// checkCompacted checks that a compacted database has the bodies of its leaves, and no others.
func checkCompacted(tb rapid.TB, e kv.Engine, d *layer.Database) {
	tb.Helper()
	keys := checkDatabase(tb, e, d)
	for id, branches := range keys.branches {
		for _, b := range branches {
			delete(keys.bodies, id+" "+b.rev)
		}
	}
	if len(keys.bodies) > 0 || keys.queue > 0 {
		tb.Errorf("%s: bodies that nobody removes: %v; %d in the queue", d.Name(), keys.bodies, keys.queue)
	}
}

type branchKV struct {
	live   bool
	rev    string
	winner bool
	seq    string
	count  int64
}

type entryKV struct {
	shard, id, rev string
	count          int64
	live           bool
}

type mapKV struct {
	since  string
	shards []string // empty: the deprecated subspace
	tomb   bool
}

// keyDump is one database's keys by subspace.
type keyDump struct {
	stamped     bool
	partitioned bool
	branches    map[string][]branchKV // by document, in key order
	entries     map[string]entryKV    // by sequence
	allDocs     map[string]string
	designs     map[string]string
	bodies      map[string]int // by document and revision: bytes
	heads       map[string][]byte
	refs        map[string]int64 // by attachment
	old         map[string]bool  // attachments marked as those that no leaf refers to
	converted   map[string]bool  // documents whose bodies are all counted
	counters    map[string]int64
	maps        []mapKV // oldest first
	queue       int64
	marks       map[string]uint64             // end of the counted leaf entries, by shard and incarnation
	counted     [3]map[string]map[int64]int64 // entries by block, for each level, by shard and incarnation
	queued      map[string]int64              // of the queue, by shard
	shardQueued map[string]int64              // according to the counters
	attachments map[string]int64              // bytes
	uploads     map[string]bool               // attachments not yet attached to a document
	purges      int64
	ranges      map[int64]string // the first ids of ranges with counters, by number
	rangeCounts map[int64]int64
	cutOff      map[int64]int64 // unsettled ranges, with the number of the one that they were cut off
}

func newKeyDump() *keyDump {
	return &keyDump{branches: map[string][]branchKV{}, entries: map[string]entryKV{}, allDocs: map[string]string{},
		designs: map[string]string{},
		bodies:  map[string]int{}, counters: map[string]int64{}, attachments: map[string]int64{},
		uploads: map[string]bool{},
		heads:   map[string][]byte{}, old: map[string]bool{}, refs: map[string]int64{}, converted: map[string]bool{},
		queued: map[string]int64{}, shardQueued: map[string]int64{}, marks: map[string]uint64{},
		ranges: map[int64]string{}, rangeCounts: map[int64]int64{}, cutOff: map[int64]int64{}}
}

func revText(pos, id any) string {
	if raw, ok := id.([]byte); ok {
		return fmt.Sprintf("%d-%x", pos, raw)
	}
	return fmt.Sprintf("%d-%s", pos, id)
}

func seqText(incarnation, stamp any) string {
	v := stamp.(tuple.Versionstamp)
	return fmt.Sprintf("%d/%x%04x", incarnation, v.Transaction, v.User)
}

func (d *keyDump) add(tb rapid.TB, sub keyspace.Subspace, key tuple.Tuple, value []byte) {
	tb.Helper()
	unpack := func() tuple.Tuple {
		v, err := tuple.Unpack(value)
		if err != nil {
			tb.Errorf("value of %v: %v", key, err)
		}
		return v
	}
	switch sub {
	case keyspace.Stamp:
		d.stamped = true
	case keyspace.Revisions:
		v := unpack()
		b := branchKV{live: key[1].(bool), rev: revText(key[2], key[3])}
		if len(v) > 2 {
			_, b.winner = v[2].(tuple.Versionstamp)
		}
		if v[0] != int64(keyspace.RevFormat) || b.winner && len(v) < 5 {
			tb.Errorf("revision %v = %v", key, v)
			return
		}
		if b.winner {
			b.seq, b.count = seqText(v[1], v[2]), v[3].(int64)
		}
		id := key[0].(string)
		d.branches[id] = append(d.branches[id], b)
	case keyspace.Changes, keyspace.ChangesDeprecated:
		shard := ""
		if sub == keyspace.Changes {
			shard, key = key[0].(string), key[1:]
		}
		v := unpack()
		seq := seqText(key[0], key[1])
		if _, twice := d.entries[seq]; twice {
			tb.Errorf("two entries at %s", seq)
		}
		d.entries[seq] = entryKV{shard, v[1].(string), revText(v[2], v[3]), v[4].(int64), v[5].(bool)}
	case keyspace.AllDocs:
		v := unpack()
		d.allDocs[key[0].(string)] = revText(v[0], v[1])
	case keyspace.Designs:
		v := unpack()
		d.designs[key[0].(string)] = revText(v[0], v[1])
	case keyspace.Documents:
		body := key[0].(string) + " " + revText(key[1], key[2])
		d.bodies[body] += len(value)
		d.heads[body] = append(d.heads[body], value...)
	case keyspace.AttachmentRefs:
		if len(key) == 1 {
			d.converted[key[0].(string)] = true
		} else {
			d.refs[fmt.Sprint(key[0], key[1])] = int64(binary.LittleEndian.Uint64(value))
		}
	case keyspace.Superseded:
		d.queue++
	case keyspace.ShardSuperseded:
		d.queued[key[0].(string)]++
		d.queue++
	case keyspace.FeedCounts:
		of := fmt.Sprintf("%s/%d", key[1], key[2])
		if key[0] == int64(0) {
			d.marks[of] = uint64(unpack()[1].(int64))
			break
		}
		level := key[0].(int64) - 1
		if d.counted[level] == nil {
			d.counted[level] = map[string]map[int64]int64{}
		}
		if d.counted[level][of] == nil {
			d.counted[level][of] = map[int64]int64{}
		}
		d.counted[level][of][key[3].(int64)] = int64(binary.LittleEndian.Uint64(value))
	case keyspace.Attachments:
		d.attachments[fmt.Sprint(key[0], key[1])] += int64(len(value))
	case keyspace.Uploads:
		d.uploads[fmt.Sprint(key[1], key[2])] = true
	case keyspace.Purges:
		d.purges++
	case keyspace.Counters:
		name := key[0].(string)
		if len(key) == 2 {
			name += "/" + key[1].(string) // of a partition
		}
		d.counters[name] += int64(binary.LittleEndian.Uint64(value))
	case keyspace.ShardCounters:
		shard, name, n := key[0].(string), key[1].(string), int64(binary.LittleEndian.Uint64(value))
		d.counters[name] += n
		if name == "superseded" {
			d.shardQueued[shard] = n
		}
	case keyspace.DocCounts:
		if len(key) == 1 {
			d.rangeCounts[key[0].(int64)] = int64(binary.LittleEndian.Uint64(value))
		} else {
			d.cutOff[key[0].(int64)] = unpack()[0].(int64)
		}
	case keyspace.Config:
		if key[0] == "doc_ranges" && len(key) > 1 {
			d.ranges[unpack()[1].(int64)] = key[1].(string)
		}
		d.partitioned = d.partitioned || key[0] == "partitioned" && unpack()[0].(bool)
		if key[0] == "changes_shards" {
			v := unpack()
			m := mapKV{since: seqText(key[1], key[2]), tomb: v[3].(bool)}
			for _, id := range v[2].(tuple.Tuple) {
				m.shards = append(m.shards, id.(string))
			}
			d.maps = append(d.maps, m)
		}
	}
}

func (d *keyDump) check(tb rapid.TB, name string) {
	tb.Helper()
	if !d.stamped {
		tb.Errorf("%s has keys and no stamp", name)
	}
	want := map[string]int64{"superseded": d.queue}
	entries := len(d.entries)
	for id, branches := range d.branches {
		for i, b := range branches {
			if b.winner != (i == len(branches)-1) {
				tb.Errorf("%s, %q: branch %d of %d is marked winner: %t", name, id, i, len(branches), b.winner)
			}
			if d.bodies[id+" "+b.rev] == 0 {
				tb.Errorf("%s, %q: leaf %s has no body", name, id, b.rev)
			}
		}
		w := branches[len(branches)-1]
		if w.count != int64(len(branches)) {
			tb.Errorf("%s, %q: %d branches, %d noted", name, id, len(branches), w.count)
		}
		e, ok := d.entries[w.seq]
		if !ok || e.id != id || e.rev != w.rev || e.live != w.live || e.count != w.count {
			tb.Errorf("%s, %q: winner %+v, entry %+v", name, id, w, e)
		}
		entries--
		listed, isListed := d.allDocs[id]
		if isListed != w.live || w.live && listed != w.rev {
			tb.Errorf("%s, %q: winner %+v, listed as %q", name, id, w, listed)
		}
		delete(d.allDocs, id)
		if len(id) > 8 && id[:8] == "_design/" && d.designs[id] != listed {
			tb.Errorf("%s, %q: design entry %q, winner %+v", name, id, d.designs[id], w)
		}
		counter := "doc_del_count"
		if w.live {
			counter = "doc_count"
		}
		want[counter]++
		want[d.ofPartition(counter, id)]++
	}
	d.checkShards(tb, name)
	d.checkRefs(tb, name)
	d.checkRanges(tb, name)
	d.checkCounts(tb, name, layer.DefaultFeedShape)
	if entries != 0 {
		tb.Errorf("%s: %d more entries than documents", name, entries)
	}
	if len(d.allDocs) > 0 {
		tb.Errorf("%s: listed without being there: %v", name, d.allDocs)
	}
	leaves := d.leaves()
	for body, n := range d.bodies {
		want["body_bytes"] += int64(n)
		want[d.ofPartition("body_bytes", body)] += int64(n)
		if !leaves[body] && d.heads[body][1]&4 != 0 {
			want["old_body_bytes"] += int64(n)
			want[d.ofPartition("old_body_bytes", body)] += int64(n)
		}
	}
	for a, n := range d.attachments {
		if id, _, _ := strings.Cut(a, " "); !d.uploads[a] {
			want["attachment_bytes"] += n
			want[d.ofPartition("attachment_bytes", id)] += n
			if d.old[a] {
				want["old_attachment_bytes"] += n
				want[d.ofPartition("old_attachment_bytes", id)] += n
			}
		}
	}
	for shard, n := range d.shardQueued {
		if d.queued[shard] != n {
			tb.Errorf("%s: %d superseded bodies in the queue of shard %s, should be %d", name, d.queued[shard], shard,
				n)
		}
	}
	want["purges"] = d.purges + d.counters["purges_dropped"]
	delete(want, "")
	for counter := range d.counters { // including those that should be zero
		if base, _, _ := strings.Cut(counter,
			"/"); !slices.Contains([]string{"doc_count", "doc_del_count", "superseded", "body_bytes",
			"attachment_bytes", "old_body_bytes", "old_attachment_bytes"}, base) {
			continue
		}
		want[counter] += 0
	}
	for counter, n := range want {
		if d.counters[counter] != n {
			tb.Errorf("%s: counter %s is %d, should be %d", name, counter, d.counters[counter], n)
		}
	}
}

// checkRefs checks that the counter of every attachment is the number of counted bodies that refer to it, and that no
// data exists that is neither referred to nor due to be checked.
func (d *keyDump) checkRefs(tb rapid.TB, name string) {
	tb.Helper()
	counted, uncounted, inLeaf := map[string]int64{}, map[string]int64{}, map[string]bool{}
	leaves := d.leaves()
	for body, b := range d.heads {
		id := body[:strings.LastIndexByte(body, ' ')]
		flags := b[1]
		_, w := binary.Uvarint(b[2:])
		n, w2 := binary.Uvarint(b[2+w:])
		for b = b[2+w+w2:]; n > 0; n-- {
			for field := 0; ; field++ {
				rest, err := tuple.Skip(b)
				if err != nil {
					tb.Fatalf("%s: body of %s: %v", name, body, err)
				}
				if field < 7 {
					b = rest
					continue
				}
				v, err := tuple.Unpack(b[:len(b)-len(rest)])
				if err != nil {
					tb.Fatalf("%s: body of %s: %v", name, body, err)
				}
				inLeaf[fmt.Sprint(id, v[0])] = inLeaf[fmt.Sprint(id, v[0])] || leaves[body]
				if b = rest; flags&2 != 0 {
					counted[fmt.Sprint(id, v[0])]++
				} else {
					uncounted[fmt.Sprint(id, v[0])]++
				}
				break
			}
		}
	}
	for a, n := range d.refs {
		if n > 1<<59 {
			if n -= 1 << 60; uncounted[a] > 0 {
				tb.Errorf("%s: attachment %s is marked as counted, but %d bodies are not", name, a, uncounted[a])
			}
		}
		if n > 1<<57 {
			n -= 1 << 58
			d.old[a] = true
		}
		if sum := counted[a] + uncounted[a]; d.old[a] != (sum > 0 && !inLeaf[a]) {
			tb.Errorf("%s: attachment %s is marked as one without a leaf: %t, but a leaf refers to it: %t, of %d bodies",
				name, a, d.old[a], inLeaf[a], sum)
		}
		if n != counted[a] {
			tb.Errorf("%s: attachment %s is counted %d times, and in %d bodies", name, a, n, counted[a])
		}
		delete(counted, a)
	}
	if len(counted) > 0 {
		tb.Errorf("%s: attachments without counters: %v", name, counted)
	}
}

// checkRanges checks the counters of ranges of the list of documents. What an unsettled range lacks is in the counter
// of the one that it was cut off.
func (d *keyDump) checkRanges(tb rapid.TB, name string) {
	tb.Helper()
	want := map[int64]int64{}
	for id, branches := range d.branches {
		if branches[len(branches)-1].live {
			want[d.rangeOf(id)]++
		}
	}
	for number, from := range d.cutOff {
		_, chained := d.cutOff[from]
		if _, ok := d.ranges[number]; !ok || from != 0 && d.ranges[from] >= d.ranges[number] || chained {
			tb.Errorf("%s: there is no range %d, or it was not cut off %d", name, number, from)
		}
		lacks := want[number] - d.rangeCounts[number]
		want[number] -= lacks
		want[from] += lacks
	}
	for number, n := range d.rangeCounts {
		if _, ok := d.ranges[number]; !ok || n != want[number] {
			tb.Errorf("%s: the counter of range %d (%q) is %d, should be %d", name, number, d.ranges[number], n,
				want[number])
		}
		delete(want, number)
	}
	delete(want, 0)
	for number, n := range want {
		if n != 0 {
			tb.Errorf("%s: range %d (%q) has no counter, should be %d", name, number, d.ranges[number], n)
		}
	}
}

// rangeOf returns the number of the range that an id is in, or 0.
func (d *keyDump) rangeOf(id string) (number int64) {
	for n, first := range d.ranges {
		if first <= id && (number == 0 || first > d.ranges[number]) {
			number = n
		}
	}
	return number
}

// leaves returns the bodies of all leaves.
func (d *keyDump) leaves() map[string]bool {
	of := map[string]bool{}
	for id, branches := range d.branches {
		for _, b := range branches {
			of[id+" "+b.rev] = true
		}
	}
	return of
}

// ofPartition returns the name of a counter for the partition of an id, or "" if there is none.
func (d *keyDump) ofPartition(counter, id string) string {
	partition, _, ok := strings.Cut(id, ":")
	if !d.partitioned || !ok || strings.HasPrefix(id, "_design/") {
		return ""
	}
	return counter + "/" + partition
}

// checkShards checks that every entry is in a shard of the map that was active at its sequence (P3, P4), that every map
// except the last is marked as replaced, and that no shard id is used twice (P1).
func (d *keyDump) checkShards(tb rapid.TB, name string) {
	tb.Helper()
	used := map[string]bool{}
	for i, m := range d.maps {
		if m.tomb != (i < len(d.maps)-1) {
			tb.Errorf("%s: map %d of %d is marked replaced: %t", name, i, len(d.maps), m.tomb)
		}
		for _, id := range m.shards {
			if used[id] {
				tb.Errorf("%s: shard %s is in two maps", name, id)
			}
			used[id] = true
		}
	}
	for seq, e := range d.entries {
		active := 0
		for i, m := range d.maps {
			if i > 0 && m.since < seq {
				active = i
			}
		}
		m := d.maps[active]
		if !slices.Contains(m.shards, e.shard) && !(len(m.shards) == 0 && e.shard == "") {
			tb.Errorf("%s, %q: its entry at %s is in shard %q, the map since %s has %v", name, e.id, seq, e.shard,
				m.since, m.shards)
		}
	}
}
