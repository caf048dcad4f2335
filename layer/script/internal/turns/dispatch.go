package turns

import (
	"errors"
	"slices"
	"time"
)

// The methods in this file are called with Turns.mu held, unless they say otherwise.

func (s *Turns) enqueue(t *Turn, resumes bool, n int64) {
	a := t.account
	t.queued = n
	if resumes {
		a.resumed = append(a.resumed, t)
	} else {
		a.queues[t.class] = append(a.queues[t.class], t)
	}
	if a.waiting++; a.waiting == 1 {
		a.passed = n
		a.place = len(s.mu.waiting)
		s.mu.waiting = append(s.mu.waiting, a)
	}
}

// dequeue removes t from its queue and reports whether it was waiting.
func (s *Turns) dequeue(t *Turn) bool {
	a := t.account
	queue := &a.queues[t.class]
	i := slices.Index(*queue, t)
	if i < 0 {
		queue = &a.resumed
		if i = slices.Index(*queue, t); i < 0 {
			return false
		}
	}
	*queue = slices.Delete(*queue, i, i+1)
	if a.waiting--; a.waiting == 0 {
		last := len(s.mu.waiting) - 1
		s.mu.waiting[a.place] = s.mu.waiting[last]
		s.mu.waiting[a.place].place = a.place
		s.mu.waiting[last] = nil
		s.mu.waiting = s.mu.waiting[:last]
	}
	return true
}

// dispatch grants turns to waiting calls, as many as may run.
func (s *Turns) dispatch(n int64) {
	pressing := false
	for {
		var best *Turn
		var least float64
		goesOn := false
		pressing = false
		paused := heaviest{turns: s, now: n}
		for _, a := range s.mu.waiting {
			t, resumes := s.next(a, &paused)
			if t == nil {
				continue
			}
			if s.mu.running >= s.width {
				pressing = pressing || !resumes && !a.beginsLong(t, n)
				continue
			}
			if resumes && s.mu.slow >= s.slow {
				continue
			}
			used := a.used.value(n) + handicap[t.class] - float64(n-a.passed)/1e9
			if !resumes && !s.ready(t, n) {
				used += startHandicap
			}
			if best == nil || used < least {
				best, least, goesOn = t, used, resumes
			}
		}
		if best == nil {
			break
		}
		if !goesOn && s.mu.idle[best.program] == 0 {
			s.mu.made = n // a paused call has its runtime
		}
		s.grant(best, n)
	}
	s.pressing.Store(pressing)
}

// next returns the account's turn that would go first; resumes reports that it continues a long call. It returns nil if
// all would begin as long calls and no long call may begin. Such a call does not hold up those of lower classes: the
// paused ones among them must end before it may begin.
func (s *Turns) next(a *account, paused *heaviest) (t *Turn, resumes bool) {
	n := paused.now
	for class := classes - 1; class >= 0; class-- {
		for _, t := range a.resumed {
			if t.class == class {
				return t, true
			}
		}
		var first *Turn
		q := a.queues[class]
		for _, t := range q[:min(len(q), 100)] {
			if a.beginsLong(t, n) && (s.mu.slow >= s.slow || !s.room(a, paused)) {
				continue
			}
			if s.ready(t, n) {
				return t, false
			}
			if first == nil {
				first = t
			}
		}
		if first != nil {
			return first, false
		}
	}
	return nil, false
}

// ready reports whether there is an idle runtime for the call, or t has waited long enough that a new one should
// replace another's: starting one takes far longer than most calls.
func (s *Turns) ready(t *Turn, n int64) bool {
	return s.mu.idle[t.program] > 0 || n-max(t.queued, s.mu.made) > s.mu.patience
}

// startHandicap is added, in seconds, to the processor time of a database without an idle runtime for its call.
const startHandicap = 0.05

// Started records how long it took to start a runtime: the longer, the longer calls wait before one replaces another.
// It locks Turns.mu.
func (s *Turns) Started(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.patience = int64(max(leastStartWait, min(20*took, mostStartWait)))
}

