package intake

import (
	"net/http"

	"github.com/divandb/divan/node/api/internal/fault"
)

// A waiting feed may hold what it keeps of its body, such as a list of ids, for hours. So a feed waits for that memory
// as soon as the size of its body is known, and before any of it is in memory. It requests an estimate, and gives back
// the rest once the body is parsed. While it waits it holds nothing that other requests wait for.

// ErrFeedsHold is the answer to a feed for which there is no memory.
var ErrFeedsHold = &fault.Fault{
	Status: http.StatusServiceUnavailable, Name: "service unavailable",
	Reason: "Waiting feeds hold all the memory for the lists and selectors of feeds " +
		"(a part of http.bodies of the node's settings). Try again later.",
	Header: http.Header{"Retry-After": {fault.RetryAfter}},
}

// reservation is the memory for what a feed keeps while it waits.
type reservation struct {
	cost  func(size int64) int64 // estimates what a body of that size needs; nil: the request keeps nothing
	made  bool
	share *share
}

// Reserve waits for the memory for a body of that size. Only the first call has an effect.
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

// asks reports whether the reservation still has to be made.
func (r *reservation) asks() bool { return r.cost != nil && !r.made }

// WillKeep declares that the request is a waiting feed that keeps cost(size) bytes of its body or its parameters.
func (b *Body) WillKeep(cost func(size int64) int64) { b.keeps.cost = cost }

// ShrinkParts reduces the memory for what the body was parsed into to n bytes.
func (b *Body) ShrinkParts(n int64) {
	for _, s := range b.parsed {
		s.shrink(n)
	}
}

// Keep changes what a feed holds to the n bytes that its filter keeps.
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
	if err := b.keeps.share.grow(n); err != nil { // it holds a body and must not wait
		return err
	}
	b.keeps.share.shrink(n)
	b.releaseParts()
	return nil
}
