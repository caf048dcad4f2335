//go:build fdb

package fdb

import (
	"fmt"
	"os"
	"sync"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/divandb/divan/layer/kv"
)

// apiVersion is the client's API version: the newest that this package was tested with.
const apiVersion = 730

// handle is the client's database, shared by all engines of the process with the same cluster file: the binding keeps
// one per file, and closing it for one engine would close it for the others.
type handle struct {
	db   fdb.Database
	file string
	uses int // guarded by clients.mu
}

// clients is the process's client: the network thread starts with the first handle and runs until the process ends.
var clients struct {
	mu      sync.Mutex
	started bool
	byFile  map[string]*handle
}

func openHandle(o Options) (*handle, error) {
	clients.mu.Lock()
	defer clients.mu.Unlock()
	if !clients.started {
		if err := prepareNetwork(o); err != nil {
			return nil, err
		}
		clients.started, clients.byFile = true, map[string]*handle{}
	}
	if h := clients.byFile[o.ClusterFile]; h != nil {
		h.uses++
		return h, nil
	}
	if o.ClusterFile != "" { // the client would only look for it in the first transaction
		if _, err := os.Stat(o.ClusterFile); err != nil {
			return nil, fmt.Errorf("cluster file: %w", err)
		}
	}
	db, err := fdb.OpenDatabase(o.ClusterFile)
	if err != nil {
		return nil, fmt.Errorf("cluster file %q: %w", o.ClusterFile, err)
	}
	options := db.Options()
	for _, err := range []error{
		options.SetTransactionTimeout(o.Timeout.Milliseconds()),
		options.SetMaxWatches(int64(o.MaxWatches)),
		options.SetTransactionSizeLimit(kv.MaxTransactionSize),
		retryLimit(options, o.RetryLimit),
		idempotency(options, o.AutomaticIdempotency),
	} {
		if err != nil {
			db.Close()
			return nil, fmt.Errorf("database options: %w", err)
		}
	}
	h := &handle{db: db, file: o.ClusterFile, uses: 1}
	clients.byFile[o.ClusterFile] = h
	return h, nil
}

// retryLimit sets the limit of the client's own retry loop, which the directory layer uses; kv.Transact asks the
// engine.
func retryLimit(o fdb.DatabaseOptions, attempts int) error {
	if attempts == 0 {
		return nil
	}
	return o.SetTransactionRetryLimit(int64(attempts) - 1)
}

func idempotency(o fdb.DatabaseOptions, automatic bool) error {
	if !automatic {
		return nil
	}
	return o.SetTransactionAutomaticIdempotency()
}

func (h *handle) release() {
	clients.mu.Lock()
	defer clients.mu.Unlock()
	if h.uses--; h.uses == 0 {
		delete(clients.byFile, h.file)
		h.db.Close()
	}
}

// prepareNetwork sets what must be set before the network thread starts. It checks files that the client would miss
// only later and report only in a log.
func prepareNetwork(o Options) error {
	if err := fdb.APIVersion(apiVersion); err != nil {
		return err
	}
	options := fdb.Options()
	for _, set := range []struct {
		name, value string
		file        bool // or directory
		to          func(string) error
	}{
		{"trace directory", o.TraceDir, true, options.SetTraceEnable},
		{"directory of client libraries", o.ClientLibraries, true, options.SetExternalClientDirectory},
		{"TLS certificate", o.TLSCert, true, options.SetTLSCertPath},
		{"TLS key", o.TLSKey, true, options.SetTLSKeyPath},
		{"TLS authority", o.TLSCA, true, options.SetTLSCaPath},
		{"TLS password", o.TLSPassword, false, options.SetTLSPassword},
		{"TLS rule for peers", o.TLSVerifyPeers, false, func(rule string) error {
			return options.SetTLSVerifyPeers([]byte(rule))
		}},
	} {
		if set.value == "" {
			continue
		}
		if set.file {
			if _, err := os.Stat(set.value); err != nil {
				return fmt.Errorf("%s: %w", set.name, err)
			}
		}
		if err := set.to(set.value); err != nil {
			return fmt.Errorf("%s: %w", set.name, err) // without the value, which may be the password
		}
	}
	return nil
}
