package collate

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// The orders of languages, for SQL's COLLATE. View keys never use them: their order is CouchDB's.
//
// Most languages sort in ICU's root order, for which this package's table is exact. The others are tailored, and
// golang.org/x/text/collate sorts them. Its tables are of CLDR 23 and support neither the reordering of scripts
// (Russian, Greek) nor upper case first (Danish). So a tailored language is supported only if TestLocale_Words found
// it to agree with PostgreSQL 15 and ICU 72: over ASCII with all pairs of letters, Latin-1, Latin Extended-A, and
// texts in other scripts. Rarer letters (from U+0180: Vietnamese and phonetic ones) sort as in Unicode 6.2, which
// puts a few of them after a different accent of the same letter. A language that disagreed is refused: a wrongly
// sorted list is worse than none.

// ErrUnknownLocale is Locale's error for a language that ICU 72 does not list; ErrUnsupportedLocale for one whose
// order, or option, is not exactly available.
var (
	ErrUnknownLocale     = errors.New("collate: unknown locale")
	ErrUnsupportedLocale = errors.New("collate: order of the locale is not supported")
)

// localesText has a line for each table: "root", the tag by which golang.org/x/text knows it, or "none", followed by
// ICU's locales that use it.
//
//go:embed locales.txt
var localesText string

var localeTables = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(localesText) {
		if table, names, ok := strings.Cut(line, ":"); ok {
			for _, n := range strings.Fields(names) {
				out[n] = table
			}
		}
	}
	return out
})

// Locales returns, sorted, the tags without options that Locale accepts, and ICU's other tags, which it refuses.
func Locales() (supported, refused []string) {
	for n, table := range localeTables() {
		if table == "none" {
			refused = append(refused, n)
		} else {
			supported = append(supported, n)
		}
	}
	slices.Sort(supported)
	slices.Sort(refused)
	return supported, refused
}

// LocaleOrder is the total order of texts in a language: texts that the language does not distinguish are ordered by
// their bytes, as in PostgreSQL's deterministic collations. Safe for concurrent use. Invalid UTF-8 counts as U+FFFD
// before the bytes decide.
type LocaleOrder struct {
	tag  string
	root bool
	pool sync.Pool // of *tailored, or of *stringKeys for the root
}

// tailored is the state that one caller at a time uses.
type tailored struct {
	*collate.Collator
	buf collate.Buffer
}

// Locale returns the order of a BCP 47 tag: a locale as ICU writes it ("sv", "de-AT", "zh-Hant"), or "und" for the
// root, followed by options such as "-u-kn-true" (sequences of digits sort by value) and "-u-ks-level1" or "level2"
// (compare first without accents and case, or without case; the bytes decide ties). The errors wrap ErrUnknownLocale
// or ErrUnsupportedLocale.
func Locale(tag string) (*LocaleOrder, error) {
	name, ext, options := strings.Cut(tag, "-u-")
	if _, listed := localeTables()[tag]; listed {
		name, options = tag, false
	}
	table, ok := localeTables()[name]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrUnknownLocale, tag)
	}
	if table == "none" {
		return nil, fmt.Errorf("%w: %q", ErrUnsupportedLocale, name)
	}
	o := &LocaleOrder{tag: tag}
	if table == "root" && !options {
		o.root = true
		o.pool.New = func() any { s := newStringKeys(); return &s }
		return o, nil
	}
	if table == "root" {
		table = "und"
	}
	numeric, level := false, 3
	if options {
		var err error
		if numeric, level, err = localeOptions(ext); err != nil {
			return nil, fmt.Errorf("%w in %q", err, tag)
		}
	}
	parsed, err := language.Parse(table)
	if err != nil {
		return nil, fmt.Errorf("collate: table %q: %w", table, err)
	}
	var opts []collate.Option
	if numeric {
		opts = append(opts, collate.Numeric)
	}
	if level < 3 {
		opts = append(opts, collate.IgnoreCase)
	}
	if level < 2 {
		opts = append(opts, collate.IgnoreDiacritics)
	}
	o.pool.New = func() any { return &tailored{Collator: collate.New(parsed, slices.Clone(opts)...)} }
	return o, nil
}

// localeOptions parses the key-type pairs of an extension.
func localeOptions(ext string) (numeric bool, level int, err error) {
	level = 3
	parts := strings.Split(ext, "-")
	seen := map[string]bool{}
	for len(parts) > 0 {
		key, value := parts[0], "true"
		if parts = parts[1:]; len(parts) > 0 && len(parts[0]) > 2 {
			value, parts = parts[0], parts[1:]
		}
		if seen[key] {
			return false, 0, fmt.Errorf("%w: option %q twice", ErrUnsupportedLocale, key)
		}
		seen[key] = true
		switch key + "=" + value {
		case "kn=true":
			numeric = true
		case "kn=false":
		case "ks=level1", "ks=level2", "ks=level3":
			level = int(value[5] - '0')
		default:
			return false, 0, fmt.Errorf("%w: option %q", ErrUnsupportedLocale, key+"-"+value)
		}
	}
	return numeric, level, nil
}

// String returns the tag.
func (o *LocaleOrder) String() string { return o.tag }

// Compare orders two texts: -1, 0 or 1. It returns 0 only for equal bytes.
func (o *LocaleOrder) Compare(a, b string) int {
	if a == b {
		return 0
	}
	c := 0
	if o.root {
		s := o.pool.Get().(*stringKeys)
		c = s.compare([]byte(a), []byte(b))
		o.pool.Put(s)
	} else {
		t := o.pool.Get().(*tailored)
		c = t.CompareString(a, b)
		o.pool.Put(t)
	}
	if c == 0 {
		c = strings.Compare(a, b)
	}
	return c
}

// AppendKey appends bytes that sort as Compare does. They end with the text itself after two zero bytes, and are not
// self-delimiting.
func (o *LocaleOrder) AppendKey(dst []byte, text string) []byte {
	if o.root {
		s := o.pool.Get().(*stringKeys)
		dst = s.appendKey(dst, []byte(text))
		o.pool.Put(s)
		return append(dst, text...)
	}
	t := o.pool.Get().(*tailored)
	dst = append(dst, t.KeyFromString(&t.buf, text)...)
	t.buf.Reset()
	o.pool.Put(t)
	// Where another text has a weight, no level has two zero bytes: primaries start at 1, secondaries at 0x20.
	return append(append(dst, 0, 0), text...)
}
