package explain

import (
	"fmt"
	"strings"

	"github.com/divandb/divan/query/exec"
)

// details returns the lines of a node. Those of a read of the store come first.
func details(d *exec.Description) []exec.Detail {
	if d.Scan == nil {
		return d.Details
	}
	return append(readDetails(d.Scan, d.Reads), d.Details...)
}

// readDetails describes the reads of a relation of the store.
func readDetails(s *exec.Scan, reads []exec.Access) (out []exec.Detail) {
	add := func(name string, value any) { out = append(out, exec.Detail{Name: name, Value: value}) }
	a := &reads[0]
	if s.Via != "" {
		add("Index", s.Via)
	}
	if text := ranges(reads); text != "" {
		add("Range", text)
	}
	if s.Partitioned {
		partition := "each, in the order of their names"
		if s.Partition != "" {
			partition = quote(s.Partition)
		}
		add("Partition", partition)
	}
	desc, limit, skip, doc := options(a)
	if desc {
		add("Order", "descending")
	}
	if limit > 0 {
		add("Read Limit", limit)
	}
	if skip > 0 {
		add("Read Skip", skip)
	}
	if doc {
		add("Documents", "yes")
	}
	update := a.View.Update
	if a.Kind == exec.ReadReduce {
		update = a.Reduce.Update
		switch last := &reads[len(reads)-1]; {
		case a.Reduce.Count:
			add("Reduction", "number of rows")
		case last.Reduce.Count:
			add("Reduction", a.Reduce.Function+", number of rows")
		default:
			add("Reduction", a.Reduce.Function)
		}
		add("Group Level", map[bool]any{true: "whole key", false: a.Reduce.GroupLevel}[a.Reduce.GroupLevel < 0])
	}
	if s.Suggestion != "" {
		add("Suggestion", s.Suggestion)
	}
	if update != exec.UpdateTrue {
		add("Update", map[exec.UpdateMode]string{exec.UpdateFalse: "false", exec.UpdateLazy: "lazy"}[update])
	}
	return out
}

func options(a *exec.Access) (desc bool, limit, skip int64, doc bool) {
	switch a.Kind {
	case exec.ReadDocument:
		return false, 0, 0, a.Docs.WithDoc
	case exec.ReadReduce, exec.ReadCount:
		return false, 0, 0, false
	case exec.ReadChanges:
		return a.Changes.Descending, a.Changes.Limit, 0, a.Changes.WithDoc
	case exec.ReadView:
		return a.View.Descending, a.View.Limit, a.View.Skip, a.View.WithDoc
	}
	return a.Docs.Descending, a.Docs.Limit, a.Docs.Skip, a.Docs.WithDoc
}

// maxRanges is the number of ranges that EXPLAIN shows.
const maxRanges = 10

// ranges describes the ranges of some reads.
func ranges(reads []exec.Access) string {
	var all []string
	for i := range reads {
		a := &reads[i]
		if a.Reduce.Count && !reads[0].Reduce.Count {
			break // the same ranges again
		}
		several := a.View.Ranges
		if a.Kind == exec.ReadReduce {
			several = a.Reduce.Ranges
		}
		for _, r := range several {
			all = append(all, keyBounds(&exec.Access{View: exec.ViewRead{Low: r.Low, High: r.High}}))
		}
		if text := boundsOf(a); text != "" && several == nil {
			all = append(all, text)
		}
	}
	if n := len(all) - maxRanges; n > 0 {
		all = append(all[:maxRanges], fmt.Sprintf("... and %d more", n))
	}
	return strings.Join(all, " or ")
}

// boundsOf describes the range in words.
func boundsOf(a *exec.Access) string {
	switch a.Kind {
	case exec.ReadDocument:
		return fmt.Sprintf("id = '%s'", a.ID)
	case exec.ReadChanges:
		return feedBounds(a)
	case exec.ReadView:
		return keyBounds(a)
	case exec.ReadReduce:
		inner := exec.Access{View: exec.ViewRead{Low: a.Reduce.Low, High: a.Reduce.High, Keys: a.Reduce.Keys}}
		return keyBounds(&inner)
	}
	if a.Docs.IDs != nil {
		return fmt.Sprintf("%d ids", len(a.Docs.IDs))
	}
	var parts []string
	if a.Docs.Low != "" {
		parts = append(parts, fmt.Sprintf("id >= %s", quote(a.Docs.Low)))
	}
	if a.Docs.High != "" {
		parts = append(parts, fmt.Sprintf("id < %s", quote(a.Docs.High)))
	}
	return strings.Join(parts, " and ")
}

func feedBounds(a *exec.Access) string {
	var parts []string
	if a.Changes.Shard != "" {
		parts = append(parts, "shard = "+quote(a.Changes.Shard))
	}
	if a.Changes.Since != "" {
		parts = append(parts, "seq > "+quote(a.Changes.Since))
	}
	if a.Until != "" {
		op := "<="
		if a.UntilOpen {
			op = "<"
		}
		parts = append(parts, "seq "+op+" "+quote(a.Until))
	}
	if a.Changes.Follow {
		parts = append(parts, "without end")
	}
	return strings.Join(parts, " and ")
}

func keyBounds(a *exec.Access) string {
	v := &a.View
	if v.Keys != nil {
		return fmt.Sprintf("%d keys", len(v.Keys))
	}
	if v.Low != nil && string(v.Low) == string(v.High) {
		return "key = " + shown(v.Low)
	}
	var parts []string
	op := func(open bool, sign string) string {
		if open {
			return sign
		}
		return sign + "="
	}
	if v.Low != nil {
		parts = append(parts, "key "+op(a.LowOpen, ">")+" "+shown(v.Low))
	}
	if v.High != nil {
		parts = append(parts, "key "+op(a.HighOpen, "<")+" "+shown(v.High))
	}
	return strings.Join(parts, " and ")
}

// shown returns a key with CouchDB's high character escaped.
func shown(key []byte) string { return strings.ReplaceAll(string(key), "\ufff0", `\ufff0`) }

// quote returns a text for EXPLAIN, with unprintable characters escaped.
func quote(s string) string { return fmt.Sprintf("%q", s) }
