package aggregate

import (
	"bytes"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/tuple"
)

// item is a part of a partial: a row, or a partial of the level below.
type item struct {
	position    []byte // where it begins
	head        []byte // a row's partition, as in its position; empty if there are no partitions
	end         []byte // where it ends; only of a partial
	rows        int64
	first, last PartialKey
	value       []byte // value of a row, or reduction of a partial
}

// exactLevel is the group level that groups by whole keys.
const exactLevel = -1

// cutLevels are the group levels whose groups partials follow.
var cutLevels = [...]int{1, 2, 3, exactLevel}

// groupPrefix returns the part of a sort key that identifies its group at a level.
func groupPrefix(sortKey []byte, level int, raw bool) []byte {
	switch {
	case level == exactLevel:
		return sortKey
	case raw:
		prefix, _ := collate.RawPrefix(sortKey, level)
		return prefix
	}
	prefix, _ := collate.Prefix(sortKey, level)
	return prefix
}

// cutItems chooses where partials begin, in addition to the first item: before and after each run of at least a quarter
// partial that belongs to one group at some level, so that large groups consist of whole partials; and after size
// items.
func cutItems(items []item, raw bool, size int) []int {
	cut := make([]bool, len(items)+1)
	for _, level := range cutLevels {
		run := 0
		var group []byte // of the previous item; nil if that contains several groups
		for i := range items {
			first := groupPrefix(items[i].first.Sort, level, raw)
			goesOn := group != nil && bytes.Equal(group, first)
			if i > 0 && !goesOn {
				cutRun(cut, run, i, size)
				run = i
			}
			if group = first; items[i].end != nil && !bytes.Equal(first, groupPrefix(items[i].last.Sort, level, raw)) {
				if goesOn {
					cutRun(cut, run, i, size)
					run = i
				}
				group = nil
			}
		}
		cutRun(cut, run, len(items), size)
	}
	var cuts []int
	last := 0
	for i := 1; i < len(items); i++ {
		if cut[i] || i-last == size {
			cuts = append(cuts, i)
			last = i
		}
	}
	return cuts
}

// cutRun marks both ends of a run that is long enough.
func cutRun(cut []bool, from, to, size int) {
	if to-from >= max(2, size/4) {
		cut[from], cut[to] = true, true
	}
}

// boundary returns the shortest position between two adjacent rows at which a group of the second one begins.
func boundary(before, after *item, raw bool) []byte {
	const deepest = 8
	if !bytes.Equal(before.head, after.head) {
		return after.head
	}
	if bytes.Equal(before.last.Sort, after.first.Sort) {
		return after.position
	}
	head := after.head[:len(after.head):len(after.head)]
	for level := 1; level <= deepest; level++ {
		group := groupPrefix(after.first.Sort, level, raw)
		if !bytes.Equal(group, groupPrefix(before.last.Sort, level, raw)) {
			return tuple.AppendBytes(head, group)
		}
	}
	return tuple.AppendBytes(head, after.first.Sort)
}
