// Package selector implements Mango: JSON conditions on JSON documents, as CouchDB's `_find` and `filter=_selector`
// take them. A selector is parsed once and matched against the texts of documents, which are searched, not decoded.
//
// It follows CouchDB 3.5's documentation of selectors, and its mango_selector where that is silent. There are two
// differences: $regex is RE2's language, in which no expression takes exponential time (no look-around, no back
// references), and $text is refused.
//
// The normalized form of a selector ([Term]) is what planners look at.
package selector

import (
	"fmt"

	"github.com/tidwall/gjson"
)

// Error describes what is wrong with a selector. Name is CouchDB's error name in `_find`.
type Error struct {
	Name, Reason string
}

func (e *Error) Error() string { return e.Name + ": " + e.Reason }

// Selector is a parsed selector. It is immutable and safe for concurrent use.
type Selector struct {
	root  node
	term  *Term
	extra int
}

// Term returns the normalized selector, or nil for an empty one.
func (s *Selector) Term() *Term { return s.term }

// Extra returns the memory in bytes that the selector takes in addition to memory proportional to its text.
func (s *Selector) Extra() int { return s.extra }

// Parse reads a selector: a JSON object, known to be valid and of limited depth. The error is an *Error.
func Parse(text []byte) (*Selector, error) {
	v := gjson.ParseBytes(text)
	if !v.IsObject() {
		return nil, &Error{"invalid_selector_json", fmt.Sprintf("Selector must be a JSON object, not: %s", v.Raw)}
	}
	members := membersOf(v)
	if len(members) == 0 {
		return &Selector{root: every(nil)}, nil
	}
	c := &compiler{most: max(extra, extraPerByte*len(text))}
	n := normalizer{c: c}
	term, err := n.selector(v, place{}, false)
	if err != nil {
		return nil, err
	}
	root, err := c.compile(term)
	if err != nil {
		return nil, err
	}
	if term.Op == "" && term.Field == "" {
		return nil, &Error{"invalid_selector", "One or more conditions is missing a field name."}
	}
	return &Selector{root: root, term: term, extra: c.used}, nil
}

// Match reports whether a document, a valid JSON object, matches the selector.
func (s *Selector) Match(doc []byte) bool { return s.root.match(gjson.ParseBytes(doc)) }

// node is a part of a selector.
type node interface {
	match(v gjson.Result) bool
}

// every and some are $and and $or. With no conditions both are true, as in CouchDB.
type every []node

func (all every) match(v gjson.Result) bool {
	for _, n := range all {
		if !n.match(v) {
			return false
		}
	}
	return true
}

type some []node

func (any some) match(v gjson.Result) bool {
	for _, n := range any {
		if n.match(v) {
			return true
		}
	}
	return len(any) == 0
}

// without is $not below $elemMatch and the like, where a value that does not exist fulfils it.
type without struct{ node }

func (w without) match(v gjson.Result) bool { return !w.node.match(v) }

// field applies a condition to the value at a path. A document without that value matches only {"$exists": false}, even
// if the condition is negated: {"$not": {"a": 1}} requires an a.
type field struct {
	path []string
	cond condition
}

// condition is the test of an operator. raw is set for _id, which is compared byte by byte.
type condition interface {
	holds(v gjson.Result, raw bool) bool
}

func (f *field) match(v gjson.Result) bool {
	v, found := resolve(v, f.path)
	switch found {
	case present:
		return f.cond.holds(v, len(f.path) == 1 && f.path[0] == "_id")
	case absent:
		return f.cond == exists(false)
	}
	return false
}

// A path ends at a value, at an object without the member, or at a value that has no such members.
type finding int

const (
	present finding = iota
	absent
	nowhere
)

// resolve follows a path by name through objects and by index through arrays.
func resolve(v gjson.Result, path []string) (gjson.Result, finding) {
	for _, name := range path {
		switch {
		case v.IsObject():
			member, ok := lookup(v, name)
			if !ok {
				return v, absent
			}
			v = member
		case v.IsArray():
			element, ok := elementAt(v, name)
			if !ok {
				return v, nowhere
			}
			v = element
		default:
			return v, nowhere
		}
	}
	return v, present
}

// lookup finds the first member of a name.
func lookup(object gjson.Result, name string) (found gjson.Result, ok bool) {
	object.ForEach(func(key, value gjson.Result) bool {
		if key.Str == name {
			found, ok = value, true
		}
		return !ok
	})
	return found, ok
}

func elementAt(array gjson.Result, index string) (found gjson.Result, ok bool) {
	at := 0
	for _, c := range []byte(index) {
		if c < '0' || c > '9' || at > 1<<30 {
			return found, false
		}
		at = at*10 + int(c-'0')
	}
	i := 0
	array.ForEach(func(_, value gjson.Result) bool {
		if i == at {
			found, ok = value, index != ""
			return false
		}
		i++
		return true
	})
	return found, ok
}

// pair is a member of an object.
type pair struct {
	name  string
	value gjson.Result
}

// membersOf returns the members of an object. Of those with the same name the last one counts, as in documents.
func membersOf(object gjson.Result) (list []pair) {
	last := map[string]int{}
	object.ForEach(func(key, value gjson.Result) bool {
		last[key.Str] = len(list)
		list = append(list, pair{key.Str, value})
		return true
	})
	if len(last) == len(list) {
		return list
	}
	kept := list[:0]
	for i, m := range list {
		if last[m.name] == i {
			kept = append(kept, m)
		}
	}
	return kept
}
