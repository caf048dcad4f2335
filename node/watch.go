package node

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/survey"
)

const (
	// probeEvery is how often the store is asked for a sign of life, healthEvery how often the node's reasons to need
	// an operator are compared, and indexesEvery how often the indexes used last are looked at.
	probeEvery   = time.Second
	healthEvery  = 2 * time.Second
	indexesEvery = 15 * time.Second
	// maxIndexesWatched bounds how many indexes are looked at.
	maxIndexesWatched = 100
	// maxSkipsKnown bounds of how many indexes is known what was reported of them.
	maxSkipsKnown = 100 * maxIndexesWatched
)

// watcher looks for events that no part of the node reports by itself.
type watcher struct {
	events   *events.Recorder
	ready    func(context.Context) error
	degraded func() []string
	indexes  func(context.Context, int) ([]actors.IndexInfo, error)
	survey   *survey.Survey
	lag      *atomic.Int64 // of the index that is furthest behind, in milliseconds; negative if unknown
	skips    *atomic.Pointer[skipping]

	holder    func() string // the other node that has the store, or ""
	away      *storeAway
	storeBack func(since time.Time) // called when a lost store answers again; may be nil

	diskLow func() (text string, low bool) // nil if the store has no disk of its own

	low       bool                // the disk was low
	lost      time.Time           // since when the store does not answer; zero if it does
	probed    time.Time           // when the last probe ended, or the watcher began
	overslept bool                // the last probe failed, and this node was paused
	resumed   time.Time           // when this node was found to run again after a pause
	reasons   map[string]bool     // names of the current reasons to need an operator
	skipped   map[[2]string]int64 // documents that views skip, as last reported, by database and design document
}

// watchEvents starts the watcher.
func (n *Node) watchEvents(context.Context) error {
	h := n.health()
	holder := func() string {
		if c := n.joined.Load(); c != nil {
			return storeHolder(c.Members())
		}
		return ""
	}
	w := &watcher{events: n.happened.Recorder, ready: h.StoreReady, degraded: h.Degraded, indexes: n.actors.Indexes,
		survey: n.survey, holder: holder, away: &n.away,
		storeBack: n.learning.begin, lag: &n.measuring.indexLag, skips: &n.measuring.skips, probed: time.Now()}
	ctx, cancel := context.WithCancel(context.Background())
	var working sync.WaitGroup
	every := func(pause time.Duration, f func(context.Context)) {
		working.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					f(ctx)
				}
			}
		})
	}
	every(probeEvery, w.probe)
	if e, ok := n.engine.(diskWatcher); ok {
		w.diskLow = e.DiskLow
	}
	if e, ok := n.engine.(clusterEngine); ok {
		every(roomEvery, e.Ask)
	}
	every(healthEvery, func(context.Context) { w.compare() })
	every(indexesEvery, w.lookAtIndexes)
	n.learning.begin(time.Time{})
	every(probeEvery, func(ctx context.Context) {
		if from, due := n.learning.due(time.Now()); due {
			console.Learn(ctx, n.console, from)
		}
	})
	working.Go(func() { n.survey.Run(ctx) })
	n.parts.add("watch for events", func(context.Context) error {
		cancel()
		working.Wait()
		return nil
	})
	n.happened.Record(state.Event{Kind: state.NodeStarted, Since: &n.happened.began, Object: Version()})
	return nil
}

// storeRole is the role of the member that has the store.
const storeRole = "store"

// storeHolder returns which other member has the store, or had it last, or "" if that is not known.
func storeHolder(members []cluster.Member) string {
	holders := slices.DeleteFunc(slices.Clone(members), func(m cluster.Member) bool {
		return m.Self || !slices.Contains(m.Roles, storeRole)
	})
	up := slices.DeleteFunc(slices.Clone(holders), func(m cluster.Member) bool { return m.GoneSince != nil })
	switch {
	case len(up) == 1:
		return up[0].Name
	case len(up) > 1, len(holders) == 0: // some have another store
		return ""
	}
	return slices.MaxFunc(holders, func(a, b cluster.Member) int { return a.GoneSince.Compare(*b.GoneSince) }).Name
}

