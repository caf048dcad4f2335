package funcs

import (
	"regexp"
	"strings"
)

// embedded are the options that a regular expression of PostgreSQL may begin with.
var embedded = regexp.MustCompile(`^\(\?([bceimnpqstwx]+)\)`)

// posix turns a regular expression of PostgreSQL into Go's: options in front, case folding, escapes and classes. Go's
// engine runs in linear time, so that no pattern can hang the gateway; back references and lookaround are refused by
// it.
func posix(p string, fold bool) string {
	if rest, ok := strings.CutPrefix(p, "***="); ok {
		p = regexp.QuoteMeta(rest)
	}
	p = strings.TrimPrefix(p, "***:")
	options := "(?s)"
	if fold {
		options = "(?is)"
	}
	if m := embedded.FindStringSubmatch(p); m != nil {
		p = p[len(m[0]):]
		for _, c := range m[1] {
			switch c {
			case 'i':
				options += "(?i)"
			case 'c':
				options += "(?-i)"
			case 'm', 'n':
				options += "(?m-s)"
			case 'p':
				options += "(?-ms)"
			case 's':
				options += "(?s-m)"
			case 'w':
				options += "(?ms)"
			case 'x':
				p = withoutBlanks(p)
			case 'q':
				p = regexp.QuoteMeta(p)
			}
		}
	}
	return options + classes(p)
}

// The classes of characters as the locale C.UTF-8 has them, where Go's are those of ASCII. Digits are ASCII's in both.
const (
	letters = `\p{L}\p{Nl}`
	words   = letters + `\p{Nd}`
	spaces  = `\s\v\x85\x{1680}\x{2000}-\x{2006}\x{2008}-\x{200a}\x{2028}\x{2029}\x{205f}\x{3000}`
)

var (
	escapes = map[byte]string{
		'm': `\b`, 'M': `\b`, 'y': `\b`, 'Y': `\B`, 'Z': `\z`,
		'w': `[` + words + `_]`, 'W': `[^` + words + `_]`, 's': `[` + spaces + `]`, 'S': `[^` + spaces + `]`,
	}
	within = map[string]string{
		`\w`: words + `_`, `\s`: spaces, `[:alpha:]`: letters, `[:alnum:]`: words, `[:space:]`: spaces,
		`[:upper:]`: `\p{Lu}`, `[:lower:]`: `\p{Ll}`, `[:punct:]`: `[:punct:]\p{P}\p{S}`, `[:word:]`: words + `_`,
	}
)

// classes puts Go's escapes and classes in the place of PostgreSQL's.
func classes(p string) string {
	var b strings.Builder
	for i := 0; i < len(p); {
		switch {
		case p[i] == '\\' && i+1 < len(p):
			if e, ok := escapes[p[i+1]]; ok {
				b.WriteString(e)
			} else {
				b.WriteString(p[i : i+2])
			}
			i += 2
		case p[i] == '[':
			i = bracket(&b, p, i)
		default:
			b.WriteByte(p[i])
			i++
		}
	}
	return b.String()
}

// bracket writes the bracket expression that begins at i, and returns where it ends.
func bracket(b *strings.Builder, p string, i int) int {
	b.WriteByte('[')
	if i++; i < len(p) && p[i] == '^' {
		b.WriteByte('^')
		i++
	}
	for first := i; i < len(p); {
		switch {
		case p[i] == ']' && i > first:
			b.WriteByte(']')
			return i + 1
		case strings.HasPrefix(p[i:], "[:"):
			end := strings.Index(p[i:], ":]")
			if end < 0 {
				b.WriteString(p[i:])
				return len(p)
			}
			name := p[i : i+end+2]
			if class, ok := within[name]; ok {
				name = class
			}
			b.WriteString(name)
			i += end + 2
		case p[i] == '\\' && i+1 < len(p):
			if class, ok := within[p[i:i+2]]; ok {
				b.WriteString(class)
			} else {
				b.WriteString(p[i : i+2])
			}
			i += 2
		default:
			b.WriteByte(p[i])
			i++
		}
	}
	return i
}
