// Package fault defines the errors that are reported to clients: a kind, a name and a reason. It also assigns a kind to
// errors of the engine. HTTP and SQL map kinds to a status or an SQLSTATE.
package fault
