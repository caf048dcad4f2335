// Package fault has the errors that the edges tell clients: a kind, a name and a reason. Errors of an engine that reach
// an edge get a kind here too. Which status or SQLSTATE a kind has is for the edges to say.
package fault
