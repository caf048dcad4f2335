// Package functions answers for the functions of design documents that make responses: _show, _list, _update and
// _rewrite. Package layer/script runs them; what they may do to a request is decided here. CouchDB 3.5 is the model
// (docs/http.md has the differences).
package functions