// probe asks the store for a sign of life.
func (w *watcher) probe(ctx context.Context) {
	begun := time.Now()
	before := w.probed
	err := w.ready(ctx)
	w.probed = time.Now()
	// Of two such failures in a row, the second counts: it is the store that takes so long.
	paused := max(begun.Sub(before), w.probed.Sub(begun)) > longestProbe && !w.overslept
	if paused {
		w.resumed = w.probed
	}
	w.overslept = err != nil && paused
	// A pause is told by package cluster. After it, the connection to the store may have to be made anew.
	justResumed := w.probed.Sub(w.resumed) < probeTimeout
	if ctx.Err() != nil || err != nil && justResumed {
		return
	}
	if err != nil {
		w.away.noted()
		w.lag.Store(-1)
	} else {
		w.away.over()
	}
	switch {
	case err != nil && w.lost.IsZero():
		w.lost = begun
		since := begun.UTC() // as the event of its return will say
		w.events.Record(state.Event{Kind: state.StoreLost, Since: &since, From: w.holder(),
			Detail: err.Error(), Text: events.StoreLost(ofStore(err))})
	case err == nil && !w.lost.IsZero():
		since := w.lost.UTC()
		w.lost = time.Time{}
		w.events.Record(state.Event{Kind: state.StoreBack, Since: &since})
		if w.storeBack != nil {
			w.storeBack(since)
		}
	}
}

// longestProbe is longer than a probe takes, and than the time between two of them, unless this node is paused.
const longestProbe = probeTimeout + probeEvery

// storeAway remembers that the store did not answer. It is safe for concurrent use.
type storeAway struct {
	last   atomic.Pointer[time.Time]
	asking singleflight.Group // who finds out first that the store does not answer asks it for all

	mu struct {
		sync.Mutex
		back chan struct{} // closed and nil when the store answers again; nil if it answers as far as is known
	}
}

// awayLasts is for how long after the store did not answer a failure may be due to that.
const awayLasts = time.Minute

func (a *storeAway) noted() {
	now := time.Now()
	a.last.Store(&now)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.back == nil {
		a.mu.back = make(chan struct{})
	}
}

// over notes that the store answers.
func (a *storeAway) over() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.back != nil {
		close(a.mu.back)
		a.mu.back = nil
	}
}

func (a *storeAway) back() chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mu.back
}

// outlast waits as long as the store does not answer. It returns true if it did not, and does now, and false if it
// answers anyway or ctx has ended.
func (a *storeAway) outlast(ctx context.Context, ready func(context.Context) error) bool {
	back := a.back()
	if back == nil {
		asked := a.asking.DoChan("", func() (any, error) {
			return a.silent(context.WithoutCancel(ctx), ready), nil // others may wait for longer
		})
		select {
		case <-asked:
			back = a.back()
		case <-ctx.Done():
		}
	}
	if back == nil {
		return false
	}
	select {
	case <-back:
		return true
	case <-ctx.Done():
		return false
	}
}

// lately reports whether the store does not answer, or did not a moment ago. It asks the store only if that is not
// known.
func (a *storeAway) lately(ctx context.Context, ready func(context.Context) error) bool {
	if at := a.last.Load(); at != nil && time.Since(*at) < awayLasts {
		return true
	}
	return a.silent(ctx, ready)
}

// silent asks the store, and notes that it does not answer.
func (a *storeAway) silent(ctx context.Context, ready func(context.Context) error) bool {
	begun := time.Now()
	if err := ready(ctx); err == nil || ctx.Err() != nil || time.Since(begun) > longestProbe {
		return false
	}
	a.noted()
	return true
}

