package events

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/divandb/divan/node/console/state"
)

// foldWithin is how long after one job of a node was taken over the next one still belongs to the same take-over.
const foldWithin = 15 * time.Second

// run is a place of a take-over in a list, and what it may be folded with: those of the same node and the same story.
type run struct {
	from  string
	story *telling // nil if none tells it
}

// Fold returns a list of Merge in which the jobs that were taken over from a node at about the same time, and because
// of one cause, are one event each, since there may be hundreds. Its Count says how many there are, its Detail which,
// and its id is that of the first. The list itself is not changed.
func Fold(merged []state.Event) []state.Event {
	stories := map[string]*telling{} // by the id of a take-over
	for _, t := range tellings(merged) {
		for _, e := range t.taken() {
			stories[e.ID] = t
		}
	}
	runs := map[run][]int{} // indexes in merged; newest first
	kept := make([]int, 0, len(merged))
	groups := map[int][]int{} // by the index of the newest
	for i := range merged {
		e := &merged[i]
		if e.Kind != state.JobTaken {
			kept = append(kept, i)
			continue
		}
		of := run{e.From, stories[e.ID]}
		open := runs[of]
		if len(open) > 0 && begun(&merged[open[len(open)-1]]).Sub(e.At) <= foldWithin {
			runs[of] = append(open, i)
			groups[open[0]] = runs[of]
			continue
		}
		runs[of] = []int{i}
		kept = append(kept, i)
	}
	list := make([]state.Event, 0, len(kept))
	for _, i := range kept {
		if group := groups[i]; len(group) > 1 {
			list = append(list, folded(merged, group))
		} else {
			list = append(list, merged[i])
		}
	}
	return list
}

// folded returns several take-overs as one event.
func folded(merged []state.Event, group []int) state.Event {
	newest, oldest := &merged[group[0]], &merged[group[len(group)-1]]
	since := begun(oldest)
	e := state.Event{ID: oldest.ID, At: newest.At, Node: newest.Node, Kind: state.JobTaken, Severity: newest.Severity,
		From: newest.From, Since: &since}
	var to, lines []string
	room, named := maxDetail, int64(0)
	for _, i := range group {
		one := &merged[i]
		e.Count += jobs(one)
		if !slices.Contains(to, one.To) {
			to = append(to, one.To)
		}
		if one.Node != e.Node && !slices.Contains(e.Also, one.Node) {
			e.Also = append(e.Also, one.Node)
		}
		if one.Job == "" {
			continue
		}
		line := fmt.Sprintf("%s on %s, token %d", one.Job, one.To, one.Token)
		if room -= len(line) + 1; room >= 0 {
			lines = append(lines, line)
			named++
		}
	}
	if named > 0 && named < e.Count {
		lines = append(lines, fmt.Sprintf("and %d more", e.Count-named))
	}
	slices.Sort(to)
	slices.Sort(e.Also)
	e.Detail = strings.Join(lines, "\n")
	e.Text = cut(fmt.Sprintf("%d jobs were taken over from %s by %s", e.Count, e.From, listed(to)), maxText)
	return e
}

// maxLineJobs bounds how many jobs a line of a story names.
const maxLineJobs = 10

// takenLines returns the lines that tell of the take-overs of a story, oldest first: one for each node that takes jobs,
// and another one if it takes more of them much later. of says whose they are, such as " of n2", unless the story is
// that node's.
func takenLines(taken []*state.Event, of string) (lines []state.StoryLine) {
	taken = slices.Clone(taken)
	slices.SortStableFunc(taken, func(a, b *state.Event) int { return begun(a).Compare(begun(b)) })
	groups := map[string][]*state.Event{} // by who takes them
	tell := func(group []*state.Event) {
		first, until, n := group[0], group[0].At, int64(0)
		line := state.StoryLine{At: begun(first), Text: first.Text, Nodes: append([]string{first.Node}, first.Also...)}
		for _, e := range group {
			until, n = later(until, e.At), n+jobs(e)
			if e.Job != "" && len(line.Jobs) < maxLineJobs {
				line.Jobs = append(line.Jobs, e.Job)
			}
		}
		if named := int64(len(line.Jobs)); 0 < named && named < n {
			line.Jobs = append(line.Jobs, fmt.Sprintf("and %d more", n-named))
		}
		if n == 1 {
			line.Jobs = nil
		} else {
			line.Text, line.Until = fmt.Sprintf("%d jobs%s go on at %s", n, of, first.To), &until
		}
		lines = append(lines, line)
	}
	for _, e := range taken {
		group := groups[e.To]
		if n := len(group); n > 0 && begun(e).Sub(group[n-1].At) > foldWithin {
			tell(group)
			group = nil
		}
		groups[e.To] = append(group, e)
	}
	for _, to := range slices.Sorted(maps.Keys(groups)) {
		tell(groups[to])
	}
	return lines
}

// resumedLater is how much later than the first job the last one of a story is taken over, if both times are told.
const resumedLater = time.Second

// takenParts returns what the text of a story says of its take-overs: when the first ones were, and if others were
// notably later, when all were. of is as for takenLines.
func takenParts(taken []*state.Event, of string) (parts []part) {
	if len(taken) == 0 {
		return nil
	}
	began := map[string]time.Time{} // by Part: whether jobs are told one by one makes no difference
	for _, e := range taken {
		if at, ok := began[e.Part]; e.Part != "" && (!ok || begun(e).Before(at)) {
			began[e.Part] = begun(e)
		}
	}
	first := begun(slices.MinFunc(taken, func(a, b *state.Event) int { return begun(a).Compare(begun(b)) }))
	var last time.Time
	var soon, all int64
	for _, e := range taken {
		at, ok := began[e.Part]
		if !ok {
			at = begun(e)
		}
		last, all = later(last, e.At), all+jobs(e)
		if at.Sub(first) <= resumedLater {
			soon += jobs(e)
		}
	}
	parts = []part{{first, fmt.Sprintf("%d %s%s resumed %s", soon, plural(soon, "job"), of, clock(first))}}
	if soon < all {
		parts = append(parts, part{last, fmt.Sprintf("all %d resumed by %s", all, clock(last))})
	}
	return parts
}

// jobs returns how many jobs were taken over that an event tells of.
func jobs(e *state.Event) int64 { return max(1, e.Count) }

// withRests returns a list of events in which those of jobs that were taken over at the same time tell only of jobs
// that are not listed one by one. It changes the list.
func withRests(list []state.Event) []state.Event {
	listed := map[string]int64{} // jobs, by the event that they are part of
	for i := range list {
		listed[list[i].Part]++
	}
	rest := list[:0]
	for _, e := range list {
		if n := listed[e.ID]; n > 0 && e.Kind == state.JobTaken {
			if n >= e.Count {
				continue
			}
			e.Count -= n
			e.Text = text(&e)
		}
		rest = append(rest, e)
	}
	return rest
}
