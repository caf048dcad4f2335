package collate

import (
	"fmt"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/divandb/divan/layer/jsontext"
)

// Unambiguous reports whether the strings of a JSON text have only characters that their sort key tells apart. Two
// strings for which it is true are the same if their sort keys are equal. It is false for combining marks, characters
// that are ignored, and those that the order does not tell from others, such as most control characters.
func Unambiguous(json []byte) bool {
	plain := true
	for _, c := range json {
		if c < ' ' || c > '~' || c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		return true
	}
	text, ok := jsontext.AppendUnescaped(make([]byte, 0, len(json)), json, jsontext.ReplaceHalf)
	if !ok {
		return false
	}
	clear := unambiguous()
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r > maxUnambiguous || !clear[r] {
			return false
		}
		i += n
	}
	return true
}

// maxUnambiguous is the last character that is looked at.
const maxUnambiguous = 0xFFFC

// unambiguous returns which characters a sort key tells apart.
//
// Such a character has one element with a primary weight and the common secondary one, and then only elements of
// marks, which have another secondary weight and no primary one. So the weights on each level can be assigned to the
// characters: a primary weight for each, a secondary weight for each element, of which the common ones begin a
// character, and a tertiary weight for each element. The elements of each character differ from those of all others,
// and contractions are left out.
var unambiguous = sync.OnceValue(func() *[maxUnambiguous + 1]bool {
	t := root()
	clear := new([maxUnambiguous + 1]bool)
	// A contraction needs all of its characters: without its second ones or, if these are ASCII's, its first one, there
	// is none.
	parts := map[rune]bool{}
	for first, c := range t.contractions {
		for second := range c.next {
			if second < utf8.RuneSelf {
				parts[first] = true
			} else {
				parts[second] = true
			}
		}
	}
	taken := map[string]bool{}
	for r := range rune(len(clear)) {
		if !utf8.ValidRune(r) || parts[r] || !norm.NFC.IsNormalString(string(r)) {
			continue
		}
		elements, _, known := t.lookup(r)
		if !known {
			// Its own weight follows from the code point, but a syllable has the weights of its parts.
			clear[r] = r < 0xAC00 || r > 0xD7A3
			continue
		}
		// Digits of several scripts have the same weights: those that come first, ASCII's, are the clear ones.
		if key := fmt.Sprint(elements); separable(elements) && !taken[key] {
			taken[key], clear[r] = true, true
		}
	}
	return clear
})

// separable reports whether elements can be told from those of the characters around them.
func separable(elements []element) bool {
	for i, e := range elements {
		base := e.primary() != 0 && byte(e.primary()>>24) != unassignedLead && e.secondary() == commonWeight
		mark := e.primary() == 0 && e.secondary() != commonWeight && e.secondary() != 0
		if i == 0 && !base || i > 0 && !mark || e.tertiary() < commonWeight {
			return false
		}
	}
	return len(elements) > 0
}
