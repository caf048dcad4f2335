package collate

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// stringKeys makes sort keys of strings in ICU's root order, as CouchDB's collator is configured: three levels,
// punctuation not ignored, no normalisation. Not safe for concurrent use: each encoder owns one.
//
// A key is the primary weights, then the secondary, then the tertiary ones. A level is omitted if it and all later
// ones have only the common weight, as in most text:
//
//	primary bytes [ 0x01 secondary bytes [ 0x01 tertiary bytes ] ] 0x00
//
// Weights have bytes from 0x02, so a key that ends sooner sorts first. The alternative, golang.org/x/text/collate,
// has the order of Unicode 6.2 and keys five times as long.
type stringKeys struct {
	root               *rootTable
	dst                []byte
	lead               byte // the first byte of the current packed sequence, 0 for none
	last               uint32
	secondary          level
	tertiary           level
	syllabary          bool // the string contains hiragana or katakana
	compareA, compareB []byte
}

func newStringKeys() stringKeys { return stringKeys{} }

const (
	endKey   byte = 0x00
	endLevel byte = 0x01
	// packLow and packHigh end a sequence of primaries with the same first byte, which is written once: the next
	// primary is lower or higher.
	packLow  byte = 0x03
	packHigh byte = 0xFF

	commonWeight   = 0x0500
	unassignedLead = 0xFE
	// maxMarks is how many marks a contraction may skip. Unicode's stream-safe text has at most 30 in sequence;
	// without a bound, a sequence of marks that each begin contractions would take quadratic time.
	maxMarks = 128
	// syllabaryLead is the first byte of the primaries of hiragana and katakana, the only characters with tertiary
	// weights below the common one.
	syllabaryLead = 0x7A
)

// level collects the weights of a level. A sequence of common weights is one byte, for up to most of them: before a
// higher weight, a longer sequence sorts lower; before a lower weight or the end, it sorts higher.
type level struct {
	bytes             []byte
	run               int
	low, middle, high byte // bytes for sequences: from low upwards, middle for a full one, from high downwards
	most              int
}

// appendKey appends the self-delimiting sort key of text.
func (s *stringKeys) appendKey(dst, text []byte) []byte {
	if s.root == nil {
		s.root = root()
		s.secondary = level{low: 0x02, middle: 0x36, high: 0x6F, most: 0x33}
		s.tertiary = level{low: 0x03, middle: 0x23, high: 0x43, most: 0x20}
	}
	s.dst, s.lead, s.last, s.syllabary = dst, 0, 0, false
	s.secondary.reset()
	s.tertiary.reset()
	s.addText(text)
	return s.finish()
}

// addText adds the elements of text.
func (s *stringKeys) addText(text []byte) {
	for i := 0; i < len(text); {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(text[i:])
		}
		i += n
		elements, start, known := s.root.lookup(r)
		switch {
		case start && !(r < utf8.RuneSelf && (i == len(text) || text[i] < utf8.RuneSelf)):
			i += s.contracted(elements, known, text[i-n:], n) - n
		case known:
			s.add(elements)
		default:
			s.unknown(r)
		}
	}
}

// finish writes the levels after the primaries.
func (s *stringKeys) finish() []byte {
	dst := s.dst
	s.dst = nil
	if s.syllabary {
		s.tertiary.flush(false)
	}
	if len(s.secondary.bytes)+len(s.tertiary.bytes) > 0 {
		dst = append(append(dst, endLevel), s.secondary.bytes...)
	}
	if len(s.tertiary.bytes) > 0 {
		dst = append(append(dst, endLevel), s.tertiary.bytes...)
	}
	return append(dst, endKey)
}

// add adds elements.
func (s *stringKeys) add(elements []element) {
	for _, e := range elements {
		if p := e.primary(); p != 0 {
			s.addPrimary(p)
		}
		switch w := e.secondary(); {
		case w == commonWeight:
			s.secondary.run++
		case w != 0:
			s.secondary.flush(true)
			s.secondary.bytes = append(s.secondary.bytes, byte(w>>8))
			if w&0xFF != 0 {
				s.secondary.bytes = append(s.secondary.bytes, byte(w))
			}
		}
		switch w := e.tertiary(); {
		case w == commonWeight:
			s.tertiary.run++
		case w > commonWeight:
			s.tertiary.flush(true)
			s.tertiary.bytes = append(s.tertiary.bytes, byte(w>>8)+0x40) // 0x50 to 0x7F
		case w != 0:
			s.tertiary.flush(false)
			s.tertiary.bytes = append(s.tertiary.bytes, 0x02)
		}
	}
}

