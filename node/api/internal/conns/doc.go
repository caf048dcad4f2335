// Package conns bounds the connections of an HTTP server: how many there are, and at which pace their clients have to
// read. It does not know what is asked on them.
package conns