const (
	leastStartWait = 50 * time.Millisecond
	mostStartWait  = 2 * time.Second
)

// HasIdle records that more runtimes of a program are idle; more may be negative. It locks Turns.mu.
func (s *Turns) HasIdle(program [32]byte, more int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.idle[program] += more; s.mu.idle[program] == 0 {
		delete(s.mu.idle, program)
	}
}

// grant gives the turn to the waiting t.
func (s *Turns) grant(t *Turn, n int64) {
	a := t.account
	a.passed = n
	s.dequeue(t)
	t.runs = true
	s.mu.running++
	if a.beginsLong(t, n) {
		t.long.Store(true)
		t.slow = true
		s.mu.slow++
		if !t.begun {
			s.makeRoom(a, n)
			t.count()
		}
	}
	t.thread = 0 // set by start
	t.since.Store(n)
	t.granted <- struct{}{}
}

// count counts a long call that begins.
func (t *Turn) count() {
	t.begun = true
	t.account.longs++
	t.turns.mu.longs++
}

// forget removes an ended call from the count of long calls.
func (t *Turn) forget() {
	if t.begun {
		t.begun = false
		t.account.longs--
		t.turns.mu.longs--
	}
}

// halt records that a call stops running.
func (t *Turn) halt() {
	if t.runs {
		t.turns.mu.running--
	}
	if t.slow {
		t.turns.mu.slow--
	}
	t.runs, t.slow, t.stuck = false, false, false
}

// charge adds the processor time of t since it was last charged.
func (s *Turns) charge(t *Turn, n int64) {
	if t.thread == 0 || !t.runs && !t.stuck {
		return
	}
	used := threadTime(t.thread)
	seconds := float64(used-t.charged) / 1e9
	did := &t.account.did[t.class]
	t.account.used.add(n, seconds)
	did.used.add(n, seconds)
	if t.begun {
		did.spent.add(n, seconds)
	}
	s.mu.counts.used += seconds
	calls := t.calls.Load()
	if calls == t.counted || calls == 1 {
		t.ran += used - t.charged
	} else {
		t.ran = 0 // the current call began some time in between
	}
	did.calls.add(n, float64(calls-t.counted))
	t.charged, t.counted = used, calls
	t.since.Store(n)
}

// beginLong turns the running call into a long one. It reports whether there may be one more.
func (s *Turns) beginLong(t *Turn, n int64) bool {
	t.markLong(n)
	if !s.room(t.account, &heaviest{turns: s, now: n}) {
		return false
	}
	s.makeRoom(t.account, n)
	t.count()
	t.slow = true
	s.mu.slow++
	return true
}

func (t *Turn) markLong(n int64) {
	if t.long.Load() {
		return
	}
	t.long.Store(true)
	did := &t.account.did[t.class]
	did.spent.add(n, float64(t.ran)/1e9)
	did.long.add(n, 1)
}

// room reports whether the account may begin one more long call, possibly by stopping another's.
func (s *Turns) room(a *account, paused *heaviest) bool {
	return a.longs < s.share && (s.mu.longs < s.most || paused.than(a) != nil)
}

// heaviest finds the accounts with paused calls that have used most. It looks at all accounts when it is first asked,
// and remembers what it found: as many of them as there are may ask before one call is chosen.
type heaviest struct {
	turns *Turns
	now   int64

	looked        bool
	first, second *account // nil if there are fewer
}

// than returns the account with a paused call that has used most, other than a, if it has used more than a. a may be
// nil.
func (h *heaviest) than(a *account) *account {
	if !h.looked {
		h.look()
	}
	found := h.first
	if found == a {
		found = h.second
	}
	if found != nil && a != nil && found.used.value(h.now) <= a.used.value(h.now) {
		return nil
	}
	return found
}

