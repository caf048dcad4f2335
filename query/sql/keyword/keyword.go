// Package keyword lists the key words of PostgreSQL 15's SQL and says where each may be used as a name (appendix C, and
// src/include/parser/kwlist.h). The grammar is in package parse.
package keyword

import (
	"maps"
	"slices"
	"strings"
)

// Category says where a key word may be used as a name.
type Category uint8

const (
	// None is the category of a word that is not a key word.
	None Category = iota
	// Unreserved words may be used as any name.
	Unreserved
	// ColumnName words may be names, but not of functions or types.
	ColumnName
	// TypeFunctionName words may only be names of functions and types.
	TypeFunctionName
	// Reserved words may only be labels, after AS or a point.
	Reserved
)

// needsAs marks words that cannot be a column alias without AS.
const needsAs Category = 1 << 7

// Lookup returns the category of a word in lower case. bareLabel reports whether the word can be a column alias without
// AS.
func Lookup(word string) (c Category, bareLabel bool) {
	c = keywords[word]
	return c &^ needsAs, c&needsAs == 0
}

// All returns the key words, sorted.
func All() []string { return slices.Sorted(maps.Keys(keywords)) }

// Quote returns name as SQL reads it, in quotes if it would otherwise be folded, split or read as a key word.
func Quote(name string) string {
	plain := name != "" && (name[0] == '_' || name[0] >= 'a' && name[0] <= 'z')
	for i := range len(name) {
		c := name[i]
		plain = plain && (c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9')
	}
	if c, _ := Lookup(name); plain && (c == None || c == Unreserved) {
		return name
	}
	return InQuotes(name)
}

// InQuotes returns name in quotes.
func InQuotes(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Fold lowers ASCII letters only, as PostgreSQL does in UTF-8.
func Fold(s string) string {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if b[j] >= 'A' && b[j] <= 'Z' {
					b[j] |= 0x20
				}
			}
			return string(b)
		}
	}
	return s
}

// keywords maps each of PostgreSQL's key words to its category.
var keywords = func() map[string]Category {
	table := map[string]Category{}
	for _, group := range []struct {
		category Category
		words    string
	}{
		{Unreserved, `abort absolute access action add admin after aggregate also alter always asensitive assertion
			assignment at atomic attach attribute backward before begin breadth by cache call called cascade
			cascaded catalog chain characteristics checkpoint class close cluster columns comment comments commit
			committed compression configuration conflict connection constraints content continue conversion copy
			cost csv cube current cursor cycle data database deallocate declare defaults deferred definer delete
			delimiter delimiters depends depth detach dictionary disable discard document domain double drop each
			enable encoding encrypted enum escape event exclude excluding exclusive execute explain expression
			extension external family finalize first following force forward function functions generated global
			granted groups handler header hold identity if immediate immutable implicit import include including
			increment index indexes inherit inherits inline input insensitive insert instead invoker isolation key
			label language large last leakproof level listen load local location lock locked logged mapping match
			matched materialized maxvalue merge method minvalue mode move name names new next nfc nfd nfkc nfkd no
			normalized nothing notify nowait nulls object of off oids old operator option options ordinality others
			overriding owned owner parallel parameter parser partial partition passing password plans policy
			preceding prepare prepared preserve prior privileges procedural procedure procedures program publication
			quote range read reassign recheck recursive ref referencing refresh reindex relative release rename
			repeatable replace replica reset restart restrict return returns revoke role rollback rollup routine
			routines rows rule savepoint schema schemas scroll search security sequence sequences serializable
			server session set sets share show simple skip snapshot sql stable standalone start statement statistics
			stdin stdout storage stored strict strip subscription support sysid system tables tablespace temp
			template temporary text ties transaction transform trigger truncate trusted type types uescape unbounded
			uncommitted unencrypted unknown unlisten unlogged until update vacuum valid validate validator value
			version view views volatile whitespace work wrapper write xml yes zone`},
		{Unreserved | needsAs, `day filter hour minute month over second varying within without year`},
		{ColumnName, `between bigint bit boolean coalesce dec decimal exists extract float greatest grouping inout
			int integer interval least national nchar none normalize nullif numeric out overlay position real row
			setof smallint substring time timestamp treat trim values varchar xmlattributes xmlconcat xmlelement
			xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable`},
		{ColumnName | needsAs, `char character precision`},
		{TypeFunctionName, `authorization binary collation concurrently cross current_schema freeze full ilike inner
			is join left like natural outer right similar tablesample verbose`},
		{TypeFunctionName | needsAs, `isnull notnull overlaps`},
		{Reserved, `all analyse analyze and any asc asymmetric both case cast check collate column constraint
			current_catalog current_date current_role current_time current_timestamp current_user default deferrable
			desc distinct do else end false foreign in initially lateral leading localtime localtimestamp not null
			only or placing primary references select session_user some symmetric table then trailing true unique
			user using variadic when`},
		{Reserved | needsAs, `array as create except fetch for from grant group having intersect into limit offset
			on order returning to union where window with`},
	} {
		for _, w := range strings.Fields(group.words) {
			table[w] = group.category
		}
	}
	return table
}()
