package regex

import (
	"unicode"
	"unicode/utf8"
)

// maxParts is the most parts that the text of a repeated group may have: their ends are kept in memory.
const maxParts = 1 << 20

func lower(r rune) rune { return unicode.ToLower(r) }

// iterate divides a text into parts that each match the kid and are as long, or as short, as possible. It uses empty
// parts only if there would be too few otherwise.
func (m *machine) iterate(n *node, begin, end int) bool {
	least := max(n.min, 1)
	most := max(utf8.RuneCountInString(m.s[begin:end]), least)
	if n.max > 0 {
		most = max(min(most, n.max), least)
	}
	kid := n.kids[0]
	a := m.automaton(kid.at)
	short := kid.flags&shorter != 0
	if short && n.min == 0 && begin == end {
		return true
	}
	ends := []int{begin}
	// few reports whether k parts that end at a position are too few, so that empty parts must follow.
	few := func(k, at int) bool { return k < least && least-k >= utf8.RuneCountInString(m.s[at:end]) }
	low, limit := begin, end // possible ends of part k
	verified := 0
	for k := 1; k > 0; {
		if len(ends) == k {
			ends = append(ends, 0)
		}
		if k > maxParts {
			m.err = ErrTooBig
		}
		if short {
			if low == ends[k-1] && low != end && !few(k, low) {
				low = m.after(low)
			}
			if k >= most {
				low = end
			}
			ends[k] = m.shortest(a, ends[k-1], low, end)
		} else {
			ends[k] = m.longest(a, ends[k-1], limit)
		}
		if !m.work(1) {
			return false
		}
		verified = min(verified, k-1)
		switch {
		case ends[k] < 0, ends[k] != end && k >= most:
			k--
		case ends[k] != end && (short || ends[k] != ends[k-1] || few(k, ends[k])):
			low, limit = ends[k], end
			k++
			continue
		case ends[k] == end && k >= least:
			failed := m.verify(kid, ends[:k+1], verified)
			if failed == 0 {
				return true
			}
			k, verified = failed, failed-1
		}
		// Try another end for part k, or for one before it.
		for ; k > 0; k-- {
			if short {
				if ends[k] < end {
					low = m.after(ends[k])
					break
				}
				continue
			}
			if from := ends[k-1]; ends[k] > from {
				if limit = m.before(ends[k]); limit > from || few(k, from) {
					break
				}
			}
		}
	}
	return n.min == 0 && begin == end && m.err == nil
}

// verify dissects the parts that have not been dissected, and returns the number of the first that fails, or 0.
func (m *machine) verify(kid *node, ends []int, done int) int {
	for i := done + 1; i < len(ends); i++ {
		m.forget(kid)
		if !m.dissect(kid, ends[i-1], ends[i]) {
			return i
		}
	}
	return 0
}
