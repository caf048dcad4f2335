package script

import (
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer/script/internal/turns"
)

// patience limits how long a map function may take over a document. It starts at Limits.Time and is halved with every
// document at which the function is stopped, so that a function that loops on many documents does not delay its index
// for seconds at each of them. It doubles again with every thousand documents that finish well within the limit, and
// is always several times what the function has needed for one of them: a slow function that loops on some documents
// still has its time for the others.
type patience struct {
	time   time.Duration
	strike []strikes // by function
}

type strikes struct {
	halved, well atomic.Int32
	longest      atomic.Int64 // nanoseconds of processor time, of a document that finished
}

const (
	// leastPatience is enough for any function that does not loop, also on a busy machine.
	leastPatience = 100 * time.Millisecond
	maxHalved     = 10
	wellAgain     = 1000
	// timesLongest is how many times its longest document a function may take for the next.
	timesLongest = 4
)

func newPatience(limit time.Duration, functions int) *patience {
	return &patience{limit, make([]strikes, functions)}
}

func (p *patience) limit(function int) time.Duration {
	s := &p.strike[function]
	halved := s.halved.Load()
	if halved == 0 {
		return p.time
	}
	return max(p.time>>halved, min(p.time, max(leastPatience, timesLongest*time.Duration(s.longest.Load()))))
}

func (p *patience) stopped(function int) {
	s := &p.strike[function]
	s.well.Store(0)
	if s.halved.Load() < maxHalved {
		s.halved.Add(1)
	}
}

// endedWell records that a document is finished which the function began at a time as of turns.Now, during the turn.
func (p *patience) endedWell(function int, began int64, turn *turns.Turn) {
	s := &p.strike[function]
	if longest := s.longest.Load(); turns.Now()-began > longest { // seldom: a look at the clock is cheaper than Ran
		s.longest.Store(max(longest, turn.Ran())) // one of several at once may be lost, which the next makes good
	}
	if s.halved.Load() > 0 && s.well.Add(1) == wellAgain {
		s.well.Store(0)
		s.halved.Add(-1)
	}
}
