// Package fdb is the engine for more than one machine: FoundationDB through Apple's own Go binding (clause S3). The
// contract of layer/kv is FoundationDB's, so this package is thin: it maps futures to futures, contexts to
// cancellation, and the client's error codes and predicates to kv.Error.
//
// It needs cgo and the FoundationDB client library, and is compiled only with the build tag fdb. Without the tag, Open
// says how to get it.
package fdb

import "time"

// Options of the engine.
type Options struct {
	// ClusterFile is the path of fdb.cluster; empty is the client's default.
	ClusterFile string
	// Timeout bounds every transaction, so that a cluster that cannot be reached is an error and not a hang. 0 means 10
	// s.
	Timeout time.Duration
	// RetryLimit bounds the attempts of a transaction; 0 is no bound but its context.
	RetryLimit int
	// AutomaticIdempotency lets the client give every commit an id that the cluster remembers, so that fewer results
	// are unknown. The client's authors call it in development as of 7.3, and nothing here depends on it: unknown
	// results are looked up (kv.TransactOptions.TransactionID).
	AutomaticIdempotency bool
	// MaxWatches bounds the watches that wait at once in this process. 0 means 100,000; the client's own default is
	// 10,000.
	MaxWatches int
	// TraceDir, where set, makes the client write its trace logs there. It has to exist.
	TraceDir string
	// ClientLibraries, where set, is a directory with client libraries of other versions, so that the cluster can be
	// upgraded under a running node.
	ClientLibraries string
	// Tag, where set, marks every transaction, so that the cluster's operator can see Divan's load apart and throttle
	// it. 16 bytes at most.
	Tag string
	// TLSCert, TLSKey and TLSCA are PEM files for a cluster that speaks TLS. TLSPassword opens the key; TLSVerifyPeers
	// is FoundationDB's rule for whose certificates are good, such as Check.Valid=1,S.CN=db.
	TLSCert, TLSKey, TLSCA, TLSPassword, TLSVerifyPeers string
}
