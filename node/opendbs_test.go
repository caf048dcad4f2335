package node

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/tuple"
)

// A database that cannot be read, because of an invalid row or a damaged block, does not keep the watch from checking
// the others, and is checked again.
func TestOpenDatabases_oneIsBroken(t *testing.T) {
	for name, damaged := range map[string]bool{"an invalid row": false, "a damaged block": true} {
		t.Run(name, func(t *testing.T) { testOneIsBroken(t, damaged) })
	}
}

func testOneIsBroken(t *testing.T, damaged bool) {
	below, err := embedded.Open(t.TempDir(), embedded.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer below.Close()
	engine := faultkv.NewDamaged(below)
	open := func() *layer.Store {
		store, err := layer.Open(t.Context(), engine, layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		return store
	}
	made := open()
	var broken int64
	for _, name := range []string{"a", "b", "c"} {
		d, err := made.Create(t.Context(), name, layer.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if name == "b" {
			broken = d.Number()
		}
	}
	key := tuple.Tuple{int64(keyspace.Data), broken, int64(keyspace.Config), "incarnation"}.Pack()
	write := func(change func(tx kv.Transaction)) {
		t.Helper()
		_, _, err := kv.Transact(t.Context(), engine, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			change(tx)
			return struct{}{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	mend := func() { write(func(tx kv.Transaction) { tx.Clear(key) }) }
	if damaged {
		settings := tuple.Tuple{int64(keyspace.Data), broken, int64(keyspace.Config)}.Pack()
		engine.Damage(kv.KeyRange{Begin: settings, End: append(settings[:len(settings):len(settings)], 0xff)})
		mend = func() { engine.Damage(kv.KeyRange{}) }
	} else {
		write(func(tx kv.Transaction) { tx.Set(key, []byte("no number")) })
	}
	o := &openDatabases{store: open(), closed: func() bool { return true }, log: slog.New(slog.DiscardHandler)}
	if err := o.all(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "c"}; !slices.Equal(o.list(), want) || !slices.Equal(o.unread, []string{"b"}) {
		t.Errorf("open: %q, unread: %q", o.list(), o.unread)
	}
	mend()
	if err := o.known(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "c"}; !slices.Equal(o.list(), want) || len(o.unread) != 0 {
		t.Errorf("later open: %q, unread: %q", o.list(), o.unread)
	}
}
