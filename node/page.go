package node

import (
	"io/fs"
	"log/slog"
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

// utils returns the files for /_utils/ in a directory, or nil if none is named. They cannot be outside of it.
func utils(dir string, log *slog.Logger) fs.FS {
	if dir == "" {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		log.Error("the files for /_utils cannot be served", "error", err)
		return nil
	}
	return root.FS()
}
