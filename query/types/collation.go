package types

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/query/sqlstate"
)

// Collation is an order of texts that a statement names. All are deterministic, as those that PostgreSQL comes with
// are: only texts of the same bytes are equal, so that equality, grouping and DISTINCT need no collation.
type Collation struct {
	Name  string
	order *collate.LocaleOrder // nil for the order of bytes
}

// Bytes says that texts sort by their bytes, which is also what an expression without a collation does.
func (c *Collation) Bytes() bool { return c == nil || c.order == nil }

// Compare orders two texts: -1, 0 or 1.
func (c *Collation) Compare(a, b string) int {
	if c.Bytes() {
		return strings.Compare(a, b)
	}
	return c.order.Compare(a, b)
}

// CompareCollated is Compare under a collation, which matters to texts alone.
func CompareCollated(a, b Datum, c *Collation) (int, error) {
	if !c.Bytes() && a.K == KText && b.K == KText {
		return c.order.Compare(a.S, b.S), nil
	}
	return Compare(a, b)
}

// icuSuffix ends the names of PostgreSQL's collations of a locale.
const icuSuffix = "-x-icu"

// byteCollations are the names of the order of bytes, which is the default.
var byteCollations = map[string]*Collation{}

// collations are those in use, by name: opening one reads tables.
var collations sync.Map

func init() {
	for _, name := range []string{"default", "C", "POSIX", "ucs_basic", "c", "posix"} {
		byteCollations[name] = &Collation{Name: name}
	}
}

// FindCollation finds a collation: "default", "C" and the like, or a locale of ICU, as "sv-x-icu", also with options:
// "en-u-kn-true-x-icu" or "en-u-kn-true". It is an error with PostgreSQL's code when there is none, and 0A000 for one
// whose order cannot be had exactly.
func FindCollation(name string) (*Collation, error) {
	if c := byteCollations[name]; c != nil {
		return c, nil
	}
	if c, ok := collations.Load(name); ok {
		return c.(*Collation), nil
	}
	tag, ok := strings.CutSuffix(name, icuSuffix)
	if !ok && !strings.Contains(name, "-u-") {
		return nil, NoCollation(name)
	}
	order, err := collate.Locale(tag)
	switch {
	case errors.Is(err, collate.ErrUnsupportedLocale):
		return nil, sqlstate.Unsupported(-1,
			`Those that are supported are in pg_collation; "und-x-icu" is the order of most languages.`,
			"collation %q is not supported", name)
	case err != nil:
		return nil, NoCollation(name)
	}
	c := &Collation{Name: name, order: order}
	if strings.Contains(tag, "-u-") {
		return c, nil // whoever asks chooses how many of these there are
	}
	kept, _ := collations.LoadOrStore(name, c)
	return kept.(*Collation), nil
}

// NoCollation is PostgreSQL's error for a name that is not there.
func NoCollation(name string) *sqlstate.Error {
	return sqlstate.New(sqlstate.UndefinedObject, `collation %q for encoding "UTF8" does not exist`, name)
}

// CollationRow is a collation as pg_collation has it.
type CollationRow struct {
	OID    int
	Name   string
	Locale string // "" for the order of bytes
}

// firstCollationOID is below what the catalogue gives to other things that come with the server.
const firstCollationOID = 12000

// Collations lists the collations by OID.
var Collations = sync.OnceValue(func() []CollationRow {
	// ucs_basic and the locales have numbers of their own.
	out := []CollationRow{{100, "default", ""}, {950, "C", ""}, {951, "POSIX", ""}}
	supported, refused := collate.Locales()
	all := slices.Concat(supported, refused)
	slices.Sort(all)
	out = append(out, CollationRow{firstCollationOID, "ucs_basic", ""})
	for i, tag := range all {
		if _, ok := slices.BinarySearch(supported, tag); ok {
			out = append(out, CollationRow{firstCollationOID + 1 + i, tag + icuSuffix, tag})
		}
	}
	return out
})