func (h *heaviest) look() {
	h.looked = true
	var most, next float64
	for _, a := range h.turns.mu.waiting {
		if a.lastStoppable() == nil {
			continue
		}
		switch used := a.used.value(h.now); {
		case h.first == nil || used > most:
			h.second, next = h.first, most
			h.first, most = a, used
		case h.second == nil || used > next:
			h.second, next = a, used
		}
	}
}

// makeRoom stops a paused call if the maximum number of long calls has begun.
func (s *Turns) makeRoom(a *account, n int64) {
	if s.mu.longs < s.most {
		return
	}
	if other := (&heaviest{turns: s, now: n}).than(a); other != nil {
		s.stopPaused(other)
	}
}

// stopPaused stops the account's most recently paused call.
func (s *Turns) stopPaused(a *account) {
	t := a.lastStoppable()
	s.dequeue(t)
	t.forget()
	t.stopped = true
	s.mu.counts.stopped++
	t.granted <- struct{}{}
}

// YieldRuntime stops a paused call of the database that has used most, so that its runtime is released. It locks
// Turns.mu.
func (s *Turns) YieldRuntime() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := (&heaviest{turns: s, now: Now()}).than(nil); a != nil {
		s.stopPaused(a)
	}
}

// leave ends the wait of t with err. It locks Turns.mu.
func (s *Turns) leave(t *Turn, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var busy *BusyError
	if errors.As(err, &busy) {
		s.mu.counts.refused++
	}
	if !s.dequeue(t) {
		<-t.granted // granted in the meantime
		t.halt()
	}
	t.forget()
	s.dispatch(Now())
}

// Watch checks the running turns, lets other calls run beside stuck ones, and returns those that must be stopped by
// force. It locks Turns.mu.
func (s *Turns) Watch(n int64, running []*Turn) (stop []*Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var stuck []*Turn
	excess := s.mu.slow - s.slow
	for _, t := range running {
		switch {
		case t.stopped && t.stuck:
			excess--
		case t.stuck:
			s.charge(t, n)
			stuck = append(stuck, t)
		case t.runs && t.thread != 0 && t.silent(n):
			t.becomeStuck(n)
		}
	}
	if excess > 0 {
		slices.SortFunc(stuck, func(a, b *Turn) int {
			if a.account.used.value(n) > b.account.used.value(n) {
				return -1
			}
			return 1
		})
		stop = stuck[:min(excess, len(stuck))]
		for _, t := range stop {
			t.stopped = true
			s.mu.counts.stopped++
		}
	}
	s.dispatch(n)
	s.prune(n)
	return stop
}

// silent reports whether the call runs without calling Ask: it would have called it several times since it was last
// charged.
func (t *Turn) silent(n int64) bool {
	wall := n - t.since.Load()
	if wall < int64(stuckAfter) {
		return false
	}
	ran := threadTime(t.thread) - t.charged
	return ran > int64(stuckAfter) || ran > int64(slice) && wall > 4*int64(stuckAfter)
}

func (t *Turn) becomeStuck(n int64) {
	t.turns.charge(t, n)
	if !t.begun {
		t.markLong(n)
		t.count()
	}
	if !t.slow {
		t.slow = true
		t.turns.mu.slow++
	}
	t.turns.mu.running--
	t.runs, t.stuck = false, true
}

// prune removes inactive accounts, once a second.
func (s *Turns) prune(n int64) {
	const often, least = 1e9, 0.001
	if n-s.mu.pruned < often {
		return
	}
	s.mu.pruned = n
	for name, a := range s.mu.accounts {
		if a.held == 0 && a.used.value(n) < least {
			delete(s.mu.accounts, name)
		}
	}
}

// spares reports whether an account has used little recently. It locks Turns.mu.
func (s *Turns) spares(a *account) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := Now()
	for i := range a.did {
		if a.did[i].heavy(n) {
			return false
		}
	}
	return a.longs == 0 && a.used.value(n) < heavyAfter
}

// OverLimit counts a call that was stopped at a limit. It locks Turns.mu.
func (t *Turn) OverLimit(limit string) {
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	t.turns.mu.counts.limits[limit]++
}
