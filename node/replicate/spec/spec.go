package spec

import (
	"encoding/json"
	"time"
)

// Spec describes a replication. It holds passwords, so it must not be logged or shown.
type Spec struct {
	Source, Target Endpoint
	Options
	Filter Filter
	// Cancel ends a replication instead of starting one. CancelID, unless empty, is its id; then there are no
	// endpoints.
	Cancel   bool
	CancelID string
}

// Options are the members that do not say what is replicated, but for create_target and continuous, how.
type Options struct {
	Continuous         bool
	CreateTarget       bool
	CreateTargetParams []Param // for the query of the PUT that creates the target
	Moves              bool    // the target does not validate the documents; for divan import-couchdb
	WinningRevsOnly    bool
	UseCheckpoints     bool
	UseBulkGet         bool
	SinceSeq           json.RawMessage // nil: continue from the checkpoint
	CheckpointInterval time.Duration
	WorkerProcesses    int
	WorkerBatchSize    int
	HTTPConnections    int
	// ConnectionTimeout is how long the other side may be silent.
	ConnectionTimeout time.Duration
	RetriesPerRequest int
}

// Param is a parameter of a query.
type Param struct{ Name, Value string }

// FilterKind is a kind of Filter.
type FilterKind int

const (
	Everything FilterKind = iota
	DocIDs                // doc_ids
	Selector              // selector
	Builtin               // filter: _view, _design or another name that begins with an underscore
	Function              // filter: designname/filtername
)

// Filter restricts a replication to some documents.
type Filter struct {
	Kind     FilterKind
	IDs      []string        // DocIDs: sorted, without duplicates
	Selector json.RawMessage // Selector: as it was given
	Name     string          // Builtin and Function: as it was given
	// Design and Function are the parts of the name of a Function. The design document is without _design/.
	Design, Function string
	// QueryParams is the object as it was given, {} if there was none. Params are its members as text.
	QueryParams json.RawMessage
	Params      []Param
}

// Defaults are the values of options that a replication does not name.
type Defaults struct {
	Options
	// Protocols are the protocols that URLs of endpoints may have, ProxyProtocols those of proxies.
	Protocols, ProxyProtocols []string
}

// Standard returns CouchDB's defaults.
func Standard() Defaults {
	return Defaults{
		Options: Options{
			UseCheckpoints: true, UseBulkGet: true, CheckpointInterval: 30 * time.Second, WorkerProcesses: 4,
			WorkerBatchSize: 500, HTTPConnections: 20, ConnectionTimeout: 30 * time.Second, RetriesPerRequest: 5,
		},
		Protocols: []string{"http", "https"}, ProxyProtocols: []string{"http", "https", "socks5"},
	}
}

// Error is what is wrong with a replication. Status and Name are what CouchDB answers to POST /_replicate.
type Error struct {
	Status       int
	Name, Reason string
}

func (e *Error) Error() string { return e.Reason }

func bad(reason string) error { return &Error{400, "bad_request", reason} }

func wrong(reason string) error { return &Error{500, "error", reason} }

func badURL(what string) error {
	return &Error{400, "invalid_replication", what + " has an invalid url"}
}