// compare looks for reasons to need an operator that are new or over. The parts that they concern log them.
func (w *watcher) compare() {
	now := map[string]bool{}
	for _, reason := range w.degraded() {
		name, what, _ := strings.Cut(reason, ": ")
		if now[name] {
			continue
		}
		now[name] = true
		if w.reasons[name] || ownEvents[name] {
			continue
		}
		kind := state.Degraded
		if strings.HasPrefix(name, "disk_") {
			kind = state.DiskLow
		}
		w.events.Keep(state.Event{Kind: kind, Object: name, Detail: what})
	}
	for name := range w.reasons {
		if !now[name] && !ownEvents[name] {
			w.events.Keep(state.Event{Kind: state.Recovered, Object: name})
		}
	}
	w.lookAtDisk(now[diskIsFull], w.reasons[diskIsFull])
	w.reasons = now
}

// lookAtDisk reports a disk that will soon be full, before writes are refused. That it is full, or was until now, is
// told instead.
func (w *watcher) lookAtDisk(full, wasFull bool) {
	if w.diskLow == nil {
		return
	}
	text, low := w.diskLow()
	switch {
	case low && !w.low && !full:
		w.events.Record(state.Event{Kind: state.DiskLow, Object: diskIsLow, Detail: text})
	case !low && w.low && !wasFull:
		w.events.Record(state.Event{Kind: state.Recovered, Object: diskIsLow})
	}
	w.low = low
}

// ownEvents are the reasons whose causes are reported as events of other kinds.
var ownEvents = map[string]bool{"name_clash": true}

// skipping are the indexes of all databases that lack documents.
type skipping struct {
	worst   []state.Skips // at most state.MaxSkips, those of most documents
	indexes int           // how many there are
}

// lookAtIndexes looks for views that skip documents among those that this node has used last. It adds up which indexes
// of all databases do.
func (w *watcher) lookAtIndexes(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, indexesEvery)
	defer cancel()
	list, err := w.indexes(ctx, maxIndexesWatched)
	w.survey.Note(list)
	lag := time.Duration(0)
	for _, ix := range list {
		lag = max(lag, ix.Behind)
	}
	if err != nil { // the store does not answer, for which there is another event
		lag = -1 * time.Millisecond
	}
	w.lag.Store(lag.Milliseconds())
	w.reportSkips(list)
	w.addUp()
}

// reportSkips reports views that have begun to skip documents, and again each time that these have doubled: one build
// may skip ever more. How many they are now is in "needs attention" and in the list of indexes.
func (w *watcher) reportSkips(list []actors.IndexInfo) {
	if w.skipped == nil {
		w.skipped = map[[2]string]int64{}
	}
	for _, ix := range list {
		id := [2]string{ix.Database, ix.Design}
		before := w.skipped[id]
		switch {
		case ix.Errors == 0:
			delete(w.skipped, id)
		case before == 0 || ix.Errors >= 2*before:
			w.skipped[id] = ix.Errors
			w.events.Record(state.Event{Kind: state.IndexErrors, Database: ix.Database, Object: ix.Design,
				Count: ix.Errors, Detail: ix.Skipped})
		}
	}
	if len(w.skipped) <= maxSkipsKnown {
		return
	}
	looked := make(map[[2]string]bool, len(list))
	for _, ix := range list {
		looked[[2]string{ix.Database, ix.Design}] = true
	}
	maps.DeleteFunc(w.skipped, func(id [2]string, _ int64) bool { return !looked[id] })
}

// addUp adds up which indexes lack documents.
func (w *watcher) addUp() {
	var all []state.Skips
	for ix := range w.survey.All() {
		if ix.Errors > 0 {
			all = append(all, state.Skips{Database: ix.Database, Design: ix.Design, Documents: ix.Errors,
				Why: ix.Skipped})
		}
	}
	slices.SortFunc(all, func(a, b state.Skips) int {
		return cmp.Or(cmp.Compare(b.Documents, a.Documents), strings.Compare(a.Database, b.Database),
			strings.Compare(a.Design, b.Design))
	})
	w.skips.Store(&skipping{slices.Clone(all[:min(len(all), state.MaxSkips)]), len(all)})
}

// neverBuilt reports whether an index was never built, although there is something to build.
func neverBuilt(ix actors.IndexInfo) bool { return !ix.Current && ix.Seq == layer.Seq{}.String() }
