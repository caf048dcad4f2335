package collate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/collate/samples"
)

// TestCouchDB compares the order and equality of keys with the views of the CouchDB that DIVAN_TEST_COUCHDB_URL
// names, which includes an admin's credentials. Keys pass through its JavaScript, so numbers are doubles there.
func TestCouchDB(t *testing.T) {
	base := os.Getenv("DIVAN_TEST_COUCHDB_URL")
	if base == "" {
		t.Skip("DIVAN_TEST_COUCHDB_URL names no CouchDB to compare with")
	}
	db := base + "/divan_collate_test"
	couch(t, "DELETE", db, "")
	couch(t, "PUT", db, "")
	defer couch(t, "DELETE", db, "")
	upload(t, db, couchKeys())
	couch(t, "PUT", db+"/_design/d", `{"views":{"v":{"map":"function(doc){ emit(doc.k) }","reduce":"_count"}}}`)
	couch(t, "PUT", db+"/_design/raw",
		`{"views":{"v":{"map":"function(doc){ emit(doc.k) }","reduce":"_count","options":{"collation":"raw"}}}}`)
	for design, appendKey := range map[string]func(dst, json []byte) ([]byte, error){"d": collate.AppendKey,
		"raw": collate.AppendRawKey} {
		rows := view(t, db+"/_design/"+design+"/_view/v?reduce=false")
		encode := func(json []byte) []byte {
			k, err := appendKey(nil, json)
			if err != nil {
				t.Fatalf("%s: %v", json, err)
			}
			return k
		}
		groups := 0
		for i := range rows {
			if i == 0 || !bytes.Equal(encode(rows[i-1].Key), encode(rows[i].Key)) {
				groups++
			}
			if i > 0 && bytes.Compare(encode(rows[i-1].Key), encode(rows[i].Key)) > 0 {
				t.Errorf("%s: CouchDB has %s before %s", design, rows[i-1].Key, rows[i].Key)
			}
		}
		if theirs := len(view(t, db+"/_design/"+design+"/_view/v?group=true")); groups != theirs {
			t.Errorf("%s: our %d distinct keys are %d in CouchDB", design, groups, theirs)
		}
		if len(rows) < 5000 {
			t.Errorf("%s: only %d rows", design, len(rows))
		}
	}
}

// couchKeys returns keys that CouchDB accepts.
func couchKeys() []string {
	var keys []string
	for _, line := range ascending {
		for _, k := range line {
			if len(k) < 300 && !strings.ContainsAny(k, "eE") || strings.ContainsAny(k, "[{\"") {
				keys = append(keys, k)
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for len(keys) < 4000 {
		if k := randomKey(rng, 3); !strings.Contains(k, `\ud800`) {
			keys = append(keys, k)
		}
	}
	for n := range 1500 {
		a, b := samples.Pair(n)
		for _, s := range []string{a, b} {
			if j, err := json.Marshal(s); err == nil && !strings.ContainsAny(s, "\ufffe\uffff") {
				keys = append(keys, string(j))
			}
		}
	}
	return slices.DeleteFunc(keys, func(k string) bool { return !json.Valid([]byte(k)) })
}

func upload(t *testing.T, db string, keys []string) {
	t.Helper()
	for chunk := range slices.Chunk(keys, 500) {
		var b strings.Builder
		b.WriteString(`{"docs":[`)
		for i, k := range chunk {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"k":%s}`, k)
		}
		b.WriteString("]}")
		if answer := couch(t, "POST", db+"/_bulk_docs", b.String()); bytes.Contains(answer, []byte(`"error"`)) {
			t.Fatalf("CouchDB answers %.300s", answer)
		}
	}
}

func view(t *testing.T, url string) []struct{ Key json.RawMessage } {
	t.Helper()
	var out struct {
		Rows []struct{ Key json.RawMessage }
	}
	answer := couch(t, "GET", url, "")
	if err := json.Unmarshal(answer, &out); err != nil {
		t.Fatalf("%.300s: %v", answer, err)
	}
	return out.Rows
}

func couch(t *testing.T, method, url, body string) []byte {
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
