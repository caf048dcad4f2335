package transfer

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/divandb/divan/node/replicate/couch"
)

// maxQueued bounds the memory of changes that wait for a worker, in bytes.
const maxQueued = 4 << 20

// gather is how long a worker waits for a batch to become full. It bounds what a batch adds to the time until a change
// arrives, and lets changes that come one after the other share their requests.
const gather = 5 * time.Millisecond

// item is a change of a stream, or only a sequence that the stream has reached.
type item struct {
	stream int
	change couch.Change // without ID: only Seq
}

func (i *item) size() int {
	n := 100 + len(i.change.ID) + len(i.change.Seq)
	for _, rev := range i.change.Revs {
		n += 32 + len(rev)
	}
	return n
}

// queue has changes that were read and wait for a worker. Readers wait while it is full.
type queue struct {
	mu       sync.Mutex
	changed  sync.Cond
	items    []item
	bytes    int
	maxItems int
	maxBytes int
	closed   bool
}

func newQueue(items, bytes int) *queue {
	q := &queue{maxItems: items, maxBytes: bytes}
	q.changed.L = &q.mu
	return q
}

// put adds an item. It returns false if the queue was closed.
func (q *queue) put(i item) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && (len(q.items) >= q.maxItems || q.bytes > q.maxBytes) {
		q.changed.Wait()
	}
	if q.closed {
		return false
	}
	q.items = append(q.items, i)
	q.bytes += i.size()
	q.changed.Broadcast()
	return true
}

// close ends the queue. What is in it can still be taken.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// take returns up to most items of one stream, or none when the queue is closed and empty. taken is called with the
// lock held, before another worker can take later items.
func (q *queue) take(most int, taken func(stream int, last json.RawMessage)) []item {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 && !q.closed {
		q.changed.Wait()
	}
	if len(q.items) > 0 && len(q.items) < most && !q.closed {
		q.mu.Unlock()
		time.Sleep(gather)
		q.mu.Lock()
	}
	if len(q.items) == 0 {
		if q.closed {
			return nil
		}
		return []item{} // another worker has taken them
	}
	list := q.pick(most)
	for i := range list {
		q.bytes -= list[i].size()
	}
	taken(list[0].stream, list[len(list)-1].change.Seq)
	q.changed.Broadcast()
	return list
}

// pick removes the items of the stream that the first one belongs to.
func (q *queue) pick(most int) []item {
	stream := q.items[0].stream
	list := make([]item, 0, min(most, len(q.items)))
	rest := q.items[:0]
	for i := range q.items {
		if len(list) < most && q.items[i].stream == stream {
			list = append(list, q.items[i])
		} else {
			rest = append(rest, q.items[i])
		}
	}
	clear(q.items[len(rest):])
	q.items = rest
	return list
}
