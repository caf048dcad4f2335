package events

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/divandb/divan/node/console/state"
)

// foldWithin is how long after one job of a node was taken over the next one still belongs to the same take-over.
const foldWithin = 15 * time.Second

// Fold returns a list of Merge in which the jobs that were taken over from a node at about the same time are one event
// each, since there may be hundreds. Its Count says how many there are, its Detail which, and its id is that of the
// first. The list itself is not changed.
func Fold(merged []state.Event) []state.Event {
	runs := map[string][]int{} // indexes in merged, by From; newest first
	run := make([]int, 0, len(merged))
	groups := map[int][]int{} // by the index of the newest
	for i := range merged {
		e := &merged[i]
		if e.Kind != state.JobTaken {
			run = append(run, i)
			continue
		}
		open := runs[e.From]
		if len(open) > 0 && merged[open[len(open)-1]].At.Sub(e.At) <= foldWithin {
			runs[e.From] = append(open, i)
			groups[open[0]] = runs[e.From]
			continue
		}
		runs[e.From] = []int{i}
		run = append(run, i)
	}
	list := make([]state.Event, 0, len(run))
	for _, i := range run {
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
