package script_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/script"
)

// differs are the row cases in which CouchDB 3.5 is known to behave differently, with the reason.
var differs = map[string]string{
	"named":                 "a declaration has no value in its engine, so it refuses the function",
	"numbers":               "it refuses a document with 1e400",
	"lone surrogates":       "it refuses a document with one",
	"__proto__ as a member": "its freezing of the document fails",
	"regular expressions":   "its engine is built without String.prototype.normalize",
}

type couchRow struct {
	ID         string
	Key, Value json.RawMessage
}

// TestCouchDB compares the row cases, and their order, with the CouchDB that DIVAN_TEST_COUCHDB_URL names, which
// includes an admin's credentials.
func TestCouchDB(t *testing.T) {
	base := os.Getenv("DIVAN_TEST_COUCHDB_URL")
	if base == "" {
		t.Skip("DIVAN_TEST_COUCHDB_URL names no CouchDB to compare with")
	}
	s := open(t, script.Limits{})
	for i, tc := range rowCases {
		t.Run(tc.name, func(t *testing.T) {
			if reason := differs[tc.name]; reason != "" {
				t.Skip(reason)
			}
			db := fmt.Sprintf("%s/divan_script_test_%d", base, i)
			request(t, "DELETE", db, "")
			request(t, "PUT", db, "")
			defer request(t, "DELETE", db, "")
			doc := tc.doc
			if !strings.Contains(doc, `"_id"`) {
				doc = strings.Replace(strings.Replace(doc, "{", `{"_id":"x",`, 1), ",}", "}", 1)
			}
			expectOK(t, request(t, "POST", db, doc))
			ddoc, err := json.Marshal(map[string]any{"views": map[string]any{"v": map[string]any{"map": tc.source}}})
			if err != nil {
				t.Fatal(err)
			}
			expectOK(t, request(t, "PUT", db+"/_design/d", string(ddoc)))
			var view struct{ Rows []couchRow }
			if err := json.Unmarshal(request(t, "GET", db+"/_design/d/_view/v", ""), &view); err != nil {
				t.Fatal(err)
			}
			var docs struct {
				Rows []struct{ Doc json.RawMessage }
			}
			if err := json.Unmarshal(request(t, "GET", db+"/_all_docs?include_docs=true&endkey=%22_%22&descending=true",
				""), &docs); err != nil {
				t.Fatal(err)
			}
			ours := sortedRows(t, s, tc.source, docs.Rows[0].Doc)
			if !reflect.DeepEqual(plain(t, ours), plain(t, view.Rows)) {
				t.Errorf("rows\n%s\nCouchDB's\n%s", ours, view.Rows)
			}
		})
	}
}

// sortedRows returns our rows of a function over a document as a view shows them: rows of one document with equal
// keys are in the raw order of key and value, in whatever order they were emitted.
func sortedRows(t *testing.T, s *script.Sandbox, source string, doc []byte) []couchRow {
	t.Helper()
	m, err := s.Maps(t.Context(), nil, []script.Function{{Name: "v", Source: source}})
	if err != nil {
		t.Fatal(err)
	}
	var out []couchRow
	err = m.Map(t.Context(), [][]byte{doc}, func(_ int, r *script.Mapped) error {
		for _, row := range r.Rows[0] {
			out = append(out, couchRow{Key: bytes.Clone(row.Key), Value: bytes.Clone(row.Value)})
		}
		return r.Errs[0]
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(out, func(a, b couchRow) int {
		c, err := collate.Compare(a.Key, b.Key)
		if err != nil {
			t.Fatal(err)
		}
		return cmp.Or(c, bytes.Compare(rawOrder(t, a), rawOrder(t, b)))
	})
	return out
}

func rawOrder(t *testing.T, r couchRow) []byte {
	t.Helper()
	k, err := collate.AppendRawKey(nil, r.Key)
	if err == nil {
		k, err = collate.AppendRawKey(k, r.Value)
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// plain decodes rows, to compare them regardless of notation.
func plain(t *testing.T, rows []couchRow) []any {
	t.Helper()
	out := []any{}
	for _, r := range rows {
		var key, value any
		if err := json.Unmarshal(r.Key, &key); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(r.Value, &value); err != nil {
			t.Fatal(err)
		}
		out = append(out, key, value)
	}
	return out
}

func expectOK(t *testing.T, answer []byte) {
	t.Helper()
	if !bytes.Contains(answer, []byte(`"ok":true`)) {
		t.Fatalf("CouchDB answers %s", answer)
	}
}

func request(t *testing.T, method, url, body string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