// addPrimary writes the bytes of a primary weight up to the last non-zero one. No weight is a prefix of another.
func (s *stringKeys) addPrimary(p uint32) {
	lead := byte(p >> 24)
	if lead == unassignedLead {
		// This weight stands for the position before the first unassigned character. That is not U+0000, so its bytes
		// are free.
		s.addUnassigned(0)
		return
	}
	if lead != s.lead {
		if s.lead != 0 {
			mark := packHigh
			if p < s.last {
				mark = packLow
			}
			s.dst = append(s.dst, mark)
		}
		s.dst = append(s.dst, lead)
		s.lead = 0
		if s.root.packed[lead] {
			s.lead = lead
		}
		s.syllabary = s.syllabary || lead == syllabaryLead
	} else if s.lead == 0 {
		s.dst = append(s.dst, lead)
	}
	s.last = p
	for p <<= 8; p != 0; p <<= 8 {
		s.dst = append(s.dst, byte(p>>24))
	}
}

// unknown adds a character that is not in the table: a Hangul syllable as its parts, others after all known ones by
// code point.
func (s *stringKeys) unknown(r rune) {
	const first, vowels, finals, count = 0xAC00, 21, 28, 11172
	if i := r - first; i >= 0 && i < count {
		for _, part := range [3]rune{0x1100 + i/(vowels*finals), 0x1161 + i%(vowels*finals)/finals, 0x11A7 + i%finals} {
			if part == 0x11A7 {
				break // no final consonant
			}
			elements, _, _ := s.root.lookup(part)
			s.add(elements)
		}
		return
	}
	s.addUnassigned(r)
	s.secondary.run++
	s.tertiary.run++
}

func (s *stringKeys) addUnassigned(r rune) {
	if s.lead != 0 {
		s.dst = append(s.dst, packHigh)
		s.lead = 0
	}
	s.dst = append(s.dst, unassignedLead, byte(r>>14)+2, byte(r>>7)&0x7F+2, byte(r)&0x7F+2)
}

func (l *level) reset() { l.bytes, l.run = l.bytes[:0], 0 }

// flush writes the pending sequence. higher says that a weight above the common one follows.
func (l *level) flush(higher bool) {
	if l.run == 0 {
		return
	}
	for l.run > l.most {
		l.bytes = append(l.bytes, l.middle)
		l.run -= l.most
	}
	if higher {
		l.bytes = append(l.bytes, l.high-byte(l.run-1))
	} else {
		l.bytes = append(l.bytes, l.low+byte(l.run-1))
	}
	l.run = 0
}

// contracted adds the elements of the longest contraction at the start of text, and of the marks that it skips. The
// first character has n bytes and its own elements, if known. It returns the number of bytes consumed.
//
// After UTS #10, S2.1: the longest text in the table, then later marks that are not blocked from it.
func (s *stringKeys) contracted(elements []element, known bool, text []byte, n int) int {
	first, _ := utf8.DecodeRune(text)
	node := s.root.contractions[first]
	best, taken, match := node, n, elements
	for at := n; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		next := node.next[r]
		if next == nil {
			break
		}
		node = next
		at += size
		if node.whole {
			best, taken, match = node, at, node.elements
		}
	}
	if taken < len(text) && text[taken] >= utf8.RuneSelf {
		if found, marks, end := discontiguous(best, text, taken); found != nil {
			s.add(found.elements)
			s.addText(marks)
			return end
		}
	}
	if taken == n && !known {
		s.unknown(first)
		return n
	}
	s.add(match)
	return taken
}

// discontiguous extends the contraction text[:taken], whose node is given, by later marks that other marks separate
// from it. It returns the extended contraction, nil if there is none; marks are the skipped marks of the sequence,
// which ends at text[end]. The skipped marks are added as a separate text: they may form contractions again, but none
// that continues with a non-mark.
func discontiguous(node *contraction, text []byte, taken int) (found *contraction, marks []byte, end int) {
	if node.next == nil {
		return nil, nil, 0
	}
	blocked := byte(0) // the class of the last skipped mark
	end = taken
	for n := 0; end < len(text) && n < maxMarks; n++ {
		r, size := utf8.DecodeRune(text[end:])
		p := norm.NFD.Properties(text[end:])
		if p.LeadCCC() == 0 {
			break
		}
		if next := node.next[r]; next != nil && next.whole && blocked < p.LeadCCC() && n > 0 {
			node, found = next, next
		} else {
			marks = append(marks, text[end:end+size]...)
			blocked = p.TrailCCC()
		}
		end += size
	}
	return found, marks, end
}

// compare orders two strings.
func (s *stringKeys) compare(a, b []byte) int {
	if order := root().compareASCII(a, b); order != 0 {
		return order
	}
	s.compareA = s.appendKey(s.compareA[:0], a)
	s.compareB = s.appendKey(s.compareB[:0], b)
	return bytes.Compare(s.compareA, s.compareB)
}
