package events

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/divandb/divan/node/console/state"
)

// story returns a telling as it is shown: with a title, a text of one line, and its steps.
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
	s.Lines = append(s.Lines, takenLines(taken, "")...)
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
	parts = append(parts, takenParts(taken, "")...)
	if at := t.runs(gone.at, back.at); t.over && t.end != state.ActionDone && !at.IsZero() {
		back = part{at, "back " + clock(at)}
	}
	if back.text != "" {
		parts = append(parts, back)
	}
	if len(parts) == 0 { // a node of another version does not say since when
		went = part{first.At, "silent " + clock(first.At)}
		parts = append(parts, went)
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
