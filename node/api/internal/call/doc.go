// Package call is what a handler sees of an HTTP request: its path, parameters, user, database and body, and the ways
// to answer it. Everything that can be long is written row by row through a Stream; nothing collects a whole answer.
// What a request asks for is its endpoint's business.
package call
