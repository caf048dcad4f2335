// Package fault gives errors their HTTP form: a status, and CouchDB's name and reason. It is the one place where a kind
// of layer.Error becomes a status; who answers with it is package call.
package fault
