// Package page serves the console's page: one HTML file, one style and a module for each view, all embedded. What the
// page shows is answered by package console; this package knows nothing of it.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
)

//go:embed index.html style.css js
var files embed.FS

// policy allows a browser to run and load only what this package serves.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the page at a prefix such as "/_dashboard/", and its parts below. Other paths are 404. The caller
// decides who may see it.
func Handler(prefix string) http.Handler {
	mux := http.NewServeMux()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		at := prefix + name
		if name == "index.html" {
			at = prefix + "{$}"
		}
		mux.Handle("GET "+at, file(name, content))
		return nil
	})
	if err != nil {
		panic(err) // the files are part of the binary
	}
	return mux
}

// file serves one file. Browsers ask each time whether it has changed.
func file(name string, content []byte) http.Handler {
	sum := sha256.Sum256(content)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	kind := mime.TypeByExtension(path.Ext(name))
	if path.Ext(name) == ".js" {
		kind = "text/javascript; charset=utf-8" // whatever the system's table says
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = w.Write(content) // the browser disconnected
	})
}
