package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// feedLine is one line of a continuous feed: a row or the last line.
type feedLine struct {
	Seq, ID   string
	Changes   []struct{ Rev string }
	LastSeq   string `json:"last_seq"`
	Resharded *shardMap
}

// shardMap is a map of changes shards as HTTP shows it.
type shardMap struct {
	Since     string
	Shards    []string
	Tombstone bool
}

// consumer follows feeds and records what it saw. Its fields are guarded by mu.
type consumer struct {
	mu     sync.Mutex
	newest map[string]feedLine // by document
	shard  map[string]string   // from sequence to the shard in whose feed it was seen
	next   map[string]string   // from shard to the sequence at which it was replaced
	faults []string
}

func newConsumer() *consumer {
	return &consumer{newest: map[string]feedLine{}, shard: map[string]string{}, next: map[string]string{}}
}

func (c *consumer) fault(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// follow reads one feed until it ends, or until says that no more will come. It returns the topology at the end of a
// replaced shard's feed.
func (c *consumer) follow(from *client, shard, since string, until func(seen map[string]feedLine) bool) *shardMap {
	path := "/db/_changes"
	if shard != "" {
		path += "/" + shard
	}
	body := from.stream(path + "?feed=continuous&heartbeat=500&since=" + since)
	defer body.Close()
	last := since
	for lines := bufio.NewScanner(body); lines.Scan(); {
		var line feedLine
		if lines.Text() != "" {
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				c.fault("%s sent %q", path, lines.Text())
				return nil
			}
		}
		switch {
		case line.Resharded != nil:
			c.mu.Lock()
			c.next[shard] = line.Resharded.Since
			c.mu.Unlock()
			return line.Resharded
		case line.LastSeq != "":
			c.fault("%s ended with %q", path, lines.Text())
			return nil
		case line.Seq != "":
			c.see(&line, shard, last)
			last = line.Seq
		}
		c.mu.Lock()
		done := until(c.newest)
		c.mu.Unlock()
		if done {
			return nil
		}
	}
	c.fault("%s was interrupted", path)
	return nil
}

func (c *consumer) see(line *feedLine, shard, last string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last != "0" && line.Seq <= last {
		c.faults = append(c.faults, fmt.Sprintf("shard %q: %s after %s", shard, line.Seq, last))
	}
	if _, twice := c.shard[line.Seq]; twice {
		c.faults = append(c.faults, fmt.Sprintf("shard %q: %s came twice", shard, line.Seq))
	}
	c.shard[line.Seq] = shard
	if old := c.newest[line.ID]; old.Seq < line.Seq {
		c.newest[line.ID] = *line
	} else if shard == "" {
		c.faults = append(c.faults, fmt.Sprintf("%s at %s after %s", line.ID, line.Seq, old.Seq))
		// otherwise the document has moved to a shard that replaces this one, whose consumer did not wait for the end
		// of all replaced shards
	}
}

// followShards follows the shards of a map and their replacements.
func (c *consumer) followShards(from []*client, m *shardMap, until func(map[string]feedLine) bool) {
	var feeds sync.WaitGroup
	var started sync.Map
	var start func(m *shardMap)
	start = func(m *shardMap) {
		for i, shard := range m.Shards {
			if _, again := started.LoadOrStore(shard, true); again {
				continue
			}
			feeds.Go(func() {
				if next := c.follow(from[i%len(from)], shard, m.Since, until); next != nil {
					start(next)
				}
			})
		}
	}
	start(m)
	feeds.Wait()
}

