package runtime

import (
	"math/rand/v2"
	"time"
)

// Backoff produces pauses that double up to a limit, with jitter, so that many clients of one store do not return at
// the same time.
type Backoff struct {
	first, limit, pause time.Duration
}

// NewBackoff returns a Backoff whose pauses begin with first and do not exceed limit.
func NewBackoff(first, limit time.Duration) Backoff { return Backoff{first: first, limit: limit} }

// Next returns the pause before the next attempt.
func (b *Backoff) Next() time.Duration {
	b.pause = min(max(b.first, 2*b.pause), b.limit)
	return b.pause/2 + rand.N(b.pause/2+1)
}

// Reset starts again with the first pause, after a success.
func (b *Backoff) Reset() { b.pause = 0 }
