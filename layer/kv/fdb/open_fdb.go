//go:build fdb

package fdb

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/divandb/divan/layer/kv"
)

// Available tells whether this binary has the engine.
const Available = true

// apiVersion of the client library: the newest whose behaviour this package was tested with.
const apiVersion = 730

// network starts the client's network thread at most once in a process; its options are those of the first Open.
var network struct {
	once sync.Once
	err  error
}

type engine struct {
	db     fdb.Database
	ctx    context.Context // ends with the engine
	cancel context.CancelFunc
	// pending counts watches and transactions whose goroutines Close waits for.
	pending sync.WaitGroup
	closed  atomic.Bool
}

// Open connects to a cluster. It does not wait for the cluster to answer: the first transaction does, within Options.Timeout.
func Open(o Options) (kv.Engine, error) {
	network.once.Do(func() { network.err = startNetwork(o) })
	if network.err != nil {
		return nil, fmt.Errorf("FoundationDB client: %w", network.err)
	}
	db, err := fdb.OpenDatabase(o.ClusterFile)
	if err != nil {
		return nil, fmt.Errorf("cluster file %q: %w", o.ClusterFile, err)
	}
	timeout, watches := o.Timeout, o.MaxWatches
	if timeout == 0 {
		timeout = defaultTimeout
	}
	if watches == 0 {
		watches = defaultMaxWatches
	}
	options := db.Options()
	for _, err := range []error{
		options.SetTransactionTimeout(timeout.Milliseconds()),
		options.SetMaxWatches(int64(watches)),
		options.SetTransactionSizeLimit(kv.MaxTransactionSize),
	} {
		if err != nil {
			return nil, fmt.Errorf("FoundationDB database options: %w", err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &engine{db: db, ctx: ctx, cancel: cancel}, nil
}

func startNetwork(o Options) error {
	if err := fdb.APIVersion(apiVersion); err != nil {
		return err
	}
	options := fdb.Options()
	for _, set := range []struct {
		value string
		to    func(string) error
	}{
		{o.TraceDir, options.SetTraceEnable},
		{o.TLSCert, options.SetTLSCertPath},
		{o.TLSKey, options.SetTLSKeyPath},
		{o.TLSCA, options.SetTLSCaPath},
	} {
		if set.value == "" {
			continue
		}
		if err := set.to(set.value); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) Name() string { return "fdb" }

// Close ends what is under way. The client's network thread lives as long as the process: the client cannot start it twice.
func (e *engine) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	e.cancel()
	e.pending.Wait()
	e.db.Close()
	return nil
}

func (e *engine) Begin(ctx context.Context) kv.Transaction {
	t := &transaction{engine: e, ctx: ctx}
	if e.closed.Load() {
		t.failed = kv.NewError(kv.CodeCancelled, "the store is closed", nil)
		return t
	}
	tr, err := e.db.CreateTransaction()
	if err != nil {
		t.failed = convert(ctx, err)
		return t
	}
	t.tr = tr
	// A context that ends cancels the transaction, and with it every future of it that somebody waits for.
	t.unhook = []func() bool{context.AfterFunc(ctx, tr.Cancel), context.AfterFunc(e.ctx, tr.Cancel)}
	return t
}
