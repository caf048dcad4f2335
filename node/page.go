package node

import (
	"io/fs"
	"net/http"
	"os"

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

// utils returns the files for /_utils/, or nil if no directory is set. They cannot be outside of it.
func (n *Node) utils() fs.FS {
	dir := n.cfg.HTTP.Utils
	if dir == "" {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		n.log.Error("the files for /_utils cannot be served", "error", err)
		return nil
	}
	return root.FS()
}
