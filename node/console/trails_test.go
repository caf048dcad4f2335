package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/console/table"
)

// Small plots of databases add up what all nodes have done, and have gaps from before the nodes began to look.
func TestConsole_Lines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, _ := cluster(2)
		net.parts[0].databases = 3
		for step := range 20 {
			for i, p := range net.parts {
				p.use("db00001", console.Use{Writes: int64(100 + 150*(i+1)*step), Feed: 7})
				consoles[i].Sample(time.Now())
			}
			time.Sleep(15 * time.Second)
		}
		page, err := consoles[1].Databases(t.Context(), table.Query{})
		if err != nil || len(page.Rows) != 0 {
			t.Fatalf("n2 has no databases: %+v, %v", page.Rows, err)
		}
		page, err = consoles[0].Databases(t.Context(), table.Query{})
		if err != nil || len(page.Rows) != 3 {
			t.Fatal(page, err)
		}
		if w := page.Rows[1].Writes; w != 15 { // since 30 seconds ago, of which the nodes have counted 15
			t.Errorf("%v writes per second where nobody has looked before", w)
		}
		line := page.Rows[1].WriteLine
		if line == nil || line.Top != 30 || len(line.Heights) != state.LinePoints {
			t.Fatalf("line %+v", line)
		}
		if gaps := strings.Count(line.Heights, "."); gaps < 38 || gaps > 42 || !strings.HasPrefix(line.Heights, "...") ||
			strings.Count(line.Heights, "z") < 18 {
			t.Errorf("line %+v", line)
		}
		if page.Rows[0].WriteLine != nil || page.Rows[1].FeedLine != nil {
			t.Errorf("lines of nothing: %+v", page.Rows)
		}
		for range 70 { // nothing is done any more
			time.Sleep(15 * time.Second)
			consoles[0].Sample(time.Now())
			consoles[1].Sample(time.Now())
		}
		if page, err = consoles[0].Databases(t.Context(), table.Query{}); err != nil || page.Rows[1].WriteLine != nil {
			t.Errorf("a line of nothing: %+v, %v", page.Rows, err)
		}
	})
}

// The tree lists what is below an actor, with what is not well first, and counts the rest.
func TestTree(t *testing.T) {
	net, consoles, _ := cluster(2)
	for i, p := range net.parts {
		node := fmt.Sprint("n", i+1)
		p.actors = []state.Actor{{Node: node, ID: "top", Kind: "node"}, {Node: node, ID: "top/dbs", Parent: "top"},
			{Node: node, ID: "top/jobs", Parent: "top"}}
		for k := range 200 {
			a := state.Actor{Node: node, ID: fmt.Sprintf("top/dbs/%03d", k), Parent: "top/dbs", State: "open"}
			shard := state.Actor{Node: node, ID: a.ID + "/s", Parent: a.ID, State: "watching"}
			if i == 1 && k == 150 {
				shard.State = "restarting"
			}
			p.actors = append(p.actors, a, shard)
		}
	}
	read := func(q console.TreeQuery) []state.Actor {
		t.Helper()
		page, err := console.Tree(t.Context(), consoles[0], q)
		if err != nil {
			t.Fatal(err)
		}
		return page.Rows
	}
	if got := read(console.TreeQuery{}); len(got) != 2 || got[0].Node != "n2" || got[0].Below != 402 || got[0].Unwell != 1 ||
		got[1].Unwell != 0 {
		t.Errorf("roots %+v", got)
	}
	if got := read(console.TreeQuery{Node: "n2", Parent: "top/dbs"}); len(got) != 50 || got[0].ID != "top/dbs/150" ||
		got[0].Below != 1 || got[0].Unwell != 1 || got[1].ID != "top/dbs/000" {
		t.Errorf("databases %+v", got)
	}
	if got := read(console.TreeQuery{Node: "n1", ID: "top/dbs"}); len(got) != 1 || got[0].Below != 400 {
		t.Errorf("one %+v", got)
	}
	if got := read(console.TreeQuery{Node: "n3"}); len(got) != 0 {
		t.Errorf("of no node %+v", got)
	}
	if _, err := console.Tree(t.Context(), consoles[0], console.TreeQuery{Query: table.Query{Sort: "x"}}); err == nil {
		t.Error("sorted by nothing")
	}
}
