package page_test

import (
	"strings"
	"testing"

	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/scripts/browser"
)

// The table of nodes is sorted by a click on a column, and the address says how.
func TestPage_sortedNodes(t *testing.T) {
	api := answers()
	node := func(name, st string, memory float64) state.Node {
		return state.Node{Name: name, State: st, Text: "it " + st, Report: state.Report{Now: map[string]float64{
			"resident": memory}}}
	}
	api["nodes"] = map[string]any{"nodes": []state.Node{node("n1", "ok", 3e6), node("n2", "unavailable", 40e6),
		{Name: "n3", State: "gone"}, node("n4", "ok", 5e6)}}
	url, _, _ := flaky(t, api)
	b := browser.Start(t)
	p := b.Open(url+"/_dashboard/#/nodes", browser.View{})
	defer p.Close()
	shows := func(p *browser.Page, want string) {
		t.Helper()
		p.Wait(`[...document.querySelectorAll('td[data-name=Node]')].map(td => td.innerText).join(' ') === ` +
			quoted(want))
	}
	shows(p, "n1 n2 n3 n4")
	p.Wait(`[...document.querySelectorAll('td .bad')].map(e => e.innerText).join() === 'it unavailable'`)
	for _, c := range []struct{ column, want, order string }{
		{"Memory", "n2 n4 n1 n3", "descending"}, {"Memory ▾", "n3 n1 n4 n2", "ascending"},
		{"State", "n3 n1 n4 n2", "ascending"}, {"Node", "n1 n2 n3 n4", "ascending"},
		{"Node ▴", "n4 n3 n2 n1", "descending"}} {
		p.Eval(click(c.column), nil)
		shows(p, c.want)
		title, _, _ := strings.Cut(c.column, " ")
		var order string
		p.Eval(`[...document.querySelectorAll('th')].find(th => th.innerText.startsWith('`+title+
			`')).getAttribute('aria-sort')`, &order)
		if order != c.order {
			t.Errorf("after %q the column is %q", c.column, order)
		}
	}
	var there string
	p.Eval("location.href", &there)
	other := b.Open(there, browser.View{})
	defer other.Close()
	shows(other, "n4 n3 n2 n1")
}

// On a phone too, the feeds of a shard on two nodes differ.
func TestPage_feedCards(t *testing.T) {
	api := answers()
	var rows []state.Shard
	for _, node := range []string{"n1", "n2"} {
		rows = append(rows, state.Shard{Node: node, Database: "orders", Shard: "3", Owner: "n3", State: "following"})
	}
	api["shards"] = map[string]any{"rows": rows, "total": 2}
	url, _, _ := flaky(t, api)
	p := browser.Start(t).Open(url+"/_dashboard/#/feeds", browser.View{Width: 360, Height: 740})
	defer p.Close()
	for _, width := range []int{360, 901, 1024, 1100} {
		p.Resize(width, 740)
		p.Wait(`[...document.querySelectorAll('td[data-name="Listened to on"]')].map(td =>
			td.innerText.trim()).join()` +
			` === 'n1,n2' && document.querySelector('td[data-name="Listened to on"]').offsetHeight > 0`)
		fits(t, p, "feeds", width)
	}
}
