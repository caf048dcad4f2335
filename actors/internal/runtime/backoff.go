package runtime

import (
	"math/rand/v2"
	"time"
)

// Backoff is pauses that double up to a limit, with jitter so that many who wait for one store do not return together.
type Backoff struct {
	first, limit, pause time.Duration
}

// NewBackoff makes pauses that begin with first and are no longer than limit.
func NewBackoff(first, limit time.Duration) Backoff { return Backoff{first: first, limit: limit} }

// Next is the pause before the next attempt.
func (b *Backoff) Next() time.Duration {
	b.pause = min(max(b.first, 2*b.pause), b.limit)
	return b.pause/2 + rand.N(b.pause/2+1)
}

// Reset forgets failures after a success.
func (b *Backoff) Reset() { b.pause = 0 }
