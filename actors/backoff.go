package actors

import (
	"math/rand/v2"
	"time"
)

// backoff is pauses that double up to a limit, with jitter so that many who wait for one store do not return together.
type backoff struct {
	first, limit, pause time.Duration
}

func newBackoff(first, limit time.Duration) backoff { return backoff{first: first, limit: limit} }

// next is the pause before the next attempt.
func (b *backoff) next() time.Duration {
	b.pause = min(max(b.first, 2*b.pause), b.limit)
	return b.pause/2 + rand.N(b.pause/2+1)
}

// reset forgets failures after a success.
func (b *backoff) reset() { b.pause = 0 }
