package console_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/history"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/console/table"
)

func TestConsole_Resources(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, _ := cluster(3)
		r := history.NewReading()
		r[history.CommitP50], r[history.CommitP99] = 1.25, 7.123456
		net.history[1].Add(time.Now(), r)
		time.Sleep(history.Step)
		net.silent["n3"] = true
		storage := consoles[0].Storage(t.Context())
		if len(storage.Nodes) != 2 || len(storage.Absent) != 1 || storage.Nodes[0].P99 != nil ||
			*storage.Nodes[1].P50 != 1.25 || *storage.Nodes[1].P99 != 7.123 {
			t.Errorf("storage %+v", storage)
		}
		if scripts := consoles[1].Scripts(t.Context()); len(scripts.Nodes) != 2 || scripts.Nodes[1].Running != 2 {
			t.Errorf("scripts %+v", scripts)
		}
		list, err := consoles[0].Settings(t.Context(), table.Query{})
		var got []string
		for _, s := range list.Rows {
			got = append(got, fmt.Sprint(s.Name, " ", s.Value, " ", s.Changed, " ", s.Nodes))
		}
		want := "name x true [n1 n2]|sql.listen n1 false [n1]|sql.listen n2 true [n2]"
		if err != nil || strings.Join(got, "|") != want {
			t.Errorf("settings %s, %v", strings.Join(got, "|"), err)
		}
		if list, _ := consoles[0].Settings(t.Context(), table.Query{Search: "changed listen"}); list.Total != 1 {
			t.Errorf("found %+v", list)
		}
		time.Sleep(2 * time.Second) // for requests to n3 that were given up
	})
}

// The view Storage says what is wrong with a store, and not that the view Storage says more.
func TestConsole_StorageItself(t *testing.T) {
	p := &parts{used: map[string]console.Use{}}
	here := p.here("n1", 1)
	here.Storage = func(context.Context) state.Storage {
		return state.Storage{Error: "it broke. If it does not answer again soon, the view Storage says more.",
			Reasons: []string{"disk_low: 3 GB left", "no. See whether it runs; the view Storage says more."}}
	}
	here.Cluster = func(context.Context) (*state.StoreCluster, error) {
		return nil, errors.New("it takes too long to answer. If this lasts, see the view Storage.")
	}
	c := console.New(console.Options{Node: "n1", Events: events.New("n1", slog.New(slog.DiscardHandler)),
		History: history.New(), Here: here})
	got := c.Storage(t.Context())
	if got.Unknown != "it takes too long to answer." || got.Nodes[0].Error != "it broke." ||
		strings.Join(got.Nodes[0].Reasons, "|") != "disk_low: 3 GB left|no. See whether it runs." {
		t.Errorf("the view says %q, %+v", got.Unknown, got.Nodes)
	}
}
