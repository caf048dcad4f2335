//go:build fdb

package fdb

import (
	"fmt"
	"os"
	"sync"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/divandb/divan/layer/kv"
)

// apiVersion of the client library: the newest whose behaviour this package was tested with.
const apiVersion = 730

// handle is the client's database, shared by all engines of the process on one cluster file: the binding keeps one for each file, and closing it
// for one engine would take it from the others.
type handle struct {
	db   fdb.Database
	file string
	uses int // guarded by clients.mu
}

// clients is the process's client: the network thread starts with the first handle and lives as long as the process.
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
	if o.ClusterFile != "" { // the client would look for it with the first transaction only
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

func (h *handle) release() {
	clients.mu.Lock()
	defer clients.mu.Unlock()
	if h.uses--; h.uses == 0 {
		delete(clients.byFile, h.file)
		h.db.Close()
	}
}

// prepareNetwork sets what must be set before the network thread starts. The client's automatic idempotency is not among it: 7.3 calls it in
// development and not ready for use, and layer finds unknown results by its own transaction ids (clause C4).
func prepareNetwork(o Options) error {
	if err := fdb.APIVersion(apiVersion); err != nil {
		return err
	}
	options := fdb.Options()
	for _, set := range []struct {
		name, value string
		to          func(string) error
	}{
		{"trace directory", o.TraceDir, options.SetTraceEnable},
		{"TLS certificate", o.TLSCert, options.SetTLSCertPath},
		{"TLS key", o.TLSKey, options.SetTLSKeyPath},
		{"TLS authority", o.TLSCA, options.SetTLSCaPath},
	} {
		if set.value == "" {
			continue
		}
		if err := set.to(set.value); err != nil {
			return fmt.Errorf("%s %q: %w", set.name, set.value, err)
		}
	}
	return nil
}
