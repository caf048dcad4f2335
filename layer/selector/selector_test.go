package selector_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer/selector"
)

var docs = map[string]string{
	"a": `{"_id":"a","n":1,"s":"Oslo","list":[1,2,3],"o":{"x":{"y":5}},"null":null,"t":true}`,
	"b": `{"_id":"b","n":2.5,"s":"oslo","list":["x","y"],"o":{"x":7},"people":[{"name":"Ann","age":30},{"name":"Bob","age":20}]}`,
	"c": `{"_id":"c","n":-7,"s":"Bergen","list":[],"o":{"x.y":1},"a.b":9}`,
	"d": `{"_id":"d","n":"1","list":[[1,2]],"s":"","big":12345678901234567890}`,
	"e": `{"_id":"E"}`,
}

// Each selector with the documents that match it. The expected results were compared with CouchDB 3.5's _find.
func TestSelector_Match(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                                  "abcde",
		`{"n":1}`:                             "a",
		`{"n":1.0}`:                           "a",
		`{"n":{"$gt":1}}`:                     "bd", // strings are greater than numbers
		`{"n":{"$gt":1,"$lt":3}}`:             "b",
		`{"n":{"$lte":1}}`:                    "ac",
		`{"n":{"$ne":1}}`:                     "bcd",
		`{"$not":{"n":1}}`:                    "bcd", // a negation still requires the field
		`{"n":{"$not":{"$gt":1}}}`:            "ac",
		`{"n":{"$exists":true}}`:              "abcd",
		`{"n":{"$exists":false}}`:             "e",
		`{"$not":{"n":{"$exists":true}}}`:     "e",
		`{"null":null}`:                       "a",
		`{"null":{"$type":"null"}}`:           "a",
		`{"t":{"$type":"boolean"}}`:           "a",
		`{"n":{"$type":"number"}}`:            "abc",
		`{"n":{"$type":"string"}}`:            "d",
		`{"o":{"$type":"object"}}`:            "abc",
		`{"list":{"$type":"array"}}`:          "abcd",
		`{"o.x.y":5}`:                         "a",
		`{"o":{"x":{"y":5}}}`:                 "a",
		`{"o":{"x":7}}`:                       "b",
		`{"o.x\\.y":1}`:                       "c",
		`{"a\\.b":9}`:                         "c",
		`{"list.1":2}`:                        "a",
		`{"list.0":"x"}`:                      "b",
		`{"list.5":{"$exists":false}}`:        "e",
		`{"o.x.y":{"$exists":false}}`:         "cde",
		`{"n":{"$in":[1,2.5]}}`:               "ab",
		`{"n":{"$nin":[1,2.5]}}`:              "cd",
		`{"n":{"$in":[]}}`:                    "",
		`{"n":{"$nin":[]}}`:                   "abcd",
		`{"list":{"$in":[3,"y"]}}`:            "ab",
		`{"list":{"$nin":[3,"y"]}}`:           "cd",
		`{"list":{"$all":[1,3]}}`:             "a",
		`{"list":{"$all":[]}}`:                "",
		`{"list":{"$all":[[1,2]]}}`:           "d",
		`{"list":{"$all":[["x","y"]]}}`:       "b",
		`{"list":{"$size":0}}`:                "c",
		`{"list":{"$size":3}}`:                "a",
		`{"list":{"$elemMatch":{"$gt":2}}}`:   "abd",
		`{"list":{"$allMatch":{"$gte":"a"}}}`: "bd",
		`{"list":{"$allMatch":{"$gte":1}}}`:   "abd",
		`{"people":{"$elemMatch":{"name":"Ann","age":{"$gt":25}}}}`: "b",
		`{"people":{"$elemMatch":{"name":"Bob","age":{"$gt":25}}}}`: "",
		`{"people":{"$allMatch":{"age":{"$gte":20}}}}`:              "b",
		`{"o":{"$keyMapMatch":{"$eq":"x"}}}`:                        "ab",
		// Negations stay where they are below these operators, so that missing fields fulfil them.
		`{"people":{"$elemMatch":{"$not":{"none":1}}}}`:              "b",
		`{"people":{"$elemMatch":{"name":{"$not":{"$eq":"Ann"}}}}}`:  "b",
		`{"people":{"$allMatch":{"$nor":[{"name":"Cid"},{"x":1}]}}}`: "b",
		`{"$not":{"people":{"$elemMatch":{"age":{"$gt":25}}}}}`:      "",
		`{"_id":{"$gt":[]}}`:                                "abcde", // compared like Erlang's terms
		`{"_id":{"$in":["a","E"]}}`:                         "ae",
		`{"n":{"$mod":[2,1]}}`:                              "a",
		`{"n":{"$mod":[2,-1]}}`:                             "c",
		`{"s":{"$regex":"^[Oo]slo$"}}`:                      "ab",
		`{"s":{"$not":{"$regex":"^[Oo]slo$"}}}`:             "cd",
		`{"s":{"$beginsWith":"Os"}}`:                        "a",
		`{"s":{"$beginsWith":""}}`:                          "abcd",
		`{"s":{"$lt":"oslp","$gt":"Bergen"}}`:               "ab", // strings in the order of views
		`{"_id":{"$lt":"a"}}`:                               "e",  // ids byte by byte
		`{"_id":{"$gte":"c"}}`:                              "cd",
		`{"$or":[{"n":1},{"s":"Bergen"}]}`:                  "ac",
		`{"$and":[{"n":{"$gt":0}},{"s":{"$exists":true}}]}`: "abd",
		`{"$nor":[{"n":1},{"n":2.5}]}`:                      "cd",
		`{"$not":{"$or":[{"n":1},{"n":2.5}]}}`:              "cd",
		`{"$not":{"$and":[{"n":1},{"s":"Oslo"}]}}`:          "bcd",
		`{"$not":{"$nor":[{"n":1}]}}`:                       "a",
		`{"$and":[]}`:                                       "abcde",
		`{"$or":[]}`:                                        "abcde",
		`{"n":1,"s":"Oslo"}`:                                "a",
		`{"o":{}}`:                                          "",
		`{"list":[]}`:                                       "c",
		`{"big":12345678901234567890}`:                      "d",
	} {
		s, err := selector.Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := ""
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			if s.Match([]byte(docs[id])) {
				got += id
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// Numbers compare by their value, however they are written.
func TestSelector_Numbers(t *testing.T) {
	decimal := rapid.StringMatching(`-?(0|[1-9][0-9]{0,16})(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,2})?`)
	near := rapid.StringMatching(`-?[0-2]{1}(\.[0-1]{1,3})?`)
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(near, decimal)
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		order := x.Cmp(y)
		for operator, want := range map[string]bool{"$lt": order < 0, "$lte": order <= 0, "$eq": order == 0,
			"$ne": order != 0, "$gte": order >= 0, "$gt": order > 0} {
			s, err := selector.Parse(fmt.Appendf(nil, `{"n":{%q:%s}}`, operator, b))
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Match(fmt.Appendf(nil, `{"n":%s}`, a)); got != want {
				t.Fatalf("%s %s %s: %v", a, operator, b, got)
			}
		}
	})
}

