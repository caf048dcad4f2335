package regex

import "unicode/utf8"

// search finds where the match that ends first after from ends, and a position before which no match begins.
func (m *machine) search(from int) (open, end int, err error) {
	a := m.searcher
	if a == nil {
		a = &automaton{place: m.re.tree.at, anywhere: true}
		m.searcher = a
	}
	st := m.first(a)
	open = from
	for at := from; ; {
		if len(st.seeds) == 1 && st.seeds[0] == a.entry {
			open = at
		}
		cl := m.close(a, st, at)
		if cl.matches {
			return open, at, m.err
		}
		if at == len(m.s) || !m.work(1) {
			return 0, -1, m.err
		}
		r, n := rune(m.s[at]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(m.s[at:])
		}
		st = m.next(a, cl, m.re.alphabet.of(r))
		at += n
	}
}

// find finds the first match at or after from, with its groups.
func (m *machine) find(from int) ([]int, error) {
	root := m.automaton(m.re.tree.at)
	short := m.re.tree.flags&shorter != 0
	for {
		open, close, err := m.search(from)
		if close < 0 || err != nil {
			return nil, err
		}
		for begin := open; begin <= close; begin = m.after(begin) {
			found, err := m.from(root, begin, short)
			if found != nil || err != nil {
				return found, err
			}
			if begin == len(m.s) {
				return nil, nil
			}
		}
		// The automaton ignores back references, so only with them can its match turn out to be none.
		from = m.after(close)
	}
}

// from finds the match that begins at a position.
func (m *machine) from(root *automaton, begin int, short bool) ([]int, error) {
	least, limit := begin, len(m.s)
	for {
		var end int
		if short {
			end = m.shortest(root, begin, least, limit)
		} else {
			end = m.longest(root, begin, limit)
		}
		if end < 0 || m.err != nil {
			return nil, m.err
		}
		m.groups = make([]int, 2*m.re.groups+2)
		for i := range m.groups {
			m.groups[i] = -1
		}
		m.groups[0], m.groups[1] = begin, end
		if m.dissect(m.re.tree, begin, end) {
			return m.groups, m.err
		}
		// Try the next longer or shorter one.
		if short {
			if end == limit {
				return nil, m.err
			}
			least = m.after(end)
		} else {
			if end == begin {
				return nil, m.err
			}
			limit = m.before(end)
		}
	}
}

func (m *machine) after(at int) int {
	if at >= len(m.s) {
		return at + 1
	}
	_, n := utf8.DecodeRuneInString(m.s[at:])
	return at + n
}

func (m *machine) before(at int) int {
	_, n := utf8.DecodeLastRuneInString(m.s[:at])
	return at - n
}

// dissect finds what the groups of a node match within a text that the node's automaton matches. It returns false if
// back references do not match, or if the search was ended.
func (m *machine) dissect(n *node, begin, end int) bool {
	if !m.work(1) {
		return false
	}
	ok := true
	switch n.kind {
	case concat:
		ok = m.concat(n, begin, end)
	case alternate:
		ok = false
		for _, kid := range n.kids {
			if ok = m.whole(kid, begin, end) && m.dissect(kid, begin, end); ok || m.err != nil {
				break
			}
			m.forget(kid)
		}
	case iterate:
		ok = m.iterate(n, begin, end)
	case reference:
		ok = m.refers(n, begin, end)
	case wrapper:
		ok = m.dissect(n.kids[0], begin, end)
	}
	if ok && n.capture > 0 {
		m.groups[2*n.capture], m.groups[2*n.capture+1] = begin, end
	}
	return ok && m.err == nil
}

// whole reports whether a node's automaton matches a text exactly.
func (m *machine) whole(n *node, begin, end int) bool {
	return m.longest(m.automaton(n.at), begin, end) == end
}

// forget clears the groups of a node.
func (m *machine) forget(n *node) {
	if n.flags&captures == 0 {
		return
	}
	if n.capture > 0 {
		m.groups[2*n.capture], m.groups[2*n.capture+1] = -1, -1
	}
	for _, kid := range n.kids {
		m.forget(kid)
	}
}

// concat divides a text between two kids. The first one takes as much, or as little, as possible.
func (m *machine) concat(n *node, begin, end int) bool {
	left, right := n.kids[0], n.kids[1]
	a := m.automaton(left.at)
	short := left.flags&shorter != 0
	least, limit := begin, end
	for {
		var mid int
		if short {
			mid = m.shortest(a, begin, least, limit)
		} else {
			mid = m.longest(a, begin, limit)
		}
		if mid < 0 || m.err != nil {
			return false
		}
		if m.whole(right, mid, end) && m.dissect(left, begin, mid) && m.dissect(right, mid, end) {
			return true
		}
		if short {
			if mid == end {
				return false
			}
			least = m.after(mid)
		} else {
			if mid == begin {
				return false
			}
			limit = m.before(mid)
		}
		m.forget(left)
		m.forget(right)
	}
}
