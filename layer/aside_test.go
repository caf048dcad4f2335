package layer_test

import (
	"fmt"
	"testing"

	"github.com/divandb/divan/layer"
)

// A Store aside reads what is there now, and adds nothing to what the other Store has in memory.
func TestStore_Aside(t *testing.T) {
	engine := mustEngine(t)
	writer := openViewStore(t, engine)
	const databases = 80
	for i := range databases {
		d := mustCreate(t, writer, fmt.Sprintf("db%03d", i), layer.CreateOptions{})
		put(t, d, `{"_id":"_design/d","views":{"v":{"map":"function (doc) { emit(1) }"}}}`)
	}
	s := openBeside(t, engine)
	aside := s.Aside()
	designs := func(name string) (n int, err error) {
		d, err := aside.Database(t.Context(), name)
		if err != nil {
			return 0, err
		}
		list, err := d.Designs(t.Context())
		for _, of := range list {
			if _, err := d.Index(of).State(t.Context()); err != nil {
				return 0, err
			}
		}
		return len(list), err
	}
	read := 0
	for name, err := range aside.Names(t.Context(), layer.NamesOptions{Limit: -1}) {
		if err != nil {
			t.Fatal(err)
		}
		if n, err := designs(name); n != 1 || err != nil {
			t.Fatalf("%s: %d, %v", name, n, err)
		}
		read++
	}
	if read != databases {
		t.Errorf("%d databases were read", read)
	}
	if all, kept := s.Known.Count(); all != 0 || kept != 0 {
		t.Errorf("%d and %d databases are in memory", all, kept)
	}
	if _, kept := aside.Known.Count(); kept > 64 {
		t.Errorf("%d databases are in memory aside", kept)
	}
	// What the other store has in memory, and what has changed since, makes no difference.
	for _, name := range []string{"db000", "db079"} {
		d, err := s.Database(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Designs(t.Context()); err != nil {
			t.Fatal(err)
		}
		put(t, d, `{"_id":"_design/e","views":{"v":{"map":"function (doc) { emit(2) }"}}}`)
		if n, err := designs(name); n != 2 || err != nil {
			t.Errorf("%s, changed: %d, %v", name, n, err)
		}
		if err := writer.Delete(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if n, err := designs(name); layer.KindOf(err) != layer.NotFound {
			t.Errorf("%s, deleted: %d, %v", name, n, err)
		}
		mustCreate(t, writer, name, layer.CreateOptions{})
		if n, err := designs(name); n != 0 || err != nil {
			t.Errorf("%s, created again: %d, %v", name, n, err)
		}
	}
}
