// Package fdb is the engine for more than one machine: FoundationDB through Apple's own Go binding (clause S3). The
// contract of layer/kv is FoundationDB's, so this package is thin: it maps futures to futures, contexts to
// cancellation, and the client's error codes and predicates to kv.Error.
//
// It needs cgo and the FoundationDB client library, and is compiled only with the build tag fdb. Without the tag, Open
// says how to get it.
package fdb

import "time"

// Options are the options of Open.
type Options struct {
	// ClusterFile is the path of fdb.cluster; empty means the client's default.
	ClusterFile string
	// Timeout bounds every transaction, so that an unreachable cluster causes an error instead of a hang. 0 means 10
	// s.
	Timeout time.Duration
	// RetryLimit bounds the attempts of a transaction; 0 leaves the bound to its context.
	RetryLimit int
	// AutomaticIdempotency makes the client give every commit an id that the cluster remembers, so that fewer results
	// are unknown. As of 7.3 the client's authors call it in development, and nothing here depends on it: unknown
	// results are looked up (kv.TransactOptions.TransactionID).
	AutomaticIdempotency bool
	// MaxWatches bounds the unfinished watches of this process. 0 means 100,000; the client's own default is 10,000.
	MaxWatches int
	// TraceDir, if set, is an existing directory for the client's trace logs.
	TraceDir string
	// ClientLibraries, if set, is a directory with client libraries of other versions, so that the cluster can be
	// upgraded under a running node.
	ClientLibraries string
	// Tag, if set, marks every transaction, so that the cluster's operator can distinguish and throttle Divan's load.
	// At most 16 bytes.
	Tag string
	// TLSCert, TLSKey and TLSCA are PEM files for a cluster that uses TLS. TLSPassword decrypts the key;
	// TLSVerifyPeers is FoundationDB's rule for acceptable peer certificates, such as Check.Valid=1,S.CN=db.
	TLSCert, TLSKey, TLSCA, TLSPassword, TLSVerifyPeers string
}
