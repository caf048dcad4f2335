// Package fdb is the engine for more than one machine: FoundationDB through Apple's own Go binding (clause S3). The contract of
// layer/kv is FoundationDB's, so this package is thin: it maps futures to futures, contexts to cancellation, and the client's error codes and
// predicates to kv.Error.
//
// It needs cgo and the FoundationDB client library, and is compiled only with the build tag fdb. Without the tag, Open says how to get it.
package fdb

import "time"

// Options of the engine.
type Options struct {
	// ClusterFile is the path of fdb.cluster; empty is the client's default.
	ClusterFile string
	// Timeout bounds every transaction, so that a cluster that cannot be reached is an error and not a hang. 0 means 10 s.
	Timeout time.Duration
	// MaxWatches bounds the watches that wait at once in this process. 0 means 100,000; the client's own default is 10,000.
	MaxWatches int
	// TraceDir, where set, makes the client write its trace logs there.
	TraceDir string
	// Tag, where set, marks every transaction, so that the cluster's operator can see Divan's load apart and throttle it. 16 bytes at most.
	Tag string
	// TLSCert, TLSKey and TLSCA are files for a cluster that speaks TLS.
	TLSCert, TLSKey, TLSCA string
}
