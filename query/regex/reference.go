package regex

import "unicode/utf8"

// refers reports whether a text repeats what a group has matched, as often as the node allows.
func (m *machine) refers(n *node, begin, end int) bool {
	return m.groups[2*n.group] >= 0 && m.repeated(n, begin, end, end, false) == end
}

// known reports whether a is a back reference to a group that has matched. Its matches are then found without the
// automaton, which matches whatever the group could match. Otherwise each wrong division of the text would take a
// search of its own.
func (m *machine) known(a *automaton) bool {
	return a.refers != nil && m.groups != nil && m.groups[2*a.refers.group] >= 0
}

// repeated returns the end of the longest, or shortest, repetition of a group's text that begins at from and ends
// between least and limit; negative if there is none.
func (m *machine) repeated(n *node, from, least, limit int, short bool) int {
	text := m.s[m.groups[2*n.group]:m.groups[2*n.group+1]]
	if text == "" {
		if least > from {
			return -1
		}
		return from // any number of repetitions
	}
	at, found := from, -1
	for times := 0; ; times++ {
		if times >= n.min && at >= least {
			if found = at; short {
				break
			}
		}
		if n.max >= 0 && times == n.max || at >= limit || !m.work(1+len(text)/16) {
			break
		}
		size := m.same(text, at)
		if size < 0 || at+size > limit {
			break
		}
		at += size
	}
	return found
}

// same returns how many bytes at a position equal text, ignoring case if it is folded; negative if they differ.
func (m *machine) same(text string, at int) int {
	if !m.re.fold {
		if len(m.s)-at < len(text) || m.s[at:at+len(text)] != text {
			return -1
		}
		return len(text)
	}
	from := at
	for _, want := range text {
		r, n := utf8.DecodeRuneInString(m.s[at:])
		if n == 0 || r != want && lower(r) != lower(want) {
			return -1
		}
		at += n
	}
	return at - from
}
