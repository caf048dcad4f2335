package texts

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
)

// Package norm limits the combining marks after a character to 30, and inserts U+034F before more (UAX 15, Stream-Safe
// Text). PostgreSQL does not. Therefore pieces of text with more are normalized here.

const (
	normalPiece = 32 << 10 // bytes between two checks for cancellation
	joiner      = norm.GraphemeJoiner
)

// normal returns the normal form of s, in pieces that do not interact.
func (f normalForm) normal(env *exec.CallEnv, s string) (string, error) {
	var b strings.Builder
	made := false // b holds the result; otherwise it is s up to here
	for at := 0; at < len(s); {
		end := at + f.piece(s[at:])
		piece := s[at:end]
		if err := env.Bytes(4 * len(piece)); err != nil {
			return "", err
		}
		if !f.form.IsNormalString(piece) {
			n, err := f.normalPiece(env, piece)
			if err != nil {
				return "", err
			}
			if !made && n != piece {
				if err := funcs.FitsText(env, f.grows*len(s)); err != nil {
					return "", err
				}
				made = true
				b.WriteString(s[:at])
			}
			piece = n
		}
		if made {
			b.WriteString(piece)
		}
		at = end
	}
	if !made {
		return s, nil
	}
	return b.String(), nil
}

// piece returns the length of a piece at the beginning of s. It ends before a character that does not interact with
// those before it.
func (f normalForm) piece(s string) int {
	end := min(normalPiece, len(s))
	for end < len(s) && !utf8.RuneStart(s[end]) {
		end++
	}
	for end < len(s) {
		p := f.form.PropertiesString(s[end:])
		if p.BoundaryBefore() {
			break
		}
		end += max(p.Size(), 1)
	}
	return end
}

func (f normalForm) normalPiece(env *exec.CallEnv, s string) (string, error) {
	// The result, and what makeNormal needs.
	need := int64(2*f.grows+1) * int64(len(s))
	if err := env.Hold(need); err != nil {
		return "", err
	}
	defer env.Release(need)
	if out := f.form.String(s); strings.Count(out, joiner) == strings.Count(s, joiner) {
		return out, nil
	}
	return f.makeNormal(env, s)
}

// mark is a character with its canonical combining class.
type mark struct {
	r     rune
	class uint8
}

// makeNormal is the algorithm of UAX 15: decompose, sort the marks by their classes, compose.
func (f normalForm) makeNormal(env *exec.CallEnv, s string) (string, error) {
	var b strings.Builder
	var segment []mark // of characters that may interact
	flush := func() {
		sortMarks(segment)
		if f.form != f.decomposed {
			segment = composed(segment)
		}
		for _, m := range segment {
			b.WriteRune(m.r)
		}
		segment = segment[:0]
	}
	for len(s) > 0 {
		if err := env.Step(1); err != nil {
			return "", err
		}
		p := f.form.PropertiesString(s)
		size := max(p.Size(), 1)
		if p.BoundaryBefore() {
			flush()
		}
		text := f.decomposed.String(s[:size])
		for text != "" {
			r, n := utf8.DecodeRuneInString(text)
			segment = append(segment, mark{r, norm.NFD.PropertiesString(text).CCC()})
			text = text[n:]
		}
		s = s[size:]
	}
	flush()
	return b.String(), nil
}

// sortMarks sorts each run of marks by class, and keeps the order of those of one class.
func sortMarks(segment []mark) {
	for at := 0; at < len(segment); at++ {
		if segment[at].class == 0 {
			continue
		}
		var next [256]int
		end := at
		for ; end < len(segment) && segment[end].class != 0; end++ {
			next[segment[end].class]++
		}
		if end-at < 2 {
			continue
		}
		sum := 0
		for c, n := range next {
			next[c] = sum
			sum += n
		}
		sorted := make([]mark, end-at)
		for _, m := range segment[at:end] {
			sorted[next[m.class]] = m
			next[m.class]++
		}
		copy(segment[at:], sorted)
		at = end
	}
}

// composed composes the first character of a segment, and later ones of class 0, with what follows them.
func composed(segment []mark) []mark {
	out := segment[:0]
	starter := -1
	last := 0 // class of the character before, if it was not composed; -1 directly after the starter
	for _, m := range segment {
		if starter >= 0 && last < int(m.class) {
			if r, ok := pair(out[starter].r, m.r); ok {
				out[starter].r = r
				continue
			}
		}
		if m.class == 0 {
			starter, last = len(out), -1
		} else {
			last = int(m.class)
		}
		out = append(out, m)
	}
	return out
}

// pair returns the primary composite of two characters.
func pair(a, b rune) (rune, bool) {
	text := norm.NFC.String(string(a) + string(b))
	r, n := utf8.DecodeRuneInString(text)
	return r, n == len(text)
}
