// Package layer is the document database: databases, documents, revisions, changes, shards, views, jobs, attachments,
// local documents and security over a kv.Engine. It knows nothing of HTTP, SQL, actors or which engine it runs on.
//
// What it does lies in the rooms below internal, each of which adds its methods to a store, a database or an index
// (handles.go). ARCHITECTURE.md says what is where, docs/clauses.md what is promised, and by which test.
//
// Truth lives in the store's transactions. What a Store or Database keeps in memory is a cache that every transaction
// checks against the store's metadata version and the database's stamp (keyspace.Stamp).
package layer
