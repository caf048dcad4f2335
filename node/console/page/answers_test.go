package page_test

import (
	"encoding/json"
	"time"

	"github.com/divandb/divan/node/console/state"
)

func pointer[T any](v T) *T { return &v }

// answers are those of a cluster in which a node has died.
func answers() map[string]any {
	now := time.Now().UTC()
	ago := func(s float64) time.Time { return now.Add(-time.Duration(s * float64(time.Second))) }
	story := state.Story{ID: "n1/a/9", Title: "n2 died", Severity: state.Error, Member: "n2", Began: ago(303),
		Ended: ago(300.1), Text: "n2 silent 12:00:01.0, given up 12:00:03.4, 14 shards to n1 and n3, 2 jobs resumed " +
			"12:00:03.9",
		Lines: []state.StoryLine{{At: ago(303), Text: "n2 was last heard", Nodes: []string{"n1", "n3"}},
			{At: ago(300.6), After: 2.4, Text: "n2 has not answered for 2.4 s and was given up", Nodes: []string{"n1", "n3"}},
			{At: ago(300.3), After: 2.7, Text: "2 jobs go on at n3", Nodes: []string{"n3"}, Until: pointer(ago(300.1)),
				Jobs: []string{"index a/1", "index b/1"}}}}
	node := func(name, st, text string, self bool) state.Node {
		n := state.Node{Name: name, State: st, Text: text, Self: self, HTTP: "127.0.0.1:5984", Version: "0.2.0",
			Roles: []string{}}
		if st == "ok" {
			n.Report = state.Report{Engine: "embedded", Started: pointer(ago(270_000)), Now: map[string]float64{
				"script_seconds": 0.25, "docs_written": 1204,
				"listeners": 312, "actors": 408, "mailbox": 0, "cpu": 0.31, "resident": 212e6,
				"disk_free": 81e9}, Lines: map[string]state.Line{"docs_written": {Top: 1500, Heights: "..09Zz0"}}}
		}
		return n
	}
	events := []state.Event{
		{ID: "n1/a/9", At: ago(300), Node: "n1", Also: []string{"n3"}, Kind: state.MemberDead, Severity: state.Error,
			Text: "n2 has not answered for 2.4 s and was given up", Member: "n2"},
		{ID: "n1/a/8", At: ago(400), Node: "n1", Kind: state.LoginRefused, Severity: state.Warning, Repeated: 42,
			Until: pointer(ago(310)), Text: "a login of anna from 10.0.0.7 was refused"},
		{ID: "n3/b/7", At: ago(5000), Node: "n3", Kind: state.ActorFailed, Severity: state.Error,
			Text: "database:orders/shard:3 failed and is restarted: index out of range", Detail: "goroutine 7 [running]"},
	}
	values := make(state.Values, 180)
	for i := range values {
		values[i] = float32(900 + 300*(i%17)/17 + i)
	}
	plots := state.Plots{Start: now.Unix(), Step: 5}
	for _, s := range []state.Series{{Name: "docs_written", Title: "documents written", Unit: "/s"},
		{Name: "feed_rows", Title: "feed rows", Unit: "/s"}, {Name: "commit_p99", Title: "commit, 99 of 100", Unit: "ms"},
		{Name: "index_lag", Title: "lag of indexes", Unit: "s"}, {Name: "conflicts", Title: "conflicts", Unit: "/s"},
		{Name: "http_failed", Title: "HTTP errors of the server", Unit: "/s"}} {
		plots.Plots = append(plots.Plots, state.Plot{Series: s, All: values, Nodes: []state.PlotLine{
			{Node: "n1", Values: values}, {Node: "n3", Values: values}}})
	}
	verdict := state.Verdict{Now: now, Node: "n1", State: "degraded", User: "anna",
		Text: "2 nodes up; 2 things need attention"}
	list := func(rows any, total int) map[string]any {
		return map[string]any{"now": now, "rows": rows, "total": total, "next": "x", "sort": "name", "desc": false,
			"absent": []state.Absent{{Node: "n2", Reason: "it does not answer"}}}
	}
	var databases []state.Database
	for _, name := range []string{"customers", "invoices", "orders", "sessions"} {
		databases = append(databases, state.Database{Name: name, Docs: pointer(int64(1_234_567)),
			Bytes:   pointer(int64(3e9)),
			Deleted: pointer(int64(12)), Shards: pointer(8), Indexes: pointer(3), Writes: 310.5, Feed: 1200,
			WriteLine: &state.Line{Top: 320, Heights: "..0AZaz"}})
	}
	return map[string]any{
		"verdict": verdict, "plots": plots, "series": []state.Series{{Name: "script_seconds",
			Title: "processors in JavaScript"}, {Name: "resident", Title: "memory of the process", Unit: "B"},
			{Name: "docs_written", Title: "documents written", Unit: "/s"},
			{Name: "disk_free", Title: "disk left", Unit: "B"}},
		"overview": state.Overview{Now: now, Node: "n1", State: verdict.State, Text: verdict.Text,
			Databases: pointer(10_000), Jobs: map[string]int{"running": 1, "pending": 2}, Failing: 1, Events: events,
			Attention: []state.Attention{
				{Severity: state.Error, Text: story.Text, Since: pointer(story.Began), Story: &story},
				{Severity: state.Warning, Text: "views of _design/by in orders skip 3 documents", Node: "n1",
					Link: "databases/a%2Fb/failures/_design%2Fby"}},
			Lately: []state.Attention{{Severity: state.Good, Text: "n4 left 11:00:01.0, back 11:00:03.0",
				Link: "events/n1/a/8"}},
			Nodes: []state.Node{node("n1", "ok", "it works", true), node("n2", "gone", "it has left as announced", false),
				node("n3", "ok", "it works", false)},
			Tasks: []state.Task{{Node: "n3", Type: "indexer", Database: "orders", Design: "_design/by", Progress: 42,
				Done: 42_000, Total: 100_000, Rate: 5200, Left: pointer(11.0)}}},
		"nodes":     map[string]any{"now": now, "nodes": []state.Node{node("n1", "ok", "it works", true)}},
		"databases": list(databases, 10_000),
		"conflicts": state.ConflictsPage{Now: now, Databases: []state.Conflicts{{Database: "orders",
			Documents: pointer(int64(3)), Entries: 12}, {Database: "customers", Entries: 1_234_579}}},
		"jobs": list([]state.Job{{Type: "index", ID: "orders/0519c025", State: "running", Worker: "n3", Token: 7,
			Updated: pointer(ago(1)), Created: pointer(ago(7200)), Lease: 2},
			{Type: "index", ID: "old/4567", State: "pending", Failures: 2, Due: pointer(ago(-600)),
				Error: "rows of one document exceed a transaction", Updated: pointer(ago(30))}}, 2),
		"replications": list([]state.Replication{{ID: "0519c025+continuous", State: "running", Continuous: true,
			Source: "http://10.0.0.7:5984/orders/", Target: "orders", Database: "_replicator", Document: "from-shop", Node: "n3",
			Read: 7012, Written: 7001, Failed: 11, Pending: pointer(int64(42)), Changed: pointer(ago(70))},
			{State: "crashing", Source: "http://10.0.0.8:5984/a/", Target: "a", User: "anna", Errors: 3,
				Error: "db_not_found: could not open a", Changed: pointer(ago(9))},
			{State: "failed", Database: "x/_replicator", Document: "bad", Error: "no such filter",
				Changed: pointer(ago(70))}}, 3),
		"actors": list([]state.Actor{{Node: "n3", ID: "databases/database:orders/shard:3", Kind: "shard", State: "watching",
			Restarts: 3, LastFailure: "index out of range", LastFailureAt: pointer(ago(20)),
			Facts: json.RawMessage(`{"listeners":12}`)}}, 100_000),
		"tree": list([]state.Actor{{Node: "n3", ID: "databases/database:orders", Parent: "databases", Kind: "database",
			Name: "orders", State: "open", Since: ago(70), Mailbox: 2, Restarts: 3, Recent: 1, Below: 412, Unwell: 2,
			LastFailure: "index out of range", LastFailureAt: pointer(ago(20)),
			Facts: json.RawMessage(`{"listeners":12}`)}}, 1),
		"sessions": list([]state.Session{{Node: "n1", PID: 7, User: "anna", Database: "orders", Application: "psql",
			State: "active", Statement: "SELECT * FROM docs", Began: pointer(ago(3)), Examined: 128, Returned: 100,
			Plan: "Seq Scan on docs (actual rows=128 loops=1)"}}, 1),
		"shards": list([]state.Shard{{Node: "n1", Database: "orders", Shard: "3", Owner: "n3", State: "following",
			Listeners: 12, Lag: 2.5}}, 1),
		"indexes": list([]state.Index{{Database: "orders", Design: "_design/by", Views: []string{"customer"},
			Rows: 300_000, Bytes: 12e6, Errors: 2, Lag: 2}}, 1),
		"events": state.EventPage{Now: now, Events: events, Stories: []state.Story{story}, Absent: []state.Absent{}},
		"tasks":  map[string]any{"now": now, "tasks": []state.Task{}},
		"storage": map[string]any{"now": now, "absent": []state.Absent{}, "cluster": state.StoreCluster{At: ago(3),
			Available: true, Health: "healing", Description: "Restoring replication factor", Redundancy: "triple",
			Engine: "ssd-2", Processes: 9, Machines: 3, Coordinators: 3, Reachable: 2, SpareData: pointer(1),
			SpareAccess: pointer(0), Data: pointer(int64(5e9)), Disk: pointer(int64(9e9)), Moving: pointer(int64(7e6)),
			Free: pointer(int64(77e9)), Start: pointer(3.04), Read: pointer(0.31), Commit: pointer(1.46),
			Started: pointer(410.0), Committed: pointer(120.0), Conflicted: pointer(0.5),
			Limit: "Storage server performance (storage queue).", Lag: pointer(6.5),
			Messages: []string{"Cluster file contents do not match."}}, "nodes": []state.Storage{{Node: "n1",
			Engine: "embedded", Free: pointer(int64(81e9)), Size: pointer(int64(3e9)), P50: pointer(1.25),
			P99: pointer(7.5), Conflicts: pointer(int64(12)), Reasons: []string{"disk_low: 3 GB left"},
			Compact: state.Compaction{Auto: true, Runs: 7, LastError: "too slow", LastAt: pointer(ago(9)), Queue: 12,
				Waiting: []state.Compactable{{Database: "orders", Bodies: 12, Bytes: 9000, Oldest: 70}}}}}},
		"scripts": map[string]any{"now": now, "absent": []state.Absent{{Node: "n2", Reason: "it does not answer"}},
			"nodes": []state.Scripts{{Node: "n1", Runtimes: 3, Most: 16, Running: 2, Seconds: 71.5,
				Limits:    map[string]int64{"time": 4, "memory": 0},
				Databases: []state.ScriptUse{{Database: "orders", Seconds: 1.5, Waiting: 3}}}}},
		"settings": list([]state.Setting{{Name: "http.listen", Value: "0.0.0.0:5984", Default: "127.0.0.1:5984",
			Changed: true, Nodes: []string{"n1", "n3"}}, {Name: "cluster.secret", Value: "(secret)"}}, 2),
		"token": map[string]string{"token": "t"},
		"sql": []any{state.SQLLine{Columns: []state.SQLColumn{{Name: "table_schema", Type: "name"}, {Name: "table_name",
			Type: "name"}, {Name: "column_name", Type: "name"}, {Name: "data_type", Type: "text"}}},
			[]any{"public", "docs", "id", "text"}, []any{"by", "customer", "key", "jsonb"}, state.SQLLine{Done: "SELECT 2"}},
		"sql of index_errors": []any{state.SQLLine{Columns: []state.SQLColumn{{Name: "id", Type: "text"},
			{Name: "view", Type: "text"}, {Name: "error", Type: "text"}}},
			[]any{"o7", "customer", "TypeError: doc.customer is undefined"}, state.SQLLine{Done: "SELECT 1"},
			state.SQLLine{Columns: []state.SQLColumn{{Name: "count", Type: "bigint"}}}, []any{"1"},
			state.SQLLine{Done: "SELECT 1"}},
		"/_dashboard/couch/orders/_all_docs": map[string]any{"rows": []any{map[string]any{"id": "o1",
			"value": map[string]string{"rev": "1-abcdefabcdefabcdef"}}}},
		"/_dashboard/couch/orders/_changes/_meta": map[string]any{"maps": []any{
			map[string]any{"since": "0", "shards": []string{"1"}, "tombstone": true},
			map[string]any{"since": "14000660fa4307f88e00000000", "shards": []string{"2", "3"}}}},
		"/_dashboard/couch/orders/o1": map[string]any{"_id": "o1", "_rev": "2-b", "customer": "anna"},
		"/_dashboard/couch/orders/o1?meta": map[string]any{"_id": "o1", "_rev": "2-b", "_conflicts": []string{"2-a"},
			"_revs_info": []any{map[string]string{"rev": "2-b", "status": "available"}, map[string]string{"rev": "1-x",
				"status": "missing"}}, "_attachments": map[string]any{"photo.png": map[string]any{"content_type": "image/png",
				"length": 1234}}},
	}
}
