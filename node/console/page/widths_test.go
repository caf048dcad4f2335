package page_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/scripts/browser"
)

// crowded are answers whose lists have long names in all columns, with few characters at which they could be broken.
func crowded() map[string]any {
	now := time.Now().UTC()
	list := func(rows any) map[string]any {
		return map[string]any{"now": now, "rows": rows, "total": 2, "next": "", "sort": "", "absent": []state.Absent{}}
	}
	const url, host, long = "http://127.0.0.1:32202/db004/", "database-server-three",
		"organisationsentwicklung_2026"
	actor := state.Actor{Node: "node:n1", ID: "node:n1/databases/database:big/shard:1", Kind: "database", Name: long,
		State: "restarting", Since: now, Mailbox: 1_000_000, Restarts: 1_000, Recent: 1_000, Below: 100_000, Unwell: 2,
		LastFailure: "runtime error: index_out_of_range_with_length", LastFailureAt: &now,
		Facts: json.RawMessage(`{"documents_without_revision":1200000}`)}
	failing := actor
	failing.ID, failing.Node = "databases/database:"+long+"/shard:1", host
	api := answers()
	api["actors"], api["tree"] = list([]state.Actor{actor, failing}), list([]state.Actor{actor, failing})
	api["replications"] = list([]state.Replication{{ID: "1", State: "crashing", Continuous: true, Source: url,
		Target: "http://10.0.0.7:5984/" + long + "/", Database: "_replicator", Document: long, Node: host, Written: 1e6,
		Failed: 1e3, Errors: 1000, Pending: pointer(int64(1e6)), Changed: &now,
		Error: "unauthorized: name or password is wrong"},
		{ID: "2", State: "running", Source: url, Target: url, Database: "_replicator", Document: "big-1-to-db004",
			Node: "n1", Changed: &now}})
	api["jobs"] = list([]state.Job{{Type: "index", ID: long + "/0519c025", Database: long, Design: "_design/" + long,
		State: "pending", Failures: 2, Due: &now, Error: "rows_of_one_document_exceed_a_transaction", Worker: host,
		Updated: &now, Created: &now, Token: 1_000_000, Lease: 20},
		{Type: "compaction", ID: long, State: "pending", Updated: &now}})
	api["sessions"] = list([]state.Session{{Node: host, PID: 70_000, User: long, Database: long, Application: long,
		State: "active", Statement: "SELECT " + long + " FROM docs", Began: &now,
		Examined: 1e6, Returned: 1e6, Rows: 1e6}})
	api["shards"] = list([]state.Shard{{Node: host, Database: long, Shard: "3", Owner: host, State: "following",
		Error: "transaction_too_old_for_this", Listeners: 12_000, Lag: 2.5}})
	api["indexes"] = list([]state.Index{{Database: long, Design: "_design/" + long, Views: []string{long, "customers"},
		Rows: 3e9, Bytes: 12e6, Errors: 2e6, Lag: 2, Failures: 3, Failure: "rows_of_one_document_exceed",
		Nodes: []string{host, "n2"}}})
	api["settings"] = list([]state.Setting{{Name: "replication.interval_of_checkpoints", Value: long, Default: url,
		Changed: true, Nodes: []string{host, "n3"}}})
	big := int64(1_234_567_890)
	api["databases"] = list([]state.Database{{Name: long, Docs: &big, Bytes: &big, Deleted: &big, Shards: pointer(128),
		Indexes: pointer(300), Writes: 123_456, Feed: 123_456, Reads: 123_456, Refused: 123_456,
		WriteLine: &state.Line{Top: 320, Heights: "..0AZaz"}, FeedLine: &state.Line{Top: 320, Heights: "..0AZaz"}}})
	return api
}

// The tables of lists fit into their cards at each width, whatever they have.
func TestPage_widths(t *testing.T) {
	url, _, _ := caring(t, crowded())
	p := browser.Start(t).Open(url+"/_dashboard/#/", browser.View{Width: 1700, Height: 900})
	defer p.Close()
	for _, view := range []string{"actors", "replications", "jobs", "sessions", "feeds", "indexes", "settings",
		"databases", "actors/n3/a", "storage", "nodes", "events", "javascript"} {
		p.Eval("location.hash = "+quoted("#/"+view), nil)
		p.Wait(`document.querySelector('#view td') && !document.body.innerText.includes('Loading…')`)
		for width := 1700; width >= 360; width -= 30 {
			p.Resize(width, 900)
			fits(t, p, view, width)
		}
	}
}
