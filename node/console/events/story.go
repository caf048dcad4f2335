package events

import (
	"cmp"
	"fmt"
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
	// storyLasts is how long after a member has gone a take-over still belongs to that.
	storyLasts = 5 * time.Minute
	// storySettles is for how long after its end a story still takes reports, such as those of other nodes.
	storySettles = 5 * time.Second
	// takenLate is for how long after the end of a story jobs may be taken over because of it: their leases end when
	// nobody has renewed them for some time, and whoever takes them may be busy.
	takenLate = time.Minute
	// handsOver is how long before a member leaves what is taken over from it belongs to that.
	handsOver = time.Minute
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
	first := map[subject]int{} // index in merged
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
		if i, ok := first[s]; ok && isSame(&merged[i], &e) {
			join(&merged[i], &e)
			continue
		}
		first[s] = len(merged)
		merged = append(merged, e)
	}
	merged = agree(merged)
	slices.Reverse(merged)
	return merged
}

// isSame reports whether an event is what another node has reported before.
func isSame(before, e *state.Event) bool {
	if before.Node == e.Node || slices.Contains(before.Also, e.Node) {
		return false
	}
	passed := e.At.Sub(before.At)
	switch e.Kind {
	case state.IndexErrors: // which nodes look at now and then, and report again if they skip twice as many documents
		return passed <= sameWithin || passed <= laterWithin && e.Count < 2*before.Count
	case state.WrongSecret, state.DiskLow, state.Degraded, state.Recovered: // called in turn, or found now and then
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

// ofStories has the kinds that stories consist of.
var ofStories = map[state.EventKind]bool{
	state.MemberJoined: true, state.MemberSilent: true, state.MemberAnswers: true, state.MemberDead: true,
	state.MemberLeft: true, state.MemberReturned: true, state.MemberRestart: true, state.ShardsMoved: true,
	state.JobTaken: true, state.NodePaused: true, state.NodeStarted: true, state.StoreLost: true, state.StoreBack: true,
	state.ActionDone: true, state.Draining: true,
}

// join adds a second node's report to an event.
func join(into, e *state.Event) {
	into.Also = append(slices.Clone(into.Also), e.Node)
	if into.Repeated += e.Repeated; e.Until != nil && (into.Until == nil || e.Until.After(*into.Until)) {
		into.Until = e.Until
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

// Stories groups the events of a list of Merge. The stories are those of members that went, and of stores that did not
// answer for another reason, newest first.
func Stories(merged []state.Event) []state.Story {
	list := tellings(merged)
	addStarts(list, merged)
	stories := make([]state.Story, 0, len(list))
	for _, o := range outages(merged) {
		told := false
		for _, t := range list {
			if concerns, caused := o.concerns(t); concerns {
				t.outages, told = append(t.outages, o), told || caused
			}
		}
		if !told {
			stories = append(stories, o.story())
		}
	}
	for _, t := range slices.Backward(list) {
		stories = append(stories, t.story())
	}
	slices.SortStableFunc(stories, func(a, b state.Story) int { return b.Began.Compare(a.Began) })
	return stories
}

// tellings returns the stories of members in a list of Merge, oldest first.
func tellings(merged []state.Event) (list []*telling) {
	open := map[string]*telling{}            // by member: the last one that may continue
	takeovers := map[string][]*state.Event{} // by the member that they are from
	drains := map[string]*state.Event{}      // the last one of each member
	for _, e := range slices.Backward(merged) {
		member := e.Member
		if e.Kind == state.ShardsMoved || e.Kind == state.JobTaken {
			member = e.From
			takeovers[member] = append(takeovers[member], &e)
		}
		if e.Kind == state.Draining {
			member = e.Node
			drains[member] = &e
		}
		t := open[member]
		settles := storySettles
		if e.Kind == state.JobTaken {
			settles = takenLate
		}
		if t != nil && (t.over && e.At.Sub(t.ended) > settles ||
			e.At.Sub(t.last) > storyLasts && !(t.gone && ends(&e))) {
			t = nil
		}
		switch {
		case t == nil && !begins(e.Kind), e.Kind == state.ActionDone && !ends(&e):
			continue
		case t == nil || t.over && begins(e.Kind):
			before := open[member]
			t = &telling{member: member}
			open[member] = t
			list = append(list, t)
			t.add(&e)
			t.adopt(takeovers[member], before)
			if d := drains[member]; d != nil && e.Kind == state.MemberLeft && e.At.Sub(d.At) <= handsOver {
				t.add(d)
				delete(drains, member)
			}
			continue
		}
		t.add(&e)
	}
	return list
}

// addStarts adds to the stories of members that they have started anew meanwhile, which only they tell themselves. They
// are seen to be back before they tell it.
func addStarts(list []*telling, merged []state.Event) {
	for _, e := range slices.Backward(merged) {
		if e.Kind != state.NodeStarted {
			continue
		}
		for _, t := range slices.Backward(list) {
			if at := begun(&e); t.member == e.Node && at.After(t.wasGone()) {
				if t.maySee(at) {
					t.events, t.started = append(t.events, &e), true
				}
				break
			}
		}
	}
}

// begun returns when what an event is about began.
func begun(e *state.Event) time.Time {
	if e.Since != nil {
		return *e.Since
	}
	return e.At
}

func begins(k state.EventKind) bool {
	return k == state.MemberSilent || k == state.MemberDead || k == state.MemberLeft
}

// ends reports whether a story is over: the member is back, or an operator has forgotten it, which is the one action
// that names a member. An action that failed has a Detail.
func ends(e *state.Event) bool {
	return e.Kind == state.MemberAnswers || e.Kind == state.MemberReturned || e.Kind == state.MemberRestart ||
		e.Kind == state.ActionDone && e.Detail == ""
}

// telling is a story while it is put together.
type telling struct {
	member  string
	events  []*state.Event
	outages []*outage
	last    time.Time
	gone    bool // the member was given up or has left
	started bool // it is known to have started anew
	over    bool
	end     state.EventKind // by which over was set
	ended   time.Time       // when over was set
}

func (t *telling) add(e *state.Event) {
	t.events = append(t.events, e)
	t.last = later(t.last, e.At)
	t.gone = t.gone || e.Kind == state.MemberDead || e.Kind == state.MemberLeft
	// A node that was restarted too sees it join, perhaps before the others see it return.
	if !t.over && (ends(e) || t.gone && e.Kind == state.MemberJoined) {
		t.over, t.end, t.ended = true, e.Kind, e.At
	}
}

// wasGone returns when the member fell silent or left, as the first report says.
func (t *telling) wasGone() time.Time {
	if first := t.events[0]; isSilence(first) {
		return *first.Since
	}
	return t.events[0].At
}

// maySee reports whether what the member did at a time after it was gone belongs to the story.
func (t *telling) maySee(at time.Time) bool {
	if t.over {
		return at.Sub(t.ended) <= storySettles
	}
	return t.gone || at.Sub(t.last) <= storyLasts
}

// adopt adds the take-overs from a member that its story begins with: a job has a lease of its own, and may be taken
// before the member is suspected; one that leaves hands over what it has first. They are not those of an earlier story.
func (t *telling) adopt(takeovers []*state.Event, before *telling) {
	begun := t.events[0]
	var since time.Time
	switch {
	case begun.Kind == state.MemberLeft: // whose Since is when it joined
		since = begun.At.Add(-handsOver)
		if begun.Since != nil {
			since = later(since, *begun.Since)
		}
		if before != nil {
			since = later(later(since, before.ended), lastBurst(takeovers))
		}
	case begun.Since != nil:
		since = *begun.Since
	default:
		return
	}
	for _, e := range takeovers {
		if e.At.Before(since) {
			continue
		}
		t.add(e)
		if before != nil {
			before.events = slices.DeleteFunc(before.events, func(o *state.Event) bool { return o.ID == e.ID })
		}
	}
}

// lastBurst returns when the last take-overs began that came one soon after another. A member that leaves hands over
// all it has at once.
func lastBurst(takeovers []*state.Event) time.Time {
	for i := len(takeovers) - 1; i > 0; i-- {
		if takeovers[i].At.Sub(takeovers[i-1].At) > storySettles {
			return takeovers[i].At
		}
	}
	return time.Time{}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (t *telling) story() state.Story {
	first := t.events[0]
	s := state.Story{ID: first.ID, Member: t.member, Over: t.over, Severity: state.Error}
	line := func(at time.Time, text string, e *state.Event) {
		s.Lines = append(s.Lines, state.StoryLine{At: at, Text: text, Nodes: append([]string{e.Node}, e.Also...)})
	}
	var parts []part
	// How the member went, when it was gone by the first report, and how it was over.
	var went, gone, back part
	if silence := t.silence(); silence != nil {
		went = part{*silence.Since, "silent " + clock(*silence.Since)}
		line(went.at, t.member+" was last heard", silence)
		parts = append(parts, went)
	}
	moves := map[string]int64{}
	taken := t.taken()
	s.Lines = append(s.Lines, takenLines(taken)...)
	var moved time.Time
	for _, e := range t.events {
		if e.Kind != state.JobTaken {
			line(e.At, e.Text, e)
		}
		switch e.Kind {
		case state.MemberSilent, state.Draining, state.NodePaused, state.NodeStarted: // the latter say why
		case state.MemberDead, state.MemberLeft:
			word := "given up "
			if e.Kind == state.MemberLeft {
				s.Severity, word = state.Info, "left "
			}
			if gone.text == "" {
				gone = part{e.At, word + clock(e.At)}
				parts = append(parts, gone)
			}
		case state.ShardsMoved:
			moves[cmp.Or(e.To, nobody)] += e.Count
			moved = later(moved, e.At)
		case state.JobTaken: // below
		case state.ActionDone:
			back = part{e.At, "forgotten " + clock(e.At)}
		default: // it may be back, and then take a new id because it had been given up
			if back.text == "" {
				back = part{e.At, "back " + clock(e.At)}
			}
		}
	}
	s.Title = t.title()
	if text := movesText(moves); text != "" {
		if !t.left() { // who notices it first may not have told yet that the member was given up
			moved = later(moved, gone.at)
		}
		parts = append(parts, part{moved, text}) // it tells no time of its own
	}
	parts = append(parts, takenParts(taken)...)
	if at := t.runs(gone.at, back.at); t.over && t.end != state.ActionDone && !at.IsZero() {
		back = part{at, "back " + clock(at)}
	}
	if back.text != "" {
		parts = append(parts, back)
	}
	s.Text = t.member + inOrder(parts, cmp.Or(went.text, gone.text))
	for _, o := range t.outages { // each of which has two times
		s.Lines = append(s.Lines, o.lines(t.events)...)
		s.Text += ", " + o.text()
		s.Stores = append(s.Stores, o.nodes...)
		if !o.over() {
			s.Over, s.Severity = false, state.Error
		}
	}
	slices.Sort(s.Stores)
	s.Stores = slices.Compact(s.Stores)
	inTenths(&s)
	if s.Over {
		s.Severity = state.Good
	}
	return s
}

// taken returns the take-overs of a story.
func (t *telling) taken() (list []*state.Event) {
	for _, e := range t.events {
		if e.Kind == state.JobTaken {
			list = append(list, e)
		}
	}
	return list
}

// part is a part of the text of a story.
type part struct {
	at   time.Time
	text string
}

// inOrder returns parts in the order of time, to follow a member's name: only one part speaks of the member.
func inOrder(parts []part, ofMember string) string {
	slices.SortStableFunc(parts, func(a, b part) int { return tenths(a.at).Compare(tenths(b.at)) })
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.text
	}
	if texts[0] != ofMember {
		return ": " + strings.Join(texts, ", ")
	}
	return " " + strings.Join(texts, ", ")
}

// inTenths sorts the lines of a story, and sets its end by them, and its begin unless that is set. All its times are
// those that are shown, so that they add up.
func inTenths(s *state.Story) {
	slices.SortStableFunc(s.Lines, func(a, b state.StoryLine) int { return a.At.Compare(b.At) })
	if s.Began.IsZero() {
		s.Began = s.Lines[0].At
	}
	s.Began = tenths(s.Began)
	for i := range s.Lines {
		s.Lines[i].At = tenths(s.Lines[i].At)
		s.Lines[i].After = s.Lines[i].At.Sub(s.Began).Seconds()
		s.Ended = later(s.Ended, s.Lines[i].At)
		if until := s.Lines[i].Until; until != nil {
			*until = tenths(*until)
			s.Ended = later(s.Ended, *until)
		}
	}
}

// isSilence reports whether an event says since when a member is silent.
func isSilence(e *state.Event) bool {
	return e.Since != nil && (e.Kind == state.MemberSilent || e.Kind == state.MemberDead)
}

// silence returns the event that says when the member was last heard before it was gone, or nil. Each node tells when
// it heard it itself.
func (t *telling) silence() (last *state.Event) {
	for _, e := range t.events {
		if isSilence(e) && (last == nil || e.Since.After(*last.Since)) {
			last = e
		}
		if e.Kind == state.MemberDead {
			break
		}
	}
	return last
}

// runs returns when the member says that it ran again after it was gone, if others have seen that later, or zero.
func (t *telling) runs(gone, seen time.Time) (at time.Time) {
	for _, e := range t.events {
		if (e.Kind == state.NodePaused || e.Kind == state.NodeStarted) && e.At.After(gone) && e.At.Before(seen) {
			at = later(at, e.At)
		}
	}
	return at
}

// left reports whether the member has announced that it leaves.
func (t *telling) left() bool {
	return slices.ContainsFunc(t.events, func(e *state.Event) bool { return e.Kind == state.MemberLeft })
}

// title says what is known: that a member did not answer is no sign that it has died, unless it has started anew.
// The event of a pause is lost when the member that was paused starts anew later.
func (t *telling) title() string {
	has := func(k state.EventKind) bool {
		return slices.ContainsFunc(t.events, func(e *state.Event) bool { return e.Kind == k })
	}
	end := ""
	switch {
	case t.end == state.ActionDone:
		end = " and was forgotten"
	case t.over:
		end = " and is back"
	}
	switch {
	case t.left():
		return t.member + " left" + end
	case t.started:
		return t.member + " died" + end
	case has(state.NodePaused): // nobody is told until it runs again
		return t.member + " was paused" + end
	case t.end == state.MemberRestart:
		return t.member + " died" + end
	case t.end == state.MemberAnswers:
		return t.member + " did not answer for a while"
	case t.over:
		return t.member + " did not answer" + end
	case t.gone:
		return t.member + " does not answer and was given up"
	}
	return t.member + " does not answer"
}

// movesText returns how many shards went to which nodes.
func movesText(moves map[string]int64) string {
	var names []string
	total := int64(0)
	for name, n := range moves {
		names = append(names, name)
		total += n
	}
	if total == 0 {
		return ""
	}
	slices.Sort(names)
	return fmt.Sprintf("%d %s to %s", total, plural(total, "shard"), listed(names))
}

// clock returns a time of day in UTC, to a tenth of a second.
func clock(t time.Time) string { return t.UTC().Format("15:04:05.0") }
