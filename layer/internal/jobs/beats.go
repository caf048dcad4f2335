package jobs

import (
	"sync"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// beat is the heartbeat of a running job.
type beat struct {
	Token, Count int64
	Lease        time.Duration
	Worker, Life string
}

func writeBeat(s *db.Store, tx kv.Transaction, j *Job, b beat) {
	tx.MakesRoom() // like the job's record
	value := tuple.AppendInt(tuple.AppendInt(tuple.AppendInt(nil, b.Token), b.Count), b.Lease.Milliseconds())
	tx.Set(jobBeatKey(s, j), tuple.AppendString(tuple.AppendString(value, b.Worker), b.Life))
}

// readBeat returns nil if the job is not running.
func readBeat(s *db.Store, tx kv.Reader, j *Job) (*beat, error) {
	value, err := tx.Get(jobBeatKey(s, j)).Wait()
	if value == nil || err != nil {
		return nil, err
	}
	return ParseBeat(value)
}

// ParseBeat decodes a heartbeat.
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
	// looksPerLease is the minimum number of times that a heartbeat is checked within its lease.
	looksPerLease = 4
	// longestLook limits what a single check counts to a third of a lease, however long ago the previous one was. If
	// this process or the store was suspended, the worker may have been suspended for the same reason, and gets time to
	// continue.
	longestLook = 3
)

var BeatsSlot = db.NewSlot[Beats]()

func beatsOf(s *db.Store) *Beats { return BeatsSlot.Of(s) }

// Beats is what this process knows about heartbeats: their values, and for how long each has not changed. It uses only
// this process's monotonic clock.
type Beats struct {
	mu   sync.Mutex
	seen map[string]map[string]*seenBeat // by type and id
}

type seenBeat struct {
	value string
	quiet time.Duration // has not changed for at least this long
	last  time.Time     // time of the last check
}

// look begins a check of all heartbeats of a type. It locks b until end is called. begun is the time before they were
// read.
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

// at returns when a job may be taken over or should be checked again.
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
		need = lease / longestLook // perhaps only gossip has lost it
	}
	if left := need - x.quiet; left > 0 {
		return now.Add(min(left, lease/looksPerLease))
	}
	return now.Add(need - x.quiet)
}

// end forgets heartbeats that were not seen, and unlocks.
func (l *beatsLook) end() {
	l.b.seen[l.typ] = l.next
	l.b.mu.Unlock()
}
