// Package settings keeps the CouchDB options that clients read and change while the node runs, and answers requests for
// them. It also derives the CORS rules from them. Settings that only node.yaml can change are in node/config.
package settings
