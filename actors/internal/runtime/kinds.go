package runtime

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/eventstream"
)

// durationBuckets are the upper bounds of message durations, in seconds.
var durationBuckets = []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5}

// KindMetrics are the metrics of all actors of one kind.
type KindMetrics struct {
	Kind      string
	Running   int
	Mailbox   int // messages waiting
	Spawned   int64
	Stopped   int64
	Restarted int64 // after failures
	Durations Histogram
}

// Histogram is a histogram of seconds. Counts[i] is how many were at most Bounds[i] and above the bound before. Count
// includes those above all bounds.
type Histogram struct {
	Bounds []float64
	Counts []int64
	Count  int64
	Sum    float64
}

// Add counts a duration in seconds. It is not safe for concurrent use.
func (h *Histogram) Add(seconds float64) {
	h.Count++
	h.Sum += seconds
	if i, _ := slices.BinarySearch(h.Bounds, seconds); i < len(h.Bounds) {
		h.Counts[i]++
	}
}

// kinds counts events of actors, by kind.
type kinds struct {
	proto *actor.ActorSystem
	dead  *eventstream.Subscription

	mu struct {
		sync.Mutex
		of          map[string]*KindMetrics
		deadLetters int64
		lastDead    string // the last dead letter: its kind, and to whom
		parked      []ParkedMessage
	}
}

// NodeFacts describe the top of the tree.
type NodeFacts struct {
	// DeadLetters counts messages to actors that had ended, since the start. Some are usual: an actor without work ends
	// while a message comes, and begins again with the next one.
	DeadLetters int64 `json:"dead_letters"`
	// LastDeadLetter is the kind of the last of these messages, and the actor that it was for.
	LastDeadLetter string `json:"last_dead_letter,omitempty"`
	// Parked are the last messages at which actors failed, oldest first. They are not delivered again.
	Parked []ParkedMessage `json:"parked,omitempty"`
}

// facts returns the current NodeFacts.
func (k *kinds) facts() NodeFacts {
	k.mu.Lock()
	defer k.mu.Unlock()
	return NodeFacts{k.mu.deadLetters, k.mu.lastDead, slices.Clone(k.mu.parked)}
}

func newKinds(proto *actor.ActorSystem) *kinds {
	k := &kinds{proto: proto}
	k.mu.of = map[string]*KindMetrics{}
	k.dead = proto.EventStream.Subscribe(func(event any) {
		if e, ok := event.(*actor.DeadLetterEvent); ok {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.mu.deadLetters++
			k.mu.lastDead = deadLetter(e)
		}
	})
	return k
}

// deadLetter says what a dead letter is and whom it was for.
func deadLetter(e *actor.DeadLetterEvent) string {
	message := content(e.Message)
	to := "an actor"
	if e.PID != nil {
		to, _ = url.PathUnescape(e.PID.Id) // on error it is empty
	}
	return fmt.Sprintf("%T to %s", message, to)
}

func (k *kinds) close() { k.proto.EventStream.Unsubscribe(k.dead) }

// count changes the metrics of a kind.
func (k *kinds) count(kind string, change func(m *KindMetrics)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := k.mu.of[kind]
	if m == nil {
		m = &KindMetrics{Kind: kind,
			Durations: Histogram{Bounds: durationBuckets, Counts: make([]int64, len(durationBuckets))}}
		k.mu.of[kind] = m
	}
	change(m)
}

func (k *kinds) spawned(kind string)   { k.count(kind, func(m *KindMetrics) { m.Spawned++ }) }
func (k *kinds) stopped(kind string)   { k.count(kind, func(m *KindMetrics) { m.Stopped++ }) }
func (k *kinds) restarted(kind string) { k.count(kind, func(m *KindMetrics) { m.Restarted++ }) }

func (k *kinds) received(kind string, d time.Duration) {
	k.count(kind, func(m *KindMetrics) { m.Durations.Add(d.Seconds()) })
}

// Metrics returns the current metrics by kind, and the number of messages to actors that had ended.
func (t *Tree) Metrics() (list []KindMetrics, deadLetters int64) {
	running, mailbox := map[string]int{}, map[string]int{}
	t.top.walk(func(r *Record) {
		running[r.kind]++
		if r.mailbox != nil {
			mailbox[r.kind] += r.mailbox.UserMessageCount()
		}
	})
	k := t.kinds
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, kind := range slices.Sorted(maps.Keys(k.mu.of)) {
		m := *k.mu.of[kind]
		m.Durations.Counts = slices.Clone(m.Durations.Counts)
		m.Running, m.Mailbox = running[kind], mailbox[kind]
		list = append(list, m)
	}
	return list, k.mu.deadLetters
}
