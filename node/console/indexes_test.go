package console_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/console/table"
)

// All indexes are searched and sorted, whichever node is asked, and each is listed once, with the nodes that build it.
// Only those on the page are read.
func TestConsole_Indexes(t *testing.T) {
	net, consoles, _ := cluster(2)
	reads := func() (n int64) {
		for _, p := range net.parts {
			n += p.reads.Swap(0)
		}
		return n
	}
	for _, p := range net.parts {
		p.indexes = 10_000
	}
	net.parts[0].tasks = []state.Task{{Node: "n1", Type: "indexer", Database: "db00007", Design: "_design/d", Shard: "1"}}
	net.parts[1].tasks = []state.Task{{Node: "n2", Type: "indexer", Database: "db00007", Design: "_design/d", Done: 4}}
	net.parts[0].jobs = []state.Job{{ID: "db00008/new", Database: "db00008", Failures: 3, Error: "no"},
		{ID: "db00009/old", Database: "db00009", Failures: 3, Error: "of views that it had before"},
		{ID: "db00010/new", Database: "db00010", Failures: 3, Error: "before it advanced", Advanced: true}}
	ask := func(q table.Query, read int64) (rows []state.Index) {
		t.Helper()
		list, err := consoles[0].Indexes(t.Context(), q)
		if n := reads(); err != nil || n != read || list.Partial != "" || len(list.Absent) > 0 {
			t.Fatalf("%d were read, %+v, %v", n, list, err)
		}
		return list.Rows
	}
	list, err := consoles[0].Indexes(t.Context(), table.Query{Limit: 10})
	if err != nil || list.Total != 10_000 || len(list.Rows) != 10 || list.Rows[2].Rows != 7919*2%4007+1 ||
		reads() != 10 || !strings.Contains(list.Note, "1m0s") {
		t.Errorf("%+v, %v", list, err)
	}
	if x := list.Rows[7]; !x.Building || x.Task == nil || x.Task.Done != 4 || !slices.Equal(x.Nodes, []string{"n1", "n2"}) {
		t.Errorf("an index that is built: %+v", x)
	}
	if x := list.Rows[8]; x.Building || x.Failures != 3 || x.Failure != "no" {
		t.Errorf("an index whose build fails: %+v", x)
	}
	if rows := ask(table.Query{Search: "db00599"}, 1); len(rows) != 1 {
		t.Errorf("found %+v", rows)
	}
	for word, want := range map[string]string{"building": "db00007", "failing": "db00008"} {
		if rows := ask(table.Query{Search: word}, 1); len(rows) != 1 || rows[0].Database != want {
			t.Errorf("%s: %+v", word, rows)
		}
	}
	if rows := ask(table.Query{Sort: "rows", Desc: true, Limit: 2}, 2); rows[0].Rows < 4000 || rows[1].Rows < 4000 {
		t.Errorf("by rows: %+v", rows)
	}
	if rows := ask(table.Query{Database: "new"}, 1); len(rows) != 1 || rows[0].Design != "_design/x" {
		t.Errorf("of one database: %+v", rows)
	}
	if rows := ask(table.Query{Database: "db"}, 0); len(rows) != 0 {
		t.Errorf("of a database without indexes: %+v", rows)
	}
	if n := net.parts[0].walks.Load(); n > 4 {
		t.Errorf("the jobs were read %d times", n)
	}
	net.parts[0].unread = 3
	list, err = consoles[0].Indexes(t.Context(), table.Query{})
	if err != nil || !strings.HasPrefix(list.Partial, "3 of 10000 databases have not been read") {
		t.Errorf("%q, %v", list.Partial, err)
	}
	net.parts[0].unnamed = true
	list, err = consoles[0].Indexes(t.Context(), table.Query{})
	if err != nil || !strings.HasPrefix(list.Partial, "The names of the databases") {
		t.Errorf("%q, %v", list.Partial, err)
	}
}

// Jobs that cannot be read do not make the state of indexes old.
func TestConsole_IndexesJobs(t *testing.T) {
	net, consoles, _ := cluster(1)
	p := net.parts[0]
	p.indexes, p.lostJobs = 3, errors.New("the store rests")
	list, err := consoles[0].Indexes(t.Context(), table.Query{})
	if err != nil || len(list.Rows) != 3 || list.Rows[1].Rows != 7919%4007+1 ||
		list.Partial != "It is not known which builds have failed: the store rests" {
		t.Errorf("%+v, %v", list, err)
	}
}

// A page for a node of version 0.2.0 fits a message.
func TestConsole_IndexesHere(t *testing.T) {
	net, consoles, _ := cluster(2)
	net.parts[0].indexes, net.parts[0].skipped = 500, strings.Repeat("x", 10_000)
	text, err := consoles[0].Answer(t.Context(), "n2", []byte(`{"ask":"indexes","of":{"limit":500}}`))
	if err != nil || len(text) < 100_000 || len(text) > 1<<20 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// While the store is slow or away, the indexes that are known are shown as they were.
func TestConsole_IndexesUnread(t *testing.T) {
	net, consoles, _ := cluster(1)
	p := net.parts[0]
	p.indexes, p.slow = 600, 100*time.Millisecond
	list, err := consoles[0].Indexes(t.Context(), table.Query{Limit: 500})
	if err != nil || list.Total != 600 || !strings.Contains(list.Partial, "not read in time") {
		t.Errorf("a slow store: %q, %v", list.Partial, err)
	}
	p.slow, p.lost = 0, errors.New("the store rests")
	for _, q := range []table.Query{{}, {Database: "db00007"}} {
		list, err = consoles[0].Indexes(t.Context(), q)
		if err != nil || len(list.Rows) == 0 || !strings.Contains(list.Partial, "the store rests") {
			t.Errorf("a store that does not answer: %+v, %v", list, err)
		}
	}
}
