package types

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/query/sqlstate"
)

// Collation is a sort order of texts that a statement names. All are deterministic, like the ones that come with
// PostgreSQL: texts are equal only if their bytes are, so equality, grouping and DISTINCT do not depend on the
// collation.
type Collation struct {
	Name  string
	order *collate.LocaleOrder // nil for byte order
}

// Bytes reports whether texts sort by their bytes, as they do in an expression without a collation.
func (c *Collation) Bytes() bool { return c == nil || c.order == nil }

// Compare returns -1, 0 or 1 for two texts.
func (c *Collation) Compare(a, b string) int {
	if c.Bytes() {
		return strings.Compare(a, b)
	}
	return c.order.Compare(a, b)
}

// CompareCollated compares two values, texts by the collation c.
func CompareCollated(a, b Datum, c *Collation) (int, error) {
	if !c.Bytes() && a.K == KText && b.K == KText {
		return c.order.Compare(a.S, b.S), nil
	}
	return Compare(a, b)
}

// icuSuffix ends the names of PostgreSQL's ICU collations.
const icuSuffix = "-x-icu"

// byteCollations holds the names of the byte order, which is the default.
var byteCollations = map[string]*Collation{}

// collations caches the collations in use by name, because opening one reads tables.
var collations sync.Map

func init() {
	for _, name := range []string{"default", "C", "POSIX", "ucs_basic", "c", "posix"} {
		byteCollations[name] = &Collation{Name: name}
	}
}

// FindCollation finds a collation by name: "default", "C" and the other names of the byte order, or an ICU locale such
// as "sv-x-icu", also with options: "en-u-kn-true-x-icu" or "en-u-kn-true". For an unknown name it returns PostgreSQL's
// error, and 0A000 for a collation whose order cannot be reproduced exactly.
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
			`collation "%s" is not supported`, name)
	case err != nil:
		return nil, NoCollation(name)
	}
	c := &Collation{Name: name, order: order}
	if strings.Contains(tag, "-u-") {
		return c, nil // not cached: clients choose the options, so their number is not limited
	}
	kept, _ := collations.LoadOrStore(name, c)
	return kept.(*Collation), nil
}

// NoCollation returns PostgreSQL's error for an unknown collation.
func NoCollation(name string) *sqlstate.Error {
	return sqlstate.New(sqlstate.UndefinedObject, `collation "%s" for encoding "UTF8" does not exist`, name)
}

// CollationRow is a collation as listed in pg_collation.
type CollationRow struct {
	OID    int
	Name   string
	Locale string // "" for byte order
}

// firstCollationOID is the OID of ucs_basic; the locales follow. The catalogue numbers other built-in objects from
// above that range.
const firstCollationOID = 12000

// Collations returns the collations by OID.
var Collations = sync.OnceValue(func() []CollationRow {
	// ucs_basic and the locales are numbered separately.
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
