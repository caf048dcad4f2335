// Package call represents an HTTP request to its handler: path, parameters, user, database and body, and the ways to
// answer it. Everything that can be long is written row by row through a Stream, so no response is held in memory as a
// whole. It does not know what endpoints do.
package call
