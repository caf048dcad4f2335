package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The main use on real data, end to end: 170,000 cities through _bulk_docs, views, PouchDB and nano, psql and pgx, and
// the changes feed.
func TestCities(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	all := cities(t)
	p := start(t, t.TempDir())
	c := p.client()
	c.ok("PUT", "/cities", "")
	acked := 0
	err := load(t, c, "cities", all, func(row bulkRow) {
		if row.Error != "" {
			t.Errorf("%s: %s %s", row.ID, row.Error, row.Reason)
		}
		acked++
	})
	if err != nil || acked != len(all) {
		t.Fatalf("acknowledged %d of %d: %v", acked, len(all), err)
	}
	if n := c.object("GET", "/cities", "")["doc_count"]; fmt.Sprint(n) != fmt.Sprint(len(all)) {
		t.Fatalf("doc_count is %v, not %d", n, len(all))
	}
	c.ok("PUT", "/cities/_design/by", encode(t, map[string]any{
		"views": map[string]any{
			"country": map[string]any{"map": "function (doc) { if (doc.country) emit(doc.country, doc.name) }"},
			"name":    map[string]any{"map": "function (doc) { if (doc.name) emit(doc.name, null) }"},
			"place": map[string]any{"map": "function (doc) { if (doc.country) emit([doc.country, doc.admin1, " +
				"doc.name], {lat: doc.lat, lng: doc.lng}) }"},
		},
		"filters": map[string]any{"country": "function (doc, req) { return doc.country === req.query.country }"},
	}))

	// In this order: the views, the queries and the feed check what was loaded, the others change it.
	t.Run("documents", func(t *testing.T) { citiesDocuments(t, p, all) })
	t.Run("views", func(t *testing.T) { citiesViews(t, p, all) })
	t.Run("psql", func(t *testing.T) { citiesPsql(t, p, all) })
	t.Run("pgx", func(t *testing.T) { citiesPgx(t, p, all) })
	t.Run("changes", func(t *testing.T) { citiesChanges(t, p, all) })
	t.Run("sync", func(t *testing.T) { citiesSync(t, p, all) })
	t.Run("nano", func(t *testing.T) { everydayNano(t, p) })
	t.Run("actors", func(t *testing.T) { actorsShow(t, p) })
	t.Run("restart", func(t *testing.T) { citiesRestart(t, p, all) })
}

// with returns a client of the process for a sub-test.
func (p *process) with(t *testing.T) *client {
	c := p.client()
	c.t = t
	return c
}

