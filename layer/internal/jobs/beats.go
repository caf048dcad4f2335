package jobs

import (
	"sync"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// beat is the heartbeat of a job that runs.
type beat struct {
	Token, Count int64
	Lease        time.Duration
	Worker, Life string
}

func writeBeat(s *db.Store, tx kv.Transaction, j *Job, b beat) {
	tx.MakesRoom() // as the job's record does
	value := tuple.AppendInt(tuple.AppendInt(tuple.AppendInt(nil, b.Token), b.Count), b.Lease.Milliseconds())
	tx.Set(jobBeatKey(s, j), tuple.AppendString(tuple.AppendString(value, b.Worker), b.Life))
}

// readBeat is nil where the job does not run.
func readBeat(s *db.Store, tx kv.Reader, j *Job) (*beat, error) {
	value, err := tx.Get(jobBeatKey(s, j)).Wait()
	if value == nil || err != nil {
		return nil, err
	}
	return ParseBeat(value)
}

func ParseBeat(value []byte) (*beat, error) {
	b, rest := &beat{}, value
	var millis int64
	var err error
	for _, n := range []*int64{&b.Token, &b.Count, &millis} {
		if *n, rest, err = tuple.TakeInt(rest); err != nil {
			return nil, db.Corrupt("heartbeat of a job", err)
		}
	}
	for _, text := range []*string{&b.Worker, &b.Life} {
		if *text, rest, err = tuple.TakeString(rest); err != nil {
			return nil, db.Corrupt("heartbeat of a job", err)
		}
	}
	b.Lease = time.Duration(millis) * time.Millisecond
	return b, nil
}

const (
	// looksPerLease is how often at least a heartbeat is looked at within its lease.
	looksPerLease = 4
	// longestLook: one look counts at most this part of a lease, a third. A look after a long time, because the store
	// or this process stood still, counts no more than the ones before it: the worker may have stood still for the same
	// reason, and gets the time to go on.
	longestLook = 3
)

var BeatsSlot = db.NewSlot[Beats]()

func beatsOf(s *db.Store) *Beats { return BeatsSlot.Of(s) }

// Beats is what this process has seen of heartbeats, and for how long each has stood still since. It goes by this
// process's monotonic clock alone.
type Beats struct {
	mu   sync.Mutex
	seen map[string]map[string]*seenBeat // by type and id
}

type seenBeat struct {
	value string
	quiet time.Duration // it has stood still for this long, at least
	last  time.Time     // the last look
}

// look begins a look at all heartbeats of a type, and locks b until its end. begun is before they were read.
func (b *Beats) look(typ string, begun time.Time) *beatsLook {
	b.mu.Lock()
	if b.seen == nil {
		b.seen = map[string]map[string]*seenBeat{}
	}
	return &beatsLook{b: b, typ: typ, begun: begun, next: map[string]*seenBeat{}}
}

type beatsLook struct {
	b     *Beats
	typ   string
	begun time.Time
	next  map[string]*seenBeat
}

// at is when a job may be taken over, or when to look at it again.
func (l *beatsLook) at(id, value string, lease time.Duration, gone bool) time.Time {
	now := time.Now()
	x := l.b.seen[l.typ][id]
	if x == nil || x.value != value {
		x = &seenBeat{value: value, last: now}
	} else if step := l.begun.Sub(x.last); step > 0 {
		x.quiet += min(step, lease/longestLook)
		x.last = l.begun
	}
	l.next[id] = x
	need := lease
	if gone {
		need = lease / longestLook // it may be that only gossip has lost it
	}
	if left := need - x.quiet; left > 0 {
		return now.Add(min(left, lease/looksPerLease))
	}
	return now.Add(need - x.quiet)
}

// end forgets what was not seen.
func (l *beatsLook) end() {
	l.b.seen[l.typ] = l.next
	l.b.mu.Unlock()
}
