package actors

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/eventstream"
)

// durationBuckets are the upper bounds of message durations, in seconds.
var durationBuckets = []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5}

// Figures are the numbers behind the Prometheus metrics of actors. The names there are protoactor's own:
//
//	protoactor_actor_mailbox_length{actortype}                      gauge, Kind.Mailbox
//	protoactor_actor_spawn_count{actortype}                         counter, Kind.Spawned
//	protoactor_actor_stopped_count{actortype}                       counter, Kind.Stopped
//	protoactor_actor_restarted_count{actortype}                     counter, Kind.Restarted
//	protoactor_actor_failure_count{actortype}                       counter, Kind.Restarted too: every failure ends in a restart
//	protoactor_actor_message_receive_duration_seconds{actortype}    histogram, Kind.Durations
//	protoactor_deadletter_count                                     counter, DeadLetters
type Figures struct {
	Kinds       []KindFigures // by kind
	DeadLetters int64
	// Listeners are the feeds that wait on this node, Wakes how often shards woke theirs.
	Listeners int
	Wakes     int64
}

// KindFigures are the numbers of all actors of one kind.
type KindFigures struct {
	Kind      string
	Running   int
	Mailbox   int // messages waiting
	Spawned   int64
	Stopped   int64
	Restarted int64
	Durations Histogram
}

// Histogram of seconds. Counts[i] is how many were at most Bounds[i] and above the bound before; Count includes those above all.
type Histogram struct {
	Bounds []float64
	Counts []int64
	Count  int64
	Sum    float64
}

type figures struct {
	proto *actor.ActorSystem
	dead  *eventstream.Subscription

	mu struct {
		sync.Mutex
		kinds       map[string]*KindFigures
		deadLetters int64
		wakes       int64
	}
}

func newFigures(proto *actor.ActorSystem) *figures {
	f := &figures{proto: proto}
	f.mu.kinds = map[string]*KindFigures{}
	f.dead = proto.EventStream.Subscribe(func(event any) {
		if _, ok := event.(*actor.DeadLetterEvent); ok {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.mu.deadLetters++
		}
	})
	return f
}

func (f *figures) close() { f.proto.EventStream.Unsubscribe(f.dead) }

// count changes the figures of a kind.
func (f *figures) count(kind string, change func(k *KindFigures)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.mu.kinds[kind]
	if k == nil {
		k = &KindFigures{Kind: kind, Durations: Histogram{Bounds: durationBuckets, Counts: make([]int64, len(durationBuckets))}}
		f.mu.kinds[kind] = k
	}
	change(k)
}

func (f *figures) spawned(kind string)   { f.count(kind, func(k *KindFigures) { k.Spawned++ }) }
func (f *figures) stopped(kind string)   { f.count(kind, func(k *KindFigures) { k.Stopped++ }) }
func (f *figures) restarted(kind string) { f.count(kind, func(k *KindFigures) { k.Restarted++ }) }

func (f *figures) received(kind string, d time.Duration) {
	f.count(kind, func(k *KindFigures) {
		h, s := &k.Durations, d.Seconds()
		h.Count++
		h.Sum += s
		if i, _ := slices.BinarySearch(h.Bounds, s); i < len(h.Bounds) {
			h.Counts[i]++
		}
	})
}

// woke counts how often listeners of a shard were woken, for a reason or because nothing else was sure to.
func (f *figures) woke(times int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.wakes += int64(times)
}

// Figures are the numbers of this moment.
func (s *System) Figures() Figures {
	running, mailbox := map[string]int{}, map[string]int{}
	s.tree.walk(func(r *record) {
		running[r.kind]++
		if r.mailbox != nil {
			mailbox[r.kind] += r.mailbox.UserMessageCount()
		}
	})
	f := s.figures
	f.mu.Lock()
	defer f.mu.Unlock()
	out := Figures{DeadLetters: f.mu.deadLetters, Wakes: f.mu.wakes, Listeners: s.hub.count()}
	for _, kind := range slices.Sorted(maps.Keys(f.mu.kinds)) {
		k := *f.mu.kinds[kind]
		k.Durations.Counts = slices.Clone(k.Durations.Counts)
		k.Running, k.Mailbox = running[kind], mailbox[kind]
		out.Kinds = append(out.Kinds, k)
	}
	return out
}