func citiesDocuments(t *testing.T, p *process, all []city) {
	c := p.with(t)
	for _, want := range []city{all[0], all[len(all)/2], all[len(all)-1]} {
		var got city
		c.into("/cities/"+want.ID, &got)
		if got.Rev == "" {
			t.Errorf("%s has no revision", want.ID)
		}
		got.Rev = ""
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	// The order of members and the text of numbers are kept.
	const body = `{"z":1.50,"a":12345678901234567890,"m":{"b":[1e2, 0.10],"a":"é\u00e9"}}`
	c.ok("PUT", "/cities/verbatim", body)
	if got := c.do("GET", "/cities/verbatim", "").body; !bytes.Contains(got, []byte(body[1:len(body)-1])) {
		t.Errorf("%s came back as %s", body, got)
	}
	c.ok("DELETE", "/cities/verbatim?rev="+c.object("GET", "/cities/verbatim", "")["_rev"].(string), "")

	var page struct{ Rows []struct{ ID, Key string } }
	c.into("/cities/_all_docs?limit=3&startkey="+url.QueryEscape(`"no-"`), &page)
	for _, row := range page.Rows {
		if !strings.HasPrefix(row.ID, "no-") || row.Key != row.ID {
			t.Errorf("row %+v", row)
		}
	}
}

type viewRow struct {
	ID    string
	Key   json.RawMessage
	Value json.RawMessage
	Doc   *city
}

type viewAnswer struct {
	TotalRows int `json:"total_rows"`
	Offset    int
	Rows      []viewRow
}

func citiesViews(t *testing.T, p *process, all []city) {
	c := p.with(t)
	// builds the other views too, since they are one index
	c.patient().ok("GET", "/cities/_design/by/_view/name?limit=0", "")
	named := 0
	byCountry := map[string][]city{}
	for _, city := range all {
		byCountry[city.Country] = append(byCountry[city.Country], city)
		if city.Name != "" {
			named++
		}
	}
	for _, country := range []string{"NO", "IS", "US", "XX"} {
		var got viewAnswer
		c.into("/cities/_design/by/_view/country?key="+url.QueryEscape(`"`+country+`"`), &got)
		want := byCountry[country]
		slices.SortFunc(want, func(a, b city) int { return strings.Compare(a.ID, b.ID) })
		if got.TotalRows != len(all) || len(got.Rows) != len(want) {
			t.Fatalf("%s: %d rows of %d, want %d of %d", country, len(got.Rows), got.TotalRows, len(want), len(all))
		}
		for i, row := range got.Rows {
			if name := decode(t, row.Value); row.ID != want[i].ID || name != want[i].Name {
				t.Fatalf("%s, row %d is %s %q, want %s %q", country, i, row.ID, name, want[i].ID, want[i].Name)
			}
		}
	}

	// Ranges in both directions, with bodies.
	var up, down, docs viewAnswer
	c.into("/cities/_design/by/_view/name?startkey=%22Oslo%22&endkey=%22Oslo%EF%BF%B0%22", &up)
	c.into("/cities/_design/by/_view/name?startkey=%22Oslo%EF%BF%B0%22&endkey=%22Oslo%22&descending=true", &down)
	slices.Reverse(down.Rows)
	if len(up.Rows) == 0 || encode(t, up.Rows) != encode(t, down.Rows) {
		t.Errorf("upwards %d rows, downwards %d", len(up.Rows), len(down.Rows))
	}
	c.into("/cities/_design/by/_view/place?startkey=%5B%22NO%22%5D&endkey=%5B%22NO%22,%7B%7D%5D&limit=50&skip=10&include_docs=true", &docs)
	if len(docs.Rows) != 50 {
		t.Errorf("%d rows with bodies", len(docs.Rows))
	}
	for _, row := range docs.Rows {
		if row.Doc == nil || row.Doc.ID != row.ID || row.Doc.Country != "NO" {
			t.Fatalf("row %s has the body %+v", row.ID, row.Doc)
		}
	}

	// The whole view is in CouchDB's order, which for ASCII letters is case-insensitive first.
	var whole viewAnswer
	c.into("/cities/_design/by/_view/name", &whole)
	if len(whole.Rows) != named {
		t.Errorf("%d rows by name, want %d", len(whole.Rows), named)
	}
	last := ""
	for _, row := range whole.Rows {
		var name string
		if err := json.Unmarshal(row.Key, &name); err != nil {
			t.Fatal(err)
		}
		if isLetters(name) {
			if strings.ToLower(name) < strings.ToLower(last) {
				t.Fatalf("%q comes after %q", name, last)
			}
			last = name
		}
	}
}

func isLetters(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return s != ""
}

type change struct {
	Seq     string
	ID      string
	Deleted bool
	Changes []struct{ Rev string }
}

type changes struct {
	Results []change
	LastSeq string `json:"last_seq"`
	Pending int
}

func citiesChanges(t *testing.T, p *process, all []city) {
	c := p.with(t)
	var feed changes
	c.into("/cities/_changes", &feed)
	seen := map[string]int{}
	last := ""
	for _, row := range feed.Results {
		seen[row.ID]++
		if row.Seq <= last {
			t.Fatalf("sequence %s comes after %s", row.Seq, last)
		}
		last = row.Seq
	}
	for _, city := range all {
		if seen[city.ID] != 1 {
			t.Fatalf("%s is %d times in the feed", city.ID, seen[city.ID])
		}
	}
	var again changes
	c.into("/cities/_changes", &again)
	if encode(t, again) != encode(t, feed) {
		t.Error("two reads of the feed of a quiet database differ")
	}

	// A read from a saved sequence returns only what came after it.
	saved := feed.LastSeq
	listener := c.stream("/cities/_changes?feed=continuous&heartbeat=1000&since=" + saved)
	defer listener.Close()
	edited := all[1000]
	var doc map[string]any
	c.into("/cities/"+edited.ID, &doc)
	doc["visited"] = true
	rev := c.object("PUT", "/cities/"+edited.ID, encode(t, doc))["rev"].(string)
	c.ok("PUT", "/cities/atlantis", `{"name":"Atlantis"}`)
	gone := c.object("GET", "/cities/atlantis", "")["_rev"].(string)
	c.ok("DELETE", "/cities/atlantis?rev="+gone, "")
	var after changes
	c.into("/cities/_changes?since="+saved, &after)
	if len(after.Results) != 2 || after.Results[0].ID != edited.ID || after.Results[0].Changes[0].Rev != rev ||
		after.Results[1].ID != "atlantis" || !after.Results[1].Deleted {
		t.Errorf("since %s: %+v", saved, after)
	}
	var none changes
	c.into("/cities/_changes?since="+after.LastSeq, &none)
	if len(none.Results) != 0 || none.LastSeq != after.LastSeq {
		t.Errorf("at the end: %+v", none)
	}
	// The view has the edit at once.
	var fresh viewAnswer
	c.ok("PUT", "/cities/"+edited.ID,
		encode(t, map[string]any{"_rev": rev, "name": "Renamed-" + edited.Name, "country": edited.Country}))
	c.into("/cities/_design/by/_view/name?key="+url.QueryEscape(encode(t, "Renamed-"+edited.Name)), &fresh)
	if len(fresh.Rows) != 1 || fresh.Rows[0].ID != edited.ID {
		t.Errorf("the view shows %+v after the edit", fresh.Rows)
	}
	// The listener has seen every step, or at least the last one of each document.
	dec := json.NewDecoder(listener)
	met := map[string]bool{}
	for !met[edited.ID] || !met["atlantis deleted"] {
		var row change
		if err := dec.Decode(&row); err != nil {
			t.Fatalf("the continuous feed: %v, after %v", err, met)
		}
		met[row.ID] = true
		if row.Deleted {
			met[row.ID+" deleted"] = true
		}
	}
}

func citiesSync(t *testing.T, p *process, all []city) {
	const country = "IS"
	count := 0
	for _, city := range all {
		if city.Country == country {
			count++
		}
	}
	var seen struct {
		ByFunction, BySelector, ByIDs, Again, Pushed, Conflicts int
		Edited, Errors                                          []string
		Removed                                                 string
		Filtered                                                bool
	}
	runNode(t, "sync.js", map[string]string{"url": p.http() + "/cities", "dir": t.TempDir(), "country": country}, &seen)
	if seen.ByFunction != count || seen.BySelector != count || seen.ByIDs != 7 {
		t.Errorf("PouchDB has %d and %d cities of %s, not %d, and %d by their ids", seen.ByFunction, seen.BySelector,
			country, count, seen.ByIDs)
	}
	if seen.Again != 0 || seen.Pushed != 12 || seen.Conflicts != 1 || !seen.Filtered || len(seen.Errors) > 0 {
		t.Errorf("PouchDB saw %+v", seen)
	}
	c := p.with(t)
	for _, id := range seen.Edited {
		if note := c.object("GET", "/cities/"+id, "")["note"]; note != "edited in PouchDB — ✓ Ωλ" {
			t.Errorf("%s says %v", id, note)
		}
	}
	if r := c.do("GET", "/cities/"+seen.Removed, ""); r.status != 404 || !bytes.Contains(r.body, []byte(`"deleted"`)) {
		t.Errorf("%s: %d %s", seen.Removed, r.status, r.body)
	}
	if text := c.do("GET", "/cities/pouch-new/a.txt", "").body; string(text) != "hello" {
		t.Errorf("the attachment is %q", text)
	}
	if n := c.object("GET", "/cities/live-pouch", "")["n"]; fmt.Sprint(n) != "2" {
		t.Errorf("live-pouch: %v", n)
	}
}

func everydayNano(t *testing.T, p *process) {
	var seen struct {
		View       [][2]any
		List       []string
		Fetched    []any
		Attachment string
		Head, Rev  string
		Changes    int
		Count      int
		Feed       []string
	}
	runNode(t, "nano.js", map[string]string{"url": p.http(), "db": "nano"}, &seen)
	want := `{[[5 b5] [6 b6] [7 b7]] [_design/d b0 b1] [1 not_found] hello "` + seen.Rev + `" ` + seen.Rev +
		` 5 22 [f1 f2]}`
	if got := fmt.Sprint(seen); got != want {
		t.Errorf("nano saw\n%s\nwant\n%s", got, want)
	}
}

// The supervision tree is live, and the dashboard is served.
func actorsShow(t *testing.T, p *process) {
	c := p.with(t)
	tree := string(c.do("GET", "/_actors", "").body)
	for _, want := range []string{`"kind":"node"`, `"kind":"databases"`, p.ready["name"]} {
		if !strings.Contains(tree, want) {
			t.Errorf("no %s in the tree %s", want, tree)
		}
	}
	page := c.do("GET", "/_dashboard/", "")
	if page.status != 200 || !strings.HasPrefix(page.header.Get("Content-Type"), "text/html") {
		t.Errorf("the dashboard: %d %s", page.status, page.header.Get("Content-Type"))
	}
	var members struct{ Members []map[string]any }
	c.into("/_members", &members)
	if len(members.Members) != 1 || members.Members[0]["http"] != p.ready["http"] ||
		members.Members[0]["status"] != "alive" {
		t.Errorf("members %v", members)
	}
}

func citiesRestart(t *testing.T, p *process, all []city) {
	var before changes
	p.with(t).into("/cities/_changes?limit=100000", &before)
	p.t = t
	p.stop(syscall.SIGTERM)
	again := launch(t, t.TempDir(), append([]string{"-data", p.ready["data"]}, freePorts...)...)
	again.waitReady()
	var after changes
	c := again.with(t)
	c.into("/cities/_changes?limit=100000", &after)
	if encode(t, before.Results) != encode(t, after.Results) {
		t.Error("the feed differs after a restart")
	}
	var got viewAnswer
	c.into("/cities/_design/by/_view/country?key=%22NO%22&limit=1&update=false", &got)
	if got.TotalRows < len(all)-10 {
		t.Errorf("the index has %d rows after a restart", got.TotalRows)
	}
	again.stop(syscall.SIGTERM)
}
