package node

import (
	"net/http"

	"github.com/divandb/divan/node/console/page"
)

// pageAt is the address of the console's page, and pageAPI that of what it shows.
const (
	pageAt  = "/_dashboard/"
	pageAPI = "/_dashboard/api"
	// pageCouch is where the page finds CouchDB's API.
	pageCouch = "/_dashboard/couch/"
)

// page returns the console's page and what it reads.
func (n *Node) page() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(pageAPI+"/", withConnection(n.console.Handler(pageAPI)))
	mux.Handle(pageAt, page.Handler(pageAt))
	mux.Handle("GET /_dashboard", http.RedirectHandler(pageAt, http.StatusMovedPermanently))
	return mux
}
