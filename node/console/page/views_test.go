package page_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/divandb/divan/scripts/browser"
)

// views are what each view shows of answers.
var views = map[string][]string{
	"": {"asked n1", "<summary title=\"who is signed in\">anna</summary>", "Sign out", "Lately", "n4 left 11:00:01.0, back", "2 jobs go on at n3, the last at ",
		"index a/1\nindex b/1", `href="#/databases/a%2Fb/failures/_design%2Fby"`, `class="spark"`,
		"in the last 15 minutes, at most 1,500/s", "2 nodes up; 2 things need attention",
		"n2 silent 12:00:01.0, given up 12:00:03.4, 14 shards to n1 and n3",
		"documents written", "n1 asked", "works", "1,204/s", "212 MB", "42 %", "10,000 databases", "and 42 more until",
		"live"},
	"nodes": {"n1", "1,204/s"},
	"nodes/n1": {"processors in JavaScript", "0.25", "memory of the process", "212 MB",
		"Engine", "embedded", "Log more", "Drain", "81 GB", "documents written"},
	"databases": {`class="spark"`, "customers: documents written in the last 15 minutes, at most 320/s", "customers", "1,234,567", "3 GB", "311/s", "10,000 in all",
		"without n2: it does not answer", "next ›", "Create a database"},
	"databases/orders": {"Compact", "Reshard", "Indexes", "_design/by", "Changes shards with listeners",
		"History of the changes shards", "replaced", "in use"},
	"databases/orders/docs":   {"o1", "+ new document"},
	"databases/orders/doc/o1": {"Save", "1 conflict", "photo.png", "1.23 KB", "History", "missing", "Keep the left one"},
	"databases/orders/new":    {"New document", "Save"},
	"sql/orders":              {"Run", "Explain", "Relations", "up to 10,000 rows"},
	"replications": {"10.0.0.7:5984/orders/ continuous", "running", "7,001", "from-shop", "crashing", "could not open a",
		"anna", "no such filter", `href="#/databases/x%2F_replicator/doc/bad"`},
	"jobs": {"orders/0519c025", "running", "2.0 s", "2 h ago", "old/4567", "exceed a transaction",
		"pending: next attempt in 10 min, 2 failed attempts", "Retry", "Drop"},
	"databases/orders/failures/_design%2Fby": {"Documents that views of _design/by skip", "o7", "doc.customer is undefined"},
	"actors": {"Supervision trees", "database orders", "412, 2 not well", "database:orders/shard:3", "index out of range",
		"100,000 in all"},
	"actors/n3/databases%2Fdatabase:orders": {"Supervised by", "2 waiting", "3; 1 failure within the last minute",
		"Below it", "goroutine 7", "Restart"},
	"sessions": {"7 psql", "anna", "Cancel", "Open in SQL", "Examined", "Seq Scan on docs", "Slow statements"},
	"feeds":    {"orders shard 3", "following", "2.5 s"},
	"indexes":  {"orders _design/by customer", "2.0 s behind", "300,000"},
	"storage": {"81 GB", "1.25 ms", "7.5 ms", "disk_low: 3 GB left", "too slow", "70 s",
		"by itself", "FoundationDB", "Restoring replication factor", "2 of 3 coordinators", "triple",
		"1 without loss of data, 0 without", "5 GB in 9 GB of files, 77 GB left", "7 MB", "commit 1.46 ms",
		"0.5/s in conflict", "storage queue", "6.5 s behind", "Cluster file contents do not match."},
	"javascript": {"0 idle", "too long 4", "orders", "72 s", "without n2: it does not answer"},
	"plots":      {"Processes", "documents written", "last 15 minutes"},
	"settings":   {"http.listen", "0.0.0.0:5984", "(secret)", "n1, n3"},
	"events":     {"Stories", "n2 died", "given up", "a login of anna", "goroutine 7"},
}

// extra is shown only where there is room.
var extra = map[string][]string{"actors": {"listeners 12"}, "sessions": {"SELECT * FROM docs"}}

// Each view shows what the server answers, on a phone, a laptop and a wall, light and dark.
func TestPage(t *testing.T) {
	b := browser.Start(t)
	for view, wants := range views {
		t.Run("view "+view, func(t *testing.T) {
			sizes := map[string]browser.View{"phone": {Width: 360, Height: 740, Dark: true}, "laptop": {Width: laptop,
				Height: 800}}
			if view == "" || view == "plots" || view == "databases/orders" || view == "sql/orders" {
				sizes["wall"] = browser.View{Width: 2560, Height: 1440, Dark: true}
			}
			for size, how := range sizes {
				got := show(t, b, answers(), view, strings.ReplaceAll("console-"+view, "/", "-")+"-"+size, how)
				if how.Width > 700 {
					wants = append(wants, extra[view]...)
				}
				for _, want := range wants {
					if !strings.Contains(got.text+got.html, want) {
						t.Errorf("%s shows no %q: %s", size, want, got.text)
					}
				}
			}
		})
	}
}

// Names and texts are chosen by users: they must not become tags, scripts or addresses.
func TestPage_hostile(t *testing.T) {
	const evil = `<img src=x onerror=document.title=/owned/>"'</script><script>document.title='owned'</script>` + "\u202e"
	text, err := json.Marshal(answers())
	if err != nil {
		t.Fatal(err)
	}
	var all any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	var poison func(key string, v any) any
	keep := map[string]bool{"now": true, "at": true, "since": true, "began": true, "ended": true, "sort": true,
		"next": true, "unit": true, "until": true, "token": true} // without a token no SQL is answered
	poison = func(key string, v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				v[k] = poison(k, v[k])
			}
		case []any:
			for i := range v {
				v[i] = poison(key, v[i])
			}
		case string:
			if !keep[key] {
				return evil
			}
		}
		return v
	}
	hostile := poison("", all).(map[string]any)
	hostile["/_dashboard/couch/orders/_design/by"] = map[string]any{} // is there, since its number of errors is none
	b := browser.Start(t)
	for view := range views {
		got := show(t, b, hostile, view, strings.ReplaceAll("hostile-"+view, "/", "-"), browser.View{Width: 360, Height: 740})
		if strings.Contains(got.html, "<img") || strings.Count(got.html, "<script") != 1 ||
			strings.Contains(got.html, "<title>owned") {
			t.Errorf("%s: something from the server became a tag", view)
		}
		if strings.Contains(got.html, `href="javascript`) || !strings.Contains(got.html, "&lt;img") {
			t.Errorf("%s: a link runs a script, or nothing is shown", view)
		}
		if strings.Contains(got.text, "\u202e") || !strings.Contains(got.text, `\u202e`) {
			t.Errorf("%s: a name changes the direction of the text beside it: %q", view, got.text)
		}
	}
}

// An editor shows a document whose texts change the direction of what follows without changing the document.
func TestPage_pretty(t *testing.T) {
	p := module(t)
	const body = "{\"_id\":\"a\u202eb\",\"n\":12345678901234567890}"
	var got struct {
		Text string
		Same bool
	}
	p.Eval("import('/_dashboard/js/json.js').then(({ pretty }) => { const body = "+quoted(body)+
		"; const text = pretty(body); return { text, same: JSON.parse(text)._id === JSON.parse(body)._id } })", &got)
	const want = "{\n  \"_id\": \"a\\u202eb\",\n  \"n\": 12345678901234567890\n}"
	if got.Text != want || !got.Same {
		t.Errorf("got %q, want %q; the same: %v", got.Text, want, got.Same)
	}
}
