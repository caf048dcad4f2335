package auth

import "strings"

// CouchDB writes some options as Erlang terms. Only what these options need is read: lists, tuples, strings and atoms.

type termKind int

const (
	termAtom termKind = iota
	termString
	termTuple
	termList
)

type term struct {
	kind  termKind
	text  string // of an atom or a string
	items []term // of a tuple or a list
}

// maxTermDepth bounds the nesting of terms. Options need three levels.
const maxTermDepth = 8

// parseTerms parses one term.
func parseTerms(text string) (term, error) {
	p := termParser{rest: text}
	t, err := p.term(0)
	if err != nil {
		return t, err
	}
	if p.skip(); p.rest != "" && p.rest != "." {
		return t, errTerm
	}
	return t, nil
}

type termParser struct{ rest string }

func (p *termParser) skip() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func (p *termParser) term(depth int) (term, error) {
	p.skip()
	switch {
	case p.rest == "" || depth > maxTermDepth:
		return term{}, errTerm
	case p.rest[0] == '[':
		items, err := p.items(']', depth)
		return term{kind: termList, items: items}, err
	case p.rest[0] == '{':
		items, err := p.items('}', depth)
		return term{kind: termTuple, items: items}, err
	case p.rest[0] == '"':
		text, err := p.quoted()
		return term{kind: termString, text: text}, err
	}
	end := strings.IndexFunc(p.rest, func(c rune) bool {
		return c != '_' && c != '@' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
	if end < 0 {
		end = len(p.rest)
	}
	if end == 0 || p.rest[0] < 'a' || p.rest[0] > 'z' {
		return term{}, errTerm
	}
	t := term{kind: termAtom, text: p.rest[:end]}
	p.rest = p.rest[end:]
	return t, nil
}

// items parses the members of a list or a tuple up to its end.
func (p *termParser) items(end byte, depth int) (items []term, err error) {
	p.rest = p.rest[1:]
	for first := true; ; first = false {
		p.skip()
		if p.rest == "" {
			return nil, errTerm
		}
		if p.rest[0] == end && first {
			p.rest = p.rest[1:]
			return items, nil
		}
		t, err := p.term(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, t)
		p.skip()
		if p.rest == "" || p.rest[0] != ',' && p.rest[0] != end {
			return nil, errTerm
		}
		more := p.rest[0] == ','
		p.rest = p.rest[1:]
		if !more {
			return items, nil
		}
	}
}

// termEscapes are the escapes in strings of single characters. Others stand for the character itself.
var termEscapes = map[byte]byte{
	'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', 'v': '\v', 'e': 0x1b, 's': ' ', 'd': 0x7f, '0': 0,
}

func (p *termParser) quoted() (string, error) {
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; c {
		case '"':
			p.rest = p.rest[i+1:]
			return b.String(), nil
		case '\\':
			if i++; i == len(p.rest) {
				return "", errTerm
			}
			c = p.rest[i]
			if plain, ok := termEscapes[c]; ok {
				c = plain
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return "", errTerm
}