func TestParse_Refuses(t *testing.T) {
	for text, want := range map[string]string{
		`5`:                           "invalid_selector_json",
		`[]`:                          "invalid_selector_json",
		`{"$gt":1}`:                   "invalid_selector",
		`{"a":{"$foo":1}}`:            "invalid_operator",
		`{"$foo":1}`:                  "invalid_operator",
		`{"a":{"$in":1}}`:             "bad_arg",
		`{"a":{"$nin":{}}}`:           "bad_arg",
		`{"a":{"$all":1}}`:            "bad_arg",
		`{"a":{"$exists":1}}`:         "bad_arg",
		`{"a":{"$type":1}}`:           "bad_arg",
		`{"a":{"$size":-1}}`:          "bad_arg",
		`{"a":{"$size":1.5}}`:         "bad_arg",
		`{"a":{"$mod":[1]}}`:          "bad_arg",
		`{"a":{"$mod":[0,1]}}`:        "bad_arg",
		`{"a":{"$regex":"("}}`:        "bad_arg",
		`{"a":{"$regex":5}}`:          "invalid_operator",
		`{"a":{"$elemMatch":5}}`:      "bad_arg",
		`{"a":{"$beginsWith":5}}`:     "invalid_operator",
		`{"$and":{}}`:                 "bad_arg",
		`{"$or":5}`:                   "bad_arg",
		`{"$not":[]}`:                 "bad_arg",
		`{"$nor":5}`:                  "bad_arg",
		`{"$text":"x"}`:               "not_supported",
		`{"a":{"$where":"x"}}`:        "not_supported",
		`{"a..b":1}`:                  "invalid_field_name",
		`{"":1}`:                      "invalid_selector",
		`{"a":{"":1}}`:                "invalid_field_name",
		`{"a":{"$and":[{"$foo":1}]}}`: "invalid_operator",
	} {
		_, err := selector.Parse([]byte(text))
		var wrong *selector.Error
		if !errors.As(err, &wrong) || wrong.Name != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// FuzzParse checks that no selector makes the matcher panic.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":{"$elemMatch":{"$not":{"b":{"$in":[1]}}}}}`, `{"$nor":[{"o.x":{"$regex":"a|b"}}]}`,
		`{"list":{"$all":[[1]]}}`, `{"a":{"$keyMapMatch":{}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		s, err := selector.Parse(text)
		if err != nil {
			return
		}
		for _, doc := range docs {
			s.Match([]byte(doc))
		}
	})
}

// A selector whose tree would take far more memory than its text is refused before it is compiled.
func TestParse_Large(t *testing.T) {
	numbered := func(n int, format string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(list, ",")
	}
	long := strings.Repeat("a.", 20_000) + "a"
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"a long path":                 {`{"` + long + `":1}`, true},
		"many conditions":             {`{"a":{` + numbered(20_000, `"%d":1`) + `}}`, true},
		"many below a long path":      {`{"` + long + `":{` + numbered(20_000, `"%d":1`) + `}}`, false},
		"operators below a long path": {`{"` + long + `":{"$or":[` + numbered(20_000, `%d`) + `]}}`, true},
		"an expression":               {`{"a":{"$regex":"(x{10}){100}"}}`, true},
		"expressions that repeat":     {`{"$or":[` + numbered(2000, `{"a%d":{"$regex":"(x{10}){100}"}}`) + `]}`, false},
		"one that is too large":       {`{"a":{"$regex":"` + strings.Repeat("x{1000}", 20) + `"}}`, false},
	} {
		if s, err := selector.Parse([]byte(c.text)); (err == nil) != c.ok || s != nil && s.Extra() > 2<<20 {
			t.Errorf("%s: %.100v", name, err)
		}
	}
}
