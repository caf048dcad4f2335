// Package fault gives errors their HTTP form: a status, and CouchDB's name and reason. It is the only place where a
// kind of layer.Error becomes a status. Package call writes the response.
package fault
