package query_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/query/exec/exectest"
)

// oddStrings are strings whose order or equality differs between bytes, views and SQL.
var oddStrings = []string{"", "a", "A", "aa", "ab", "aB", "Ab", "a b", "a-b", "b", "z", "Z", "é", "e\u0301", "e", "f",
	"1", "12", "1.0", "-1", "true", "null", "[1]", "{}", "NO", "NO\u00ad", "no", "NP", "l\u00b7", "lz",
	"\uffff",
	"NO\uffff", "a\uffff", "a\U0010fffe", "a\u0000", "\ufffd", "2024-01-05", "2024-01-31", "2024-02-01", "２024", "ß", "ss",
	"a\tb", "\u200ba", "ที", "เก", `"`, `\`, "~", "a_"}

var oddNumbers = []string{"0", "-0", "0.0", "1", "1.0", "1e2", "100", "100.00", "-1", "12", "12.5", "0.1",
	"0.10000000000000000001", "9007199254740992", "9007199254740993", "12345678901234567890", "1e300", "-1e300", "4.6",
	"5", "5.4", "1e400", "-1e400"}

// smallNumbers can be cast to any type of numbers.
var smallNumbers = []string{"0", "0.0", "4.5", "4.6", "5", "5.4", "5.6", "11.6", "12", "12.4", "100", "1e2", "100.4", "-1",
	"0.1", "0.10000000000000000001"}

// oddJSON generates JSON texts.
func oddJSON(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kinds := 6
		if depth == 0 {
			kinds = 4
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word")
		case 1:
			return rapid.SampledFrom(oddNumbers).Draw(t, "number")
		case 4:
			list := rapid.SliceOfN(oddJSON(depth-1), 0, 3).Draw(t, "array")
			return "[" + strings.Join(list, ",") + "]"
		case 5:
			list := rapid.SliceOfN(oddJSON(depth-1), 0, 2).Draw(t, "object")
			for i, v := range list {
				list[i] = fmt.Sprintf(`"%c":%s`, "ba"[i], v)
			}
			return "{" + strings.Join(list, ",") + "}"
		}
		return jsonText(rapid.SampledFrom(oddStrings).Draw(t, "string"))
	})
}

func jsonText(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// sqlText quotes a text for SQL; zero bytes cannot be part of one.
func sqlText(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(s, "\x00", ""), "\x01", ""), "'", "''") + "'"
}

// condition generates conditions on a JSON value; \x02 stands for it, \x03 for its text.
func condition() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		text := func() string { return sqlText(rapid.SampledFrom(oddStrings).Draw(t, "text")) }
		value := func() string { return sqlText(oddJSON(1).Draw(t, "json")) + "::jsonb" }
		op := func() string { return rapid.SampledFrom([]string{"=", "<", "<=", ">", ">=", "<>"}).Draw(t, "op") }
		switch rapid.IntRange(0, 12).Draw(t, "condition") {
		case 0:
			return "\x03 = " + text()
		case 1:
			return "\x03 " + op() + " " + text()
		case 2:
			return "\x03 BETWEEN " + text() + " AND " + text()
		case 3:
			return "\x03 IN (" + text() + ", " + text() + ")"
		case 4:
			return "\x03 LIKE " + strings.TrimSuffix(text(), "'") + "%'"
		case 5:
			return "starts_with(\x03, " + text() + ")"
		case 6:
			return "\x03 ~ " + rapid.SampledFrom([]string{"'^a'", "'^N'", "'^ab*'", "'^2024-0'", "'^(a|b)'", "'^a|b'"}).Draw(t,
				"pattern")
		case 7:
			return "\x02 " + op() + " " + value()
		case 8:
			return "\x02::text = " + value() + "::text"
		case 9:
			return "\x02 LIKE " + strings.TrimSuffix(text(), "'") + "%'"
		case 10:
			return "(CASE WHEN jsonb_typeof(\x02) = 'number' THEN \x02 END)::numeric " + op() + " 5"
		case 11:
			return "\x03 IS NULL"
		}
		return "\x02 = " + value()
	})
}

// castNumbers are near the values that casts round them to.
var castNumbers = []string{"0.1", "0.0999999999", "0.10000000149011612", "7", "7.0000001", "6.9999999", "12.345", "12.344999",
	"100", "99999999", "99999997", "100000000", "16777217", "-16777217", "1e38", "-7.00000012", "0"}

// numericConditions generates conditions on casts, which fail for values that are no numbers.
func numericConditions() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
		cast := pick("place", "\x02", "\x03") + "::" +
			pick("type", "real", "real", "float8", "numeric", "numeric(6,2)", "int", "int8", "int2")
		constant := func() string {
			return pick("constant", castNumbers...) + pick("constant's type", "", "", "::real", "::float8", "::numeric")
		}
		switch op := pick("operator", "=", "<", "<=", ">", ">=", "IN", "BETWEEN"); op {
		case "IN":
			return cast + " IN (" + constant() + ", " + constant() + ")"
		case "BETWEEN":
			return cast + " BETWEEN " + constant() + " AND " + constant()
		default:
			return cast + " " + op + " " + constant()
		}
	})
}

// TestPlan_KeyForms compares statements over random keys with the same statements whose keys are hidden from the
// planner: conditions on keys, their parts, their texts and casts, alone and together, with and without groups.
func TestPlan_KeyForms(t *testing.T) {
	oneGoroutine(t)
	tb := t
	rapid.Check(t, func(t *rapid.T) {
		s := exectest.NewStore()
		db := s.Create("r")
		keys := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			if rapid.Bool().Draw(t, "compound") {
				return "[" + strings.Join(rapid.SliceOfN(oddJSON(1), 1, 3).Draw(t, "parts"), ",") + "]"
			}
			return oddJSON(2).Draw(t, "key")
		}), 1, 30).Draw(t, "keys")
		casts := rapid.IntRange(0, 3).Draw(t, "casts") == 0
		for i, k := range keys {
			if casts { // numbers only
				k = rapid.SampledFrom(append(castNumbers, smallNumbers...)).Draw(t, "number")
			}
			db.Put(fmt.Sprintf("d%02d", i), `{"k":`+k+`}`)
		}
		db.AddView("v", "k", "", func(_ string, doc json.RawMessage, emit func(k, v string)) {
			var m map[string]json.RawMessage
			if err := json.Unmarshal(doc, &m); err != nil {
				panic(err)
			}
			emit(string(m["k"]), "1")
		})
		ss := openSession(tb, s, "r")
		places := [][2]string{{"\x04", "\x04 #>> '{}'"}, {"(\x04->0)", "\x04->>0"}, {"(\x04->1)", "\x04->>1"},
			{"(\x04 #> '{0}')", "\x04 #>> '{1}'"}}
		var conds []string
		for range rapid.IntRange(1, 3).Draw(t, "conditions") {
			c := condition().Draw(t, "condition")
			place := rapid.SampledFrom(places).Draw(t, "place")
			if casts {
				c, place = numericConditions().Draw(t, "cast"), places[0]
			}
			conds = append(conds, strings.NewReplacer("\x02", place[0], "\x03", place[1]).Replace(c))
		}
		where := strings.Join(conds, rapid.SampledFrom([]string{" AND ", " AND ", " OR "}).Draw(t, "join"))
		src := "SELECT id FROM v.k WHERE " + where
		if rapid.Bool().Draw(t, "grouped") {
			src = "SELECT \x04->0, count(*) FROM v.k WHERE " + where + " GROUP BY \x04->0"
		}
		plain := strings.ReplaceAll(src, "\x04", "key")
		got, err := run(tb.Context(), ss, plain, 1000)
		want, err2 := run(tb.Context(), ss, strings.ReplaceAll(src, "\x04", "coalesce(key)"), 1000)
		if err2 != nil {
			return // a value that cannot be cast or compared
		}
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			plan, _ := run(tb.Context(), ss, "EXPLAIN "+plain, 100)
			t.Fatalf("%s\nkeys %q\n got %q, %v\nwant %q\n%s", plain, keys, got, err, want, strings.Join(plan, "\n"))
		}
	})
}

// TestPlan_CastKeys checks that numbers that one or several casts round to a bound are read.
func TestPlan_CastKeys(t *testing.T) {
	s := exectest.NewStore()
	db := s.Create("r")
	for id, v := range map[string]string{"a": "99999997", "b": "99999990", "c": "7.0000001", "d": "0.0999999999",
		"e": "4.6", "f": "0.30000000000000016"} {
		db.Put(id, `{"k":`+v+`}`)
	}
	db.AddView("v", "k", "", corpusMember("k", "k"))
	ss := openSession(t, s, "r")
	for where, want := range map[string][]string{"key::real >= 100000000": {"a"}, "key::real = 7": {"c"},
		"key::real >= 0.1 AND key::real < 0.2": {"d"}, "key::real = 1e8::float8": {"a"},
		"key::int::numeric = 5.0": {"e"}, "key::float8::numeric = 0.3": {"f"}, "key::real::numeric = 7.0": {"c"}} {
		got, err := run(t.Context(), ss, "SELECT id FROM v.k WHERE "+where+" ORDER BY id", 10)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", where, got, err, want)
		}
	}
}

// TestPlan_RoundedKeys checks that numbers that a view rounds to the same one are distinguished.
func TestPlan_RoundedKeys(t *testing.T) {
	s := exectest.NewStore()
	db := s.Create("r")
	for id, v := range map[string]string{"a": "0.1", "b": "0.10000000000000000001", "c": "1", "d": "1.0",
		"e": "0.99999999999999999999"} {
		db.Put(id, `{"k":`+v+`}`)
	}
	db.AddView("v", "k", "", corpusMember("k", "k"))
	ss := openSession(t, s, "r")
	for where, want := range map[string][]string{"key = '0.1'": {"a"}, "key = 1": {"c", "d"}, "key IN (1, 2)": {"c", "d"},
		"key->0 = '0.1'": {"a"}} {
		got, err := run(t.Context(), ss, "SELECT id FROM v.k WHERE "+where+" ORDER BY id", 10)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", where, got, err, want)
		}
	}
}
