// Package settings keeps the CouchDB-style options that clients read and change while the node runs, and answers for
// them. The rules of CORS are made of them. Settings of node.yaml that nobody changes over HTTP are node/config's.
package settings
