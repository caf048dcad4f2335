// Package layer is the document database: databases, documents, revisions, changes, shards, views, jobs, attachments,
// local documents and security, on a kv.Engine. It knows nothing about HTTP, SQL, actors or the engine that it runs on.
//
// It is implemented by the packages below internal, each of which adds its methods to a store, a database or an index
// (handles.go). ARCHITECTURE.md describes these packages, docs/clauses.md what is guaranteed and which test checks it.
//
// The state is in the store and changes in its transactions. What a Store or Database keeps in memory is a cache that
// every transaction checks against the store's metadata version and the database's stamp (keyspace.Stamp).
package layer
