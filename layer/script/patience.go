package script

import (
	"sync/atomic"
	"time"
)

// patience limits how long a map function may take over a document. It starts at Limits.Time and is halved with every
// document at which the function is stopped, so that a function that loops on many documents does not delay its index
// for seconds at each of them. It doubles again with every thousand documents that finish well within the limit.
type patience struct {
	time   time.Duration
	strike []strikes // by function
}

type strikes struct{ halved, well atomic.Int32 }

const (
	// leastPatience is enough for any function that does not loop, also on a busy machine.
	leastPatience = 100 * time.Millisecond
	maxHalved     = 10
	wellAgain     = 1000
)

func newPatience(limit time.Duration, functions int) *patience {
	return &patience{limit, make([]strikes, functions)}
}

func (p *patience) limit(function int) time.Duration {
	return max(p.time>>p.strike[function].halved.Load(), min(p.time, leastPatience))
}

func (p *patience) stopped(function int) {
	s := &p.strike[function]
	s.well.Store(0)
	if s.halved.Load() < maxHalved {
		s.halved.Add(1)
	}
}

func (p *patience) endedWell(function int) {
	s := &p.strike[function]
	if s.halved.Load() > 0 && s.well.Add(1) == wellAgain {
		s.well.Store(0)
		s.halved.Add(-1)
	}
}
