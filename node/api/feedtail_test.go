package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// New entries are read once for all feeds that wait for them, whatever each feed shows.
func TestFeed_ListenersShareReadings(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("it counts reads")
	}
	c := &readCounter{}
	s := serveOn(t, func(e *embedded.Engine) kv.Engine {
		c.Engine = e
		return c
	}, nil)
	s.must(t, "PUT", "/db?changes_shards=2", "")
	const listeners, writes = 60, 10
	var show, hide []*liveFeed
	for i := range listeners {
		if i%2 == 0 {
			show = append(show, s.follow(t, "/db/_changes?feed=continuous&since=now&heartbeat=30000"))
		} else {
			hide = append(hide,
				s.follow(t,
					"/db/_changes?feed=continuous&since=now&heartbeat=30000&filter=_doc_ids&doc_ids=[\"last\"]"))
		}
	}
	c.entries.Store(0)
	for i := range writes {
		id := fmt.Sprint("doc", i)
		if i == writes-1 {
			id = "last"
		}
		s.must(t, "PUT", "/db/"+id, "{}")
		for _, f := range show {
			if line := f.row(); !strings.Contains(line, `"id":"`+id+`"`) {
				t.Fatalf("after %s came %s", id, line)
			}
		}
	}
	for _, f := range hide {
		if line := f.row(); !strings.Contains(line, `"id":"last"`) {
			t.Fatalf("a feed of one document showed %s", line)
		}
	}
	if n := c.entries.Load(); n >= writes*listeners/2 {
		t.Errorf("%d entries were read for %d writes and %d listeners", n, writes, listeners)
	}
}

// A feed that is served from memory shows the same as one that reads the store: with documents that are written again
// and again, more entries than are kept, branches, deletions and a reshard.
func TestFeed_ListenersFallBehind(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db?changes_shards=2", "")
	feeds := map[string]*liveFeed{}
	for _, query := range []string{"", "&style=all_docs", "&include_docs=true", "&filter=_design"} {
		feeds[query] = s.follow(t, "/db/_changes?feed=continuous&since=now&heartbeat=30000"+query)
	}
	const documents, rounds = 700, 4
	for round := range rounds {
		var docs strings.Builder
		for i := range documents {
			fmt.Fprintf(&docs, `,{"_id":"%d","_rev":"%d-%032d"}`, i%(documents-100*round), round+1, i)
		}
		s.must(t, "POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[`+docs.String()[1:]+`]}`)
		s.must(t, "PUT", "/db/again", `{"_id":"again"`+again(t, s)+`}`)
		if round == 1 {
			s.must(t, "POST", "/db/_changes/_reshard", `{"shard_count":3}`)
		}
	}
	s.must(t, "PUT", "/db/_design/last", "{}")
	want := s.must(t, "GET", "/db/_changes?style=all_docs", "")
	for query, f := range feeds {
		newest, seq := map[string]string{}, ""
		for {
			line := f.row()
			at, id, revs := line[8:strings.Index(line, `","id"`)], between(line, `"id":"`, `"`), between(line,
				`"changes":`, "]")
			if at <= seq {
				t.Fatalf("%q: %s comes after %s", query, line, seq)
			}
			seq, newest[id] = at, revs
			if id == "_design/last" {
				break
			}
		}
		if query == "&filter=_design" {
			if len(newest) != 1 {
				t.Errorf("%q showed %v", query, newest)
			}
			continue
		}
		for _, row := range strings.Split(want, "\n") {
			id, revs := between(row, `"id":"`, `"`), between(row, `"changes":`, "]")
			if id == "" {
				continue
			}
			if query != "&style=all_docs" {
				revs, _, _ = strings.Cut(revs, ",")
			}
			if newest[id] != revs {
				t.Errorf("%q: the newest revision of %s is %s, not %s", query, id, newest[id], revs)
			}
		}
	}
}

// again returns the member with the document's revision, if it exists.
func again(t *testing.T, s *server) string {
	t.Helper()
	if status, _ := s.call(t, "GET", "/db/again", ""); status != 200 {
		return ""
	}
	return `,"_rev":"` + revOf(t, s, "/db/again") + `"`
}

func between(s, before, after string) string {
	_, s, _ = strings.Cut(s, before)
	s, _, _ = strings.Cut(s, after)
	return s
}
