// Package api is CouchDB 3.5's HTTP API over the layer. It routes requests to endpoints, which are grouped in packages
// below internal, and decides who may ask what. docs/http.md describes how the answers differ from CouchDB's,
// and docs/guides/pouchdb.md what that means for an application.
//
// Reading order: server.go (what happens to every request), routes.go (the table of all endpoints), access.go. Then
// what every handler uses: internal/call (the request and its response), internal/fault (the one place where an error
// becomes a status and a name), internal/intake (bodies, within a memory budget), internal/encode and internal/decode
// (JSON). Then the endpoints:
//
//   - internal/docs: documents, their attachments and revisions, one or many at a time
//   - internal/rows: lists of documents, views, the state of indexes
//   - internal/feeds: changes, filters, shards
//   - internal/databases: databases as a whole, security, limits, compaction, export and import
//   - internal/server: this node and the cluster, probes, sessions, metrics, backups
//   - internal/settings: options that clients read and change, CORS
//
// Each of these packages has a type Handlers with what it needs of the node. The methods that answer an endpoint take
// the call and return an error. What needs only the call is a function that takes it as its first argument.
package api