// P3 to P6 from outside, on two nodes on one store: 32 writers, reshards up and down, four of them requested at the
// same moment, a consumer of the merged feed and one of every shard. Writers only see latency. No entry is lost,
// repeated or in a shard that had already been replaced.
func TestReshard_UnderLoad(t *testing.T) {
	c := startCluster(t, 2)
	nodes := []*client{c.nodes[0].client(), c.nodes[1].client()}
	for i := range nodes {
		nodes[i].http.Timeout = 0
		eventually(t, "the nodes see each other", 20*time.Second, func() bool {
			return strings.Count(c.statuses(i), "alive") == 2
		})
	}
	nodes[0].ok("PUT", "/db?changes_shards=2", "")
	var meta struct{ Maps []shardMap }
	nodes[1].into("/db/_changes/_meta", &meta)

	const writers, docs = 32, 4
	var stop atomic.Bool
	var writing sync.WaitGroup
	var mu sync.Mutex
	final := map[string]string{} // from document to revision; complete once all writers have ended
	var slowest time.Duration
	writes := 0
	for w := range writers {
		writing.Go(func() {
			var revs [docs]string
			for i := 0; !stop.Load() || i < docs; i++ {
				id, began := fmt.Sprintf("w%d-%d", w, i%docs), time.Now()
				body := fmt.Sprintf(`{"i":%d}`, i)
				if revs[i%docs] != "" {
					body = fmt.Sprintf(`{"_rev":%q,"i":%d}`, revs[i%docs], i)
				}
				r, err := nodes[(w+i)%2].try("PUT", "/db/"+id, body)
				if err != nil || r.status != 201 {
					t.Errorf("a writer gets %d %s, %v", r.status, r.body, err)
					return
				}
				var ok struct{ Rev string }
				if err := json.Unmarshal(r.body, &ok); err != nil {
					t.Error(err)
					return
				}
				revs[i%docs] = ok.Rev
				mu.Lock()
				slowest = max(slowest, time.Since(began))
				writes++
				mu.Unlock()
			}
			mu.Lock()
			defer mu.Unlock()
			for n, rev := range revs {
				final[fmt.Sprintf("w%d-%d", w, n)] = rev
			}
		})
	}
	until := func(seen map[string]feedLine) bool {
		mu.Lock()
		defer mu.Unlock()
		if len(final) < writers*docs {
			return t.Failed()
		}
		for id, rev := range final {
			if line := seen[id]; len(line.Changes) == 0 || line.Changes[0].Rev != rev {
				return t.Failed()
			}
		}
		return true
	}
	merged, sharded := newConsumer(), newConsumer()
	var reading sync.WaitGroup
	reading.Go(func() { merged.follow(nodes[1], "", "0", until) })
	reading.Go(func() { sharded.followShards(nodes, &meta.Maps[0], until) })

	written := func() int {
		mu.Lock()
		defer mu.Unlock()
		return writes
	}
	reshards := 0
	for _, round := range [][]int{{4, 1, 8, 3}, {1}, {6, 2}, {16, 5, 1, 7}} {
		var asked sync.WaitGroup
		for i, n := range round {
			reshards++
			asked.Go(func() {
				r, err := nodes[i%2].try("POST", "/db/_changes/_reshard", fmt.Sprintf(`{"shard_count":%d}`, n))
				var m shardMap
				if err == nil {
					err = json.Unmarshal(r.body, &m)
				}
				if err != nil || r.status != 200 || len(m.Shards) != n {
					t.Errorf("resharding to %d: %d %s, %v", n, r.status, r.body, err)
				}
			})
		}
		asked.Wait()
		from := written()
		eventually(t, "writes continue after a reshard", 30*time.Second, func() bool {
			return t.Failed() || written() > from+300
		})
	}
	stop.Store(true)
	writing.Wait()
	reading.Wait()
	t.Logf("%d writes, the slowest in %v; %d and %d rows", writes, slowest, len(merged.shard), len(sharded.shard))
	for name, c := range map[string]*consumer{"merged": merged, "sharded": sharded} {
		for _, fault := range c.faults {
			t.Errorf("%s: %s", name, fault)
		}
	}
	if slowest > 15*time.Second { // of a machine that is also busy otherwise
		t.Errorf("a write took %v", slowest)
	}

	// Nothing was written to a shard after the sequence at which it was replaced, and the quiescent feed has each
	// document once, with its last revision.
	nodes[0].into("/db/_changes/_meta?since=0", &meta)
	if len(meta.Maps) != reshards+1 {
		t.Fatalf("%d maps after %d reshards", len(meta.Maps), reshards)
	}
	end := map[string]string{}
	for i, m := range meta.Maps {
		if m.Tombstone != (i < len(meta.Maps)-1) || i > 0 && m.Since <= meta.Maps[i-1].Since {
			t.Errorf("map %d: %+v", i, m)
		}
		for _, shard := range m.Shards {
			if _, again := end[shard]; again {
				t.Errorf("shard %s is in two maps", shard)
			}
			end[shard] = "~"
			if m.Tombstone {
				end[shard] = meta.Maps[i+1].Since
			}
		}
	}
	for seq, shard := range sharded.shard {
		if seq > end[shard] {
			t.Errorf("%s is in shard %s, which was replaced at %s", seq, shard, end[shard])
		}
	}
	for shard, at := range sharded.next {
		if end[shard] != at {
			t.Errorf("the feed of shard %s ended at %s, its map at %s", shard, at, end[shard])
		}
	}
	var whole struct{ Results []feedLine }
	nodes[1].into("/db/_changes", &whole)
	got := map[string]string{}
	for _, row := range whole.Results {
		got[row.ID] = row.Changes[0].Rev
	}
	if len(got) != len(final) || len(whole.Results) != len(final) ||
		!slices.IsSortedFunc(whole.Results, func(a, b feedLine) int {
			return strings.Compare(a.Seq, b.Seq)
		}) {
		t.Errorf("the feed has %d rows and %d documents, want %d", len(whole.Results), len(got), len(final))
	}
	for id, rev := range final {
		if got[id] != rev {
			t.Errorf("the feed has %s at %s, want %s", id, got[id], rev)
		}
	}
}
