package api_test

import (
	"bufio"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
)

// loadKeys writes the keys of a fixture to the engine.
func loadKeys(t *testing.T, e kv.Engine, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, _, err = kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "#") {
				continue
			}
			key, value, _ := strings.Cut(lines.Text(), " ")
			k, err := hex.DecodeString(key)
			if err != nil {
				return struct{}{}, err
			}
			v, err := hex.DecodeString(value)
			if err != nil {
				return struct{}{}, err
			}
			tx.Set(k, v)
		}
		return struct{}{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// P7: a database that was written before sharding is read, followed, written and resharded like any other.
func TestDeprecatedSubspace(t *testing.T) {
	s := serveOn(t, func(e *embedded.Engine) kv.Engine {
		loadKeys(t, e, "testdata/deprecated.keys")
		return e
	}, nil)
	const rev1, a, b = "1-00000000000000000000000000000000", "140000000000000000000a0000", "140000000000000000000b0000"
	changes := func(query string, want ...string) {
		t.Helper()
		text := s.must(t, "GET", "/old/_changes"+query, "")
		for _, row := range want {
			if !strings.Contains(text, row) {
				t.Errorf("%s: no %s in %s", query, row, text)
			}
		}
		if n := strings.Count(text, `"seq":`); n != len(want) {
			t.Errorf("%s: %d rows, want %d: %s", query, n, len(want), text)
		}
	}
	changes("", `{"seq":"`+a+`","id":"a","changes":[{"rev":"`+rev1+`"}]}`,
		`{"seq":"`+b+`","id":"b","changes":[{"rev":"`+rev1+`"}]}`)
	changes("?since="+a+"&include_docs=true", `"doc":{"_id":"b","_rev":"`+rev1+`","v":1}}`)
	changes("?descending=true&limit=1", `"id":"b"`)
	changes("?filter=_doc_ids&doc_ids=[%22a%22]", `"id":"a"`)
	if text := s.must(t, "GET", "/old/a", ""); strings.TrimSpace(text) != `{"_id":"a","_rev":"`+rev1+`","v":1}` {
		t.Errorf("a is %s", text)
	}

	// A feed that has waited since before the first write in the new layout misses nothing.
	feed := s.follow(t, "/old/_changes?feed=continuous&heartbeat=30000&since="+a)
	if line := feed.row(); !strings.Contains(line, `"id":"b"`) {
		t.Fatal(line)
	}
	s.must(t, "PUT", "/old/a?rev="+rev1, `{"v":2}`)
	if line := feed.row(); !strings.Contains(line, `"id":"a","changes":[{"rev":"2-`) {
		t.Fatal(line)
	}
	s.must(t, "PUT", "/old/c", `{}`)
	if line := feed.row(); !strings.Contains(line, `"id":"c"`) {
		t.Fatal(line)
	}
	if status, text := s.call(t, "PUT", "/old/a?rev="+rev1, `{"v":3}`); status != 409 {
		t.Errorf("an edit of an old revision: %d %s", status, text)
	}
	changes("", `"id":"b"`, `"id":"a","changes":[{"rev":"2-`, `"id":"c"`)
	changes("?since="+b, `"id":"a"`, `"id":"c"`)
	if text := s.must(t, "GET", "/old/_changes/_meta", ""); !strings.Contains(text,
		`{"maps":[{"since":"0","scheme":"","shards":[],"tombstone":true},{"since":"14`) ||
		!strings.Contains(text, `"scheme":"xxh64-jump","shards":["1"],"tombstone":false}]}`) {
		t.Errorf("the maps are %s", text)
	}
	changes("/1", `"id":"a"`, `"id":"c"`)

	s.must(t, "POST", "/old/_changes/_reshard", `{"shard_count":4}`)
	s.must(t, "DELETE", "/old/b?rev="+rev1, "")
	if line := feed.row(); !strings.Contains(line, `"id":"b"`) || !strings.Contains(line, `"deleted":true`) {
		t.Fatal(line)
	}
	changes("", `"id":"a"`, `"id":"c"`, `"id":"b"`)
	if text := s.must(t, "GET", "/old", ""); !strings.Contains(text, `"doc_count":2,"doc_del_count":1`) {
		t.Errorf("the database is %s", text)
	}
	s.must(t, "DELETE", "/old", "")
}
