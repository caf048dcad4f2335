package versions

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/rowcache"
)

// TestIdle: reads of the newest version use each other's iterators, also in the other direction and in other bounds.
// Afterwards none is kept, and the database closes, which fails if an iterator is open.
func TestIdle(t *testing.T) {
	db, err := pebble.Open("", &pebble.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c", "d"} {
		if err := db.Set([]byte(key), []byte("1"), nil); err != nil {
			t.Fatal(err)
		}
	}
	closer := &Closer{}
	closer.Start()
	views := &Views{}
	rows := rowcache.New(1 << 10)
	views.Publish(closer.NewView(db, rows, 1))
	first := views.mu.newest
	read := func(v *View, from, to string, reverse bool) (got string, c *cursor) {
		t.Helper()
		c, err := v.open(keys.Span{Begin: []byte(from), End: []byte(to)}, reverse, nil)
		if err != nil {
			t.Fatal(err)
		}
		for c.next() {
			got += string(c.key) + string(c.value)
		}
		if c.err != nil {
			t.Fatal(c.err)
		}
		return got, c
	}
	end := func(c *cursor) {
		t.Helper()
		if err := c.close(); err != nil {
			t.Fatal(err)
		}
	}
	var used *pebble.Iterator
	for _, q := range []struct {
		from, to, want string
		reverse        bool
	}{
		{"a", "c", "a1b1", false}, {"a", "c", "b1a1", true}, {"b", "z", "b1c1d1", false}, {"", "b", "a1", false},
		{"x", "z", "", false}, {"x", "z", "", true}, {"a", "z", "d1c1b1a1", true},
	} {
		got, c := read(first, q.from, q.to, q.reverse)
		if got != q.want {
			t.Errorf("%+v: %s", q, got)
		}
		if used != nil && c.iter != used {
			t.Error("a read did not use the idle iterator")
		}
		used = c.iter
		end(c)
	}
	var open []*cursor
	for range maxIdle + 3 {
		_, c := read(first, "a", "z", false)
		open = append(open, c)
	}
	late := open[0]
	for _, c := range open[1:] {
		end(c)
	}
	if n := len(first.idle.iters); n != maxIdle {
		t.Errorf("%d idle iterators, not %d", n, maxIdle)
	}
	if err := db.Set([]byte("a"), []byte("2"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := views.Acquire(); err != nil { // a transaction that still reads the first version
		t.Fatal(err)
	}
	views.Publish(closer.NewView(db, rows, 2))
	end(late)
	if n := len(first.idle.iters); n != 0 {
		t.Errorf("%d idle iterators of a version that is replaced", n)
	}
	for v, want := range map[*View]string{first: "a1", views.mu.newest: "a2"} {
		got, c := read(v, "a", "b", false)
		if end(c); got != want {
			t.Errorf("version %d: %s, not %s", v.Version, got, want)
		}
	}
	views.Release(first)
	views.Close()
	closer.Stop()
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
