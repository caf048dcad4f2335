package kv

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// Counts counts what Transact does with an engine. An engine that embeds it is counted. It is safe for concurrent use.
type Counts struct {
	commits, conflicts, retries atomic.Int64
	took                        atomic.Int64 // sum of the latencies, in nanoseconds
	latency                     [latencyBuckets]atomic.Int64
}

// latencyBuckets is the number of buckets of latencies: four for each power of two, from one microsecond on.
const latencyBuckets = 4 * 32

// Tally returns the counts themselves. Engines inherit it.
func (c *Counts) Tally() *Counts { return c }

// Counted is what was counted since the engine was opened.
type Counted struct {
	Commits   int64         // of transactions that wrote
	Conflicts int64         // attempts that met a conflict
	Retries   int64         // attempts after the first one, for any reason
	Took      time.Duration // of all commits together
	// Latency has the numbers of commits by the time that they took, without what came before in the transaction.
	Latency [latencyBuckets]int64
}

// Counted returns the current counts. Commits in progress may be in some of them only.
func (c *Counts) Counted() Counted {
	n := Counted{Commits: c.commits.Load(), Conflicts: c.conflicts.Load(), Retries: c.retries.Load(),
		Took: time.Duration(c.took.Load())}
	for i := range c.latency {
		n.Latency[i] = c.latency[i].Load()
	}
	return n
}

func (c *Counts) committed(took time.Duration) {
	c.commits.Add(1)
	c.took.Add(int64(took))
	c.latency[bucket(took)].Add(1)
}

// failed counts an attempt that was not committed, and is or is not followed by another one.
func (c *Counts) failed(err error, again bool) {
	if IsCode(err, CodeNotCommitted) {
		c.conflicts.Add(1)
	}
	if again {
		c.retries.Add(1)
	}
}

// bucket returns the bucket of a duration: its power of two in microseconds, and the two bits below.
func bucket(d time.Duration) int {
	us := uint64(max(1, d.Microseconds()))
	power := bits.Len64(us) - 1
	quarter := us << 2 >> power & 3
	return min(4*power+int(quarter), latencyBuckets-1)
}

// Since returns what was counted after before.
func (n Counted) Since(before Counted) Counted {
	n.Commits -= before.Commits
	n.Conflicts -= before.Conflicts
	n.Retries -= before.Retries
	n.Took -= before.Took
	for i := range n.Latency {
		n.Latency[i] -= before.Latency[i]
	}
	return n
}

// Quantile returns the time within which a share q of the commits were done, to about a tenth, or 0 if there were none.
func (n Counted) Quantile(q float64) time.Duration {
	total := int64(0)
	for _, count := range n.Latency {
		total += count
	}
	rank, seen := int64(math.Ceil(q*float64(total))), int64(0)
	for i, count := range n.Latency {
		if seen += count; count > 0 && seen >= rank {
			low := math.Ldexp(1+float64(i%4)/4, i/4) // in microseconds
			width := math.Ldexp(0.25, i/4)
			return time.Duration((low + width/2) * float64(time.Microsecond))
		}
	}
	return 0
}

// Within returns the number of commits that took less than 2^power microseconds, for a power of at most 31.
func (n Counted) Within(power int) int64 {
	total := int64(0)
	for _, count := range n.Latency[:4*power] {
		total += count
	}
	return total
}

// counting returns the counts of an engine, or counts that nobody reads.
func counting(e Engine) *Counts {
	if c, ok := e.(interface{ Tally() *Counts }); ok {
		return c.Tally()
	}
	return &uncounted
}

var uncounted Counts
