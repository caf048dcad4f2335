package events

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/divandb/divan/node/console/state"
)

const (
	// sameWithin is how far apart the reports of several nodes on one thing may be.
	sameWithin = 15 * time.Second
	// laterWithin is the same of what not all nodes notice at once.
	laterWithin = 5 * time.Minute
)

// Merge returns the events of several nodes as one list, newest first. Reports of the same by several nodes become one,
// that of the first, with the others in Also.
func Merge(lists ...[]state.Event) []state.Event {
	all := withRests(slices.Concat(lists...))
	Sort(all)
	slices.Reverse(all)
	type subject struct {
		kind                                               state.EventKind
		member, database, object, actor, from, to, address string
	}
	first := map[subject]int{}     // index in merged
	back := map[string]time.Time{} // when a member was last seen to be back
	merged := make([]state.Event, 0, len(all))
	for _, e := range all {
		if !isShared(&e) {
			merged = append(merged, e)
			continue
		}
		s := subject{e.Kind, e.Member, e.Database, e.Object, e.Actor, e.From, e.To, ""}
		if e.Kind == state.WrongSecret || e.Kind == state.NameClash {
			s.address = e.Address
		}
		switch e.Kind {
		case state.StoreLost:
			s.from = "" // not every node may know who has the store
		case state.DiskLow:
			s.object = "" // only the node with the store knows that its disk will soon be full; see isSame
		}
		if i, ok := first[s]; ok && isSame(&merged[i], &e) && !back[e.From].After(merged[i].At) {
			join(&merged[i], &e)
			merged[i].From = cmp.Or(merged[i].From, e.From)
			continue
		}
		if ends(&e) {
			back[e.Member] = e.At
		}
		first[s] = len(merged)
		merged = append(merged, e)
	}
	merged = agree(merged)
	slices.Reverse(merged)
	return merged
}

// isSame reports whether an event is what another node has reported before. What began after that is another case of
// it, such as the next outage.
func isSame(before, e *state.Event) bool {
	if before.Node == e.Node || slices.Contains(before.Also, e.Node) || e.Since != nil && e.Since.After(before.At) {
		return false
	}
	passed := e.At.Sub(before.At)
	switch e.Kind {
	case state.IndexErrors: // which nodes look at now and then, and report again if they skip twice as many documents
		return passed <= sameWithin || passed <= laterWithin && e.Count < 2*before.Count
	case state.DiskLow: // which one node may find low when another finds it full
		return passed <= sameWithin || passed <= laterWithin && e.Object == before.Object
	case state.WrongSecret, state.Degraded, state.Recovered: // called in turn, or found now and then
		return passed <= laterWithin
	}
	return passed <= sameWithin
}

// isShared reports whether several nodes report the same. What is wrong with a store is told by all nodes that use it.
func isShared(e *state.Event) bool {
	switch e.Kind {
	case state.DiskLow, state.Degraded, state.Recovered:
		return OfStore(e.Object)
	}
	return shared[e.Kind]
}

// OfStore reports whether the reason with a name to need an operator is about the store, and not about one node.
func OfStore(reason string) bool {
	return strings.HasPrefix(reason, "disk_") || strings.HasPrefix(reason, "store_")
}

// shared has the kinds that several nodes report.
var shared = map[state.EventKind]bool{
	state.MemberJoined: true, state.MemberSilent: true, state.MemberAnswers: true, state.MemberDead: true,
	state.MemberLeft: true, state.MemberReturned: true, state.MemberRestart: true, state.ShardsMoved: true,
	state.StoreLost: true, state.StoreBack: true, state.IndexErrors: true, state.WrongSecret: true,
	state.NameClash: true,
}

// join adds a second node's report to an event.
func join(into, e *state.Event) {
	into.Also = append(slices.Clone(into.Also), e.Node)
	if into.Repeated += e.Repeated; e.Until != nil && (into.Until == nil || e.Until.After(*into.Until)) {
		into.Until = e.Until
	}
	if into.Since == nil && isSilence(e) && !e.Since.After(into.At) { // the first one had never heard the member
		into.Since = e.Since
	}
	// Who says that it heard a member after others had reported it was paused meanwhile.
	if e.Since != nil && into.Since != nil && e.Since.After(*into.Since) == isSilence(e) &&
		!(isSilence(e) && e.Since.After(into.At)) {
		into.Since = e.Since
		if e.Kind == state.MemberLeft { // agree sets the others
			setSince(into, *e.Since)
		}
	}
	if into.Kind == state.ShardsMoved {
		both := slices.Concat(into.Items, e.Items)
		slices.Sort(both)
		into.Items = slices.Compact(both)
		into.Count = max(into.Count, e.Count, int64(len(into.Items)))
		into.Text = text(into)
	}
}
