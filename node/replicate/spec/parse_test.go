package spec_test

import (
	"encoding/json"
	"testing"

	"github.com/divandb/divan/node/replicate/spec"
)

// Escapes in doc_ids are decoded one by one, and a plus sign is one.
func TestDefaults_Parse_docIDs(t *testing.T) {
	for given, want := range map[string]string{
		"a%20b%2Bc": "a b+c", "a+b": "a+b", "100%": "100%", "c%zz%2fd": "c%zz/d", "%252F": "%2F", "%C3%A9é": "éé",
	} {
		body, err := json.Marshal(map[string]any{"source": "a", "target": "b", "doc_ids": []string{given}})
		if err != nil {
			t.Fatal(err)
		}
		d := spec.Standard()
		s, err := d.Parse(body)
		if err != nil || len(s.Filter.IDs) != 1 || s.Filter.IDs[0] != want {
			t.Errorf("%q: %+v, %v, want %q", given, s, err, want)
		}
	}
}
