package layer_test

import (
	"fmt"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/script"
)

// A build knows where it begins and where it ends after one transaction, or after two if the feed has to be cut,
// because the sequence of a cut is known only after the transaction that makes it. Only purges take more.
func TestStartBuild_transactions(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	for _, snapshots := range []bool{true, false} {
		t.Run(fmt.Sprintf("snapshots=%t", snapshots), func(t *testing.T) {
			below := mustEngine(t)
			counted := &snapshotCosts{costEngine{Engine: below}}
			engine, one := kv.Engine(counted), int64(1)
			if s, ok, err := kv.OpenSnapshot(t.Context(), below); err != nil {
				t.Fatal(err)
			} else if ok {
				s.Close()
			} else if snapshots {
				t.Skip("the engine holds none")
			}
			if !snapshots {
				engine, one = &counted.costEngine, 2
			}
			sandbox := script.New(script.Options{})
			defer sandbox.Close()
			store, err := layer.Open(t.Context(), engine, layer.Options{Scripts: sandbox})
			if err != nil {
				t.Fatal(err)
			}
			db := mustCreate(t, store, "db", layer.CreateOptions{Shards: 2})
			if err := store.Close(); err != nil { // no background transactions while counting
				t.Fatal(err)
			}
			loadCities(t, db, 100)
			save(t, db, `{"_id":"_design/d","views":{"n":{"map":"function(doc) { emit(doc.name); }"}}}`)
			ix := db.Index(mustDesign(t, db, "d"))
			token := int64(0)
			start := func(what string, share, want int64) {
				t.Helper()
				counted.forget()
				token++
				b, err := ix.StartSharedBuild(t.Context(), token, share)
				if err != nil {
					t.Fatal(err)
				}
				defer b.Close()
				if n := counted.transactions.Load(); n != want {
					t.Errorf("%s: %d transactions, want %d", what, n, want)
				}
			}
			start("a first build", 0, one)
			start("one that takes over", 0, 1) // with the cut of the one before
			build(t, ix, 10, 100)
			token = 10
			save(t, db, `{"_id":"new","name":"x"}`)
			start("a later build", 0, one)
			build(t, ix, 20, 100)
			token = 20
			purge(t, db, "new")
			start("one after a purge", 0, one+1)
			save(t, db, `{"_id":"_design/d","views":{"n":{"map":"function(doc) { emit(doc.name, 1); }"}}}`)
			ix = db.Index(mustDesign(t, db, "d"))
			start("a shared build", 10, 2)
		})
	}
}
