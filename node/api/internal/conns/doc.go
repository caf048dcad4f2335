// Package conns bounds the number of connections of an HTTP server, and the pace at which clients must read. It knows
// nothing of the requests on them.
package conns
