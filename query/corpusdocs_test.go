package query_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divandb/divan/query/exec/exectest"
)

// corpusValues are the members v of the documents of the corpus. The documents are d00, d01 and so on, with their
// number as i.
var corpusValues = []string{
	`0`, `1`, `2`, `-1`, `1.5`, `2990`, `2991`, `10`, `42`, `"0"`, `"1"`, `"42"`, `"0042"`, `"Oslo"`, `"2990"`,
	`"\"q\""`, `"true"`, `true`, `false`, `null`, `[]`, `[1]`, `[1,2]`, `[2,1]`, `{"a":1,"b":2}`, `{"b":2,"a":1}`,
	`{"a":1}`, `{}`, `"é"`, `"e\u0301"`, `""`, `"null"`, `"[1]"`, `"{\"a\":1}"`, `12345678901234567890`,
	`9007199254740993`, `9007199254740992`, `1e3`, `[1,{"a":1,"b":[{"c":1,"d":2}]}]`,
	`[1,{"b":[{"d":2,"c":1}],"a":1}]`, `"Os\tlo"`, `1000.00`,
	`{"long":1.50,"b":[1E+2, -0.0],"long":2e-3,"é":"\u00e9"}`,
}

// corpusDocs writes the same documents to both servers: relation docs, and the views by.v, which maps v to i, and
// by.arr, which maps a name and i to i.
func corpusDocs(t *testing.T, db *exectest.DB, theirs *pgx.Conn) {
	t.Helper()
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := theirs.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	// A server that was not started for this test may have the tables of an earlier run.
	exec(`DROP SCHEMA IF EXISTS by CASCADE; DROP TABLE IF EXISTS docs; CREATE SCHEMA by;
		CREATE TABLE docs (id text PRIMARY KEY, rev text, doc jsonb);
		CREATE TABLE by.v (id text, key jsonb, value jsonb); CREATE TABLE by.arr (id text, key jsonb, value jsonb)`)
	for i, v := range corpusValues {
		id := fmt.Sprintf("d%02d", i)
		key := fmt.Sprintf(`["n%d",%d]`, i%5, i)
		body := fmt.Sprintf(`{"v":%s,"i":%d,"key":%s,"nested":{"v":%s},%s}`, v, i, key, v, corpusOrder(i))
		rev := db.Put(id, body)
		exec("INSERT INTO docs VALUES ($1, $2, jsonb_build_object('_id', $1, '_rev', $2) || $3)", id, rev, body)
		exec("INSERT INTO by.v VALUES ($1, $2, to_jsonb($3::int))", id, v, i)
		exec("INSERT INTO by.arr VALUES ($1, $2, to_jsonb($3::int))", id, key, i)
	}
	// Their functions are recognised, as those of a design document would be, so that other reads can use the views.
	v, arr := shapeOf(true, false, false, "i", "v"), shapeOf(true, false, false, "i", "key")
	db.AddShaped("by", "v", "_count", &v, corpusMember("v", "i"))
	db.AddShaped("by", "arr", "_sum", &arr, corpusMember("key", "i"))
}

// corpusOrder returns the members of a document that statements of applications use.
func corpusOrder(i int) string {
	cities := []string{"Oslo", "Paris", "Rome", "Berlin", "Lima"}
	states := []string{"new", "paid", "shipped", "cancelled"}
	tags := []string{`["a","b"]`, `[]`, `["b","c","d"]`, `null`, `["x"]`}
	return fmt.Sprintf(`"city":%q,"status":%q,"amount":%d.%02d,"qty":%d,"tags":%s,"at":"2024-%02d-%02dT%02d:30:00Z",`+
		`"paid":%v,"items":[{"sku":"s%d","n":%d},{"sku":"t","n":1}]`,
		cities[i%5], states[i%4], i*13%97, i*37%100, i%7, tags[i%5], i%12+1, i%28+1, i%24, i%3 == 0, i%6, i%4+1)
}

// corpusMember is a map function that emits two members of each document.
func corpusMember(key, value string) exectest.Map {
	return func(_ string, doc json.RawMessage, emit func(k, v string)) {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(doc, &m); err == nil && m[key] != nil {
			emit(string(m[key]), string(m[value]))
		}
	}
}
