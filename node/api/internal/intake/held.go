package intake

import (
	"net/http"

	"github.com/divandb/divan/node/api/internal/fault"
)

// What a feed keeps of its body while it waits, such as a list of ids, may be held for hours. So a feed waits for that
// memory when the size of its body is known and nothing of it is in memory. It asks for what the body may come to, and
// gives back what it does not need once it is parsed. While it waits it holds nothing that other requests wait for.

// ErrFeedsHold is the answer to a feed for which there is no memory.
var ErrFeedsHold = &fault.Fault{
	Status: http.StatusServiceUnavailable, Name: "service unavailable",
	Reason: "Feeds that wait hold all the memory for the lists and selectors of feeds " +
		"(a part of http.bodies of the node's settings). Try again later.",
	Header: http.Header{"Retry-After": {fault.RetryAfter}},
}

// reservation is what a feed holds of the lane for what it keeps.
type reservation struct {
	cost  func(size int64) int64 // of what a body of that size comes to, about; nil: the request keeps nothing
	made  bool
	share *share
}

// Reserve waits for the memory of what a body of that size comes to. Only the first call counts.
func (b *Body) Reserve(size int64) error {
	if !b.keeps.asks() {
		return nil
	}
	n := b.keeps.cost(size)
	if n > freeBody {
		s, err := b.budget.held.take(b.ctx(), b.Client, n)
		if err != nil {
			return err
		}
		b.keeps.share = s
	}
	b.keeps.made = true
	return nil
}

// asks reports whether it waits for the size of the body.
func (r *reservation) asks() bool { return r.cost != nil && !r.made }

// WillKeep says that the request is a feed that waits, and keeps something of its body, or of its parameters, of that
// many bytes.
func (b *Body) WillKeep(cost func(size int64) int64) { b.keeps.cost = cost }

// ShrinkParts has the request hold no more than n bytes of what its body was parsed into.
func (b *Body) ShrinkParts(n int64) {
	for _, s := range b.parsed {
		s.shrink(n)
	}
}

// Keep has a feed hold no more than the n bytes that its filter keeps.
func (b *Body) Keep(n int64) error {
	l := &b.budget.held
	if n > l.most {
		return fault.TooMany
	}
	if n <= freeBody {
		n = 0
	}
	if b.keeps.share == nil {
		b.keeps.share = &share{lane: l, client: b.Client}
	}
	if err := b.keeps.share.grow(n); err != nil { // it holds a body, and must not wait
		return err
	}
	b.keeps.share.shrink(n)
	b.releaseParts()
	return nil
}
