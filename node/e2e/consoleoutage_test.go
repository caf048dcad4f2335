package e2e_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/divandb/divan/scripts/browser"
)

// While the store does not answer, the console says so, the browser has nothing to complain about, and every view is up
// to date again by itself.
func TestConsole_Outage(t *testing.T) {
	needEmbedded(t)
	mostlyWaits(t)
	b := browser.Start(t)
	dir, store := t.TempDir(), freeAddr(t)
	holder := nodeWith(t, filepath.Join(dir, "holder"),
		fmt.Sprintf("{engine: embedded, listen: '%s', secret: 'a shared secret'}", store))
	node := nodeWith(t, filepath.Join(dir, "other"),
		fmt.Sprintf("{engine: remote, address: '%s', secret: 'a shared secret', timeout: %v}", store, storePatience))
	c := node.as("")
	c.ok("PUT", "/orders", "")
	c.ok("PUT", "/orders/o1", `{"text":"first"}`)
	c.ok("POST", "/orders/_changes/_reshard", `{"shard_count":2}`)
	views := map[string]string{"": "1 database", "databases": "orders", "databases/orders": "History of the changes shards",
		"databases/orders/docs": "first", "databases/orders/doc/o1": "this one", "sql/orders": "docs id text", "storage": "remote",
		"jobs": "in all", "databases/orders/failures/_design%2Fnone": "missing"}
	pages := map[string]*browser.Page{}
	suspend(t, holder.cmd.Process)
	for view := range views {
		pages[view] = b.Open(node.http()+"/_dashboard/#/"+view, browser.View{})
	}
	for view, p := range pages {
		t.Run("lost, "+view, func(t *testing.T) {
			p.WaitText("no node reaches its store")
			p.Eval(`document.querySelectorAll('#view details').forEach(d => { d.open = true })`, nil)
			well(t, p)
		})
	}
	resume(t, holder.cmd.Process)
	for view, p := range pages {
		t.Run("back, "+view, func(t *testing.T) {
			p.WaitText("all is well")
			p.WaitText(views[view])
			p.WaitText("live ●")
			well(t, p)
		})
	}
}
