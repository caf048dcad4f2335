package selector_test

import (
	"testing"

	"github.com/divandb/divan/layer/selector"
)

// The normal forms are those that CouchDB's _explain shows.
func TestTerm_Append(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                              `{}`,
		`{"a":1}`:                         `{"a":{"$eq":1}}`,
		`{"a":{}}`:                        `{"a":{"$eq":{}}}`,
		`{"a":1,"b":{"c":{"$gt":[1]}}}`:   `{"$and":[{"a":{"$eq":1}},{"b.c":{"$gt":[1]}}]}`,
		`{"a":{"$gt":1,"$lt":2}}`:         `{"$and":[{"a":{"$gt":1}},{"a":{"$lt":2}}]}`,
		`{"a\\.b":{"$or":[1,{"c":2}]}}`:   `{"$or":[{"a\\.b":{"$eq":1}},{"a\\.b.c":{"$eq":2}}]}`,
		`{"$not":{"a":1,"b":{"$in":[]}}}`: `{"$or":[{"a":{"$ne":1}},{"b":{"$nin":[]}}]}`,
		`{"$nor":[{"a":{"$exists":true}},{"a":{"$regex":"x"}}]}`: `{"$and":[{"a":{"$exists":false}},` +
			`{"a":{"$not":{"$regex":"x"}}}]}`,
		`{"$not":{"$not":{"a":{"$lte":1}}}}`: `{"a":{"$lte":1}}`,
		`{"a":{"$elemMatch":{"$gt":1,"$not":{"$eq":2}}}}`: `{"a":{"$elemMatch":` +
			`{"$and":[{"":{"$gt":1}},{"$not":{"":{"$eq":2}}}]}}}`,
		`{"$not":{"a":{"$allMatch":{"b":1}}}}`: `{"a":{"$not":{"$allMatch":{"b":{"$eq":1}}}}}`,
		`{"$and":[]}`:                          `{"$and":[]}`,
	} {
		s, err := selector.Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := string(s.Term().Append(nil)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
		again, err := selector.Parse([]byte(want))
		if err != nil || string(again.Term().Append(nil)) != want {
			t.Errorf("%s is not its own normal form: %v", want, err)
		}
	}
}
