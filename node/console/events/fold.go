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
		if len(open) > 0 && merged[open[len(open)-1]].At.Sub(e.At) <= foldWithin {
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
	since := oldest.At
	e := state.Event{ID: oldest.ID, At: newest.At, Node: newest.Node, Kind: state.JobTaken, Severity: newest.Severity,
		From: newest.From, Since: &since, Count: int64(len(group))}
	var to, lines []string
	room := maxDetail
	for n, i := range group {
		one := &merged[i]
		if !slices.Contains(to, one.To) {
			to = append(to, one.To)
		}
		if one.Node != e.Node && !slices.Contains(e.Also, one.Node) {
			e.Also = append(e.Also, one.Node)
		}
		line := fmt.Sprintf("%s on %s, token %d", one.Job, one.To, one.Token)
		if room -= len(line) + 1; room >= 0 {
			lines = append(lines, line)
		} else if n == len(group)-1 {
			lines = append(lines, fmt.Sprintf("and %d more", len(group)-len(lines)))
		}
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
// and another one if it takes more of them much later.
func takenLines(taken []*state.Event) (lines []state.StoryLine) {
	taken = slices.Clone(taken)
	slices.SortStableFunc(taken, func(a, b *state.Event) int { return a.At.Compare(b.At) })
	groups := map[string][]*state.Event{} // by who takes them
	tell := func(group []*state.Event) {
		first, until := group[0], group[len(group)-1].At
		line := state.StoryLine{At: first.At, Text: first.Text, Nodes: append([]string{first.Node}, first.Also...)}
		if n := len(group); n > 1 {
			line.Text, line.Until = fmt.Sprintf("%d jobs go on at %s", n, first.To), &until
			for _, e := range group[:min(n, maxLineJobs)] {
				line.Jobs = append(line.Jobs, e.Job)
			}
			if n > maxLineJobs {
				line.Jobs = append(line.Jobs, fmt.Sprintf("and %d more", n-maxLineJobs))
			}
		}
		lines = append(lines, line)
	}
	for _, e := range taken {
		group := groups[e.To]
		if n := len(group); n > 0 && e.At.Sub(group[n-1].At) > foldWithin {
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
