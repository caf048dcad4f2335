// Package api is CouchDB 3.5's HTTP API over the layer (docs/clauses.md, "HTTP"). It parses requests, asks the layer, and
// renders answers as CouchDB words them; it decides nothing about documents.
//
// Reading order: server.go (what happens to every request), routes.go (the table), request.go (what a handler sees), then one file per family
// of endpoints. errors.go is the one place where an error becomes a status and a name. Everything that can be long is written row by row
// through stream.go; nothing collects a whole answer.
package api
