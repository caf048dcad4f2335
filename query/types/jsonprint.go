package types

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/divandb/divan/layer/jsontext"
)

// A computed jsonb is printed as PostgreSQL prints it: members in its order, the last of several with one name, numbers
// like a numeric, a space after commas and colons. Documents, keys and values, and parts extracted from them, keep
// their stored text.

// maxDigits limits how much a value grows when numbers with exponents are written out. Numbers beyond the limit stay as
// they are.
const maxDigits = 1 << 20

// PrintJSONB returns a valid JSON text as PostgreSQL prints a jsonb. It reports the bytes read to step.
func PrintJSONB(s string, step Step) (string, error) {
	s = strings.TrimSpace(s)
	if plainScalar(s) {
		return s, nil
	}
	p := jsonbPrinter{s: s, step: step, dst: make([]byte, 0, len(s)+len(s)/8+16)}
	if _, err := p.value(0); err != nil {
		return "", err
	}
	if string(p.dst) == s {
		return s, nil
	}
	return NewJSON(p.dst).S, nil
}

// plainScalar reports whether a text is a scalar that is printed unchanged.
func plainScalar(s string) bool {
	switch s[0] {
	case '{', '[':
		return false
	case '"':
		return strings.IndexByte(s, '\\') < 0
	}
	return !strings.ContainsAny(s, "eE") && !strings.HasPrefix(s, "-0") || s[0] == 't' || s[0] == 'f'
}

// JSONBText is ->> for a jsonb itself, as JSONText is for a json.
func JSONBText(s string) (string, bool) {
	if s != "" && s[0] == '"' {
		return JSONText(s)
	}
	switch JSONKindOf(s) {
	case JSONNull, JSONString:
		return JSONText(s)
	}
	text, err := PrintJSONB(s, nil)
	return text, err == nil
}

type jsonbPrinter struct {
	s       string
	step    Step
	dst     []byte
	members []stretch // of the objects that are open
	grown   int
}

// stretch is the position of a member in the output.
type stretch struct{ from, to int }

// value prints the value that begins at i, and returns the index after it.
func (p *jsonbPrinter) value(i int) (int, error) {
	switch p.s[i] {
	case '{':
		return p.object(i)
	case '[':
		return p.array(i)
	}
	end := skipValue(p.s, i)
	raw := p.s[i:end]
	switch {
	case plainScalar(raw):
		p.dst = append(p.dst, raw...)
	case raw[0] == '"':
		p.str(raw)
	default:
		p.number(raw)
	}
	return end, p.step.took(len(raw))
}

// str prints a string with escapes. A lone surrogate keeps its escape.
func (p *jsonbPrinter) str(raw string) {
	text := JSONUnquote(raw)
	if strings.Contains(text, "\uFFFD") {
		p.dst = append(p.dst, raw...)
		return
	}
	p.dst = jsontext.AppendQuoted(p.dst, text)
}

func (p *jsonbPrinter) number(raw string) {
	d, err := ParseDecimal(raw)
	if err != nil || p.grown > maxDigits {
		p.dst = append(p.dst, raw...) // not a numeric
		return
	}
	n := len(p.dst)
	p.dst = d.append(p.dst)
	p.grown += max(0, len(p.dst)-n-len(raw))
}

func (p *jsonbPrinter) array(i int) (int, error) {
	p.dst = append(p.dst, '[')
	var err error
	for i = jsontext.SkipSpace(p.s, i+1); p.s[i] != ']'; {
		if p.s[i] == ',' {
			p.dst = append(p.dst, ", "...)
			i = jsontext.SkipSpace(p.s, i+1)
		}
		if i, err = p.value(i); err != nil {
			return i, err
		}
		i = jsontext.SkipSpace(p.s, i)
	}
	p.dst = append(p.dst, ']')
	return i + 1, p.step.took(2)
}

func (p *jsonbPrinter) object(i int) (int, error) {
	start, base, sorted := len(p.dst), len(p.members), true
	p.dst = append(p.dst, '{')
	var err error
	for i = jsontext.SkipSpace(p.s, i+1); p.s[i] != '}'; {
		if p.s[i] == ',' {
			p.dst = append(p.dst, ", "...)
			i = jsontext.SkipSpace(p.s, i+1)
		}
		from := len(p.dst)
		if i, err = p.value(i); err != nil {
			return i, err
		}
		p.dst = append(p.dst, ": "...)
		i = jsontext.SkipSpace(p.s, jsontext.SkipSpace(p.s, i)+1) // after the colon
		if i, err = p.value(i); err != nil {
			return i, err
		}
		i = jsontext.SkipSpace(p.s, i)
		m := stretch{from, len(p.dst)}
		if n := len(p.members); n > base {
			sorted = sorted && compareNames(p.name(p.members[n-1]), p.name(m)) < 0
		}
		p.members = append(p.members, m)
	}
	p.dst = append(p.dst, '}')
	if !sorted {
		err = p.sort(start, p.members[base:])
	}
	p.members = p.members[:base]
	if err != nil {
		return i, err
	}
	return i + 1, p.step.took(2)
}

// name returns the decoded name of a printed member.
func (p *jsonbPrinter) name(m stretch) string {
	text := bytesString(p.dst[m.from:m.to])
	return text[:jsontext.SkipString(text, 0)]
}

// sort sorts the members of the object that begins at start, and keeps only the last of several with one name.
func (p *jsonbPrinter) sort(start int, list []stretch) error {
	if err := p.step.took(len(p.dst) - start); err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b stretch) int { return compareNames(p.name(a), p.name(b)) })
	was := bytes.Clone(p.dst[start:])
	kept := p.dst[:start+1]
	for i, m := range list {
		text := was[m.from-start : m.to-start]
		if i+1 < len(list) {
			next := bytesString(was[list[i+1].from-start : list[i+1].to-start])
			mine := bytesString(text)
			if mine[:jsontext.SkipString(mine, 0)] == next[:jsontext.SkipString(next, 0)] {
				continue
			}
		}
		if len(kept) > start+1 {
			kept = append(kept, ", "...)
		}
		kept = append(kept, text...)
	}
	p.dst = append(kept, '}')
	return nil
}

// compareNames compares raw names in the order of jsonb: shorter names first.
func compareNames(a, b string) int {
	a, b = JSONUnquote(a), JSONUnquote(b)
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

func bytesString(b []byte) string { return NewJSON(b).S }

// NewJSONBCursor is NewJSONCursor with the members of an object in jsonb's order, without duplicate names.
func NewJSONBCursor(s string) JSONCursor {
	c := NewJSONCursor(s)
	if JSONKindOf(s) != JSONObject {
		return c
	}
	last, sorted := "", true
	JSONMembers(s, func(k, _ string) bool {
		sorted = last == "" || compareNames(last, k) < 0
		last = k
		return sorted
	})
	if sorted {
		return c
	}
	c.sorted = []rawMember{}
	JSONMembers(s, func(k, v string) bool {
		c.sorted = append(c.sorted, rawMember{k, v})
		return true
	})
	slices.SortStableFunc(c.sorted, func(a, b rawMember) int { return compareNames(a.key, b.key) })
	return c
}

// next returns the next of the sorted members.
func (c *JSONCursor) next() (key, value string, ok bool) {
	for len(c.sorted) > 0 {
		m := c.sorted[0]
		c.sorted = c.sorted[1:]
		if len(c.sorted) == 0 || compareNames(m.key, c.sorted[0].key) != 0 {
			return m.key, m.value, true
		}
	}
	return "", "", false
}
