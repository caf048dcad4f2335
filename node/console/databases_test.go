package console_test

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/console/table"
)

// A page of 10,000 databases reads only those that it shows, unless they are sorted by what must be read.
func TestConsole_Databases(t *testing.T) {
	net, consoles, _ := cluster(2)
	p := net.parts[0]
	p.databases = 10_000
	page, err := consoles[0].Databases(t.Context(), table.Query{})
	if err != nil || page.Total != 10_000 || len(page.Rows) != 50 || p.reads.Load() != 50 || page.Partial != "" ||
		page.Rows[7].Docs == nil || page.Rows[7].Indexes == nil {
		t.Fatalf("%d of %d rows after %d reads, %v", len(page.Rows), page.Total, p.reads.Load(), err)
	}
	text, _ := json.Marshal(page)
	if len(text) > 100_000 {
		t.Errorf("a page has %d bytes", len(text))
	}
	page, err = consoles[0].Databases(t.Context(), table.Query{Sort: "docs", Desc: true, Search: "db"})
	if err != nil || *page.Rows[0].Docs != 10_006 || *page.Rows[1].Docs != 10_005 || page.Partial != "" ||
		page.Rows[0].Indexes == nil {
		t.Fatalf("the largest is %+v, %v", page.Rows[0], err)
	}
	if n := p.reads.Load(); n != 10_000 && n != 10_050 { // those that are shown again, but for the first 50
		t.Errorf("%d reads", n)
	}
	page, err = consoles[0].Databases(t.Context(), table.Query{Sort: "indexes", Desc: true})
	if err != nil || *page.Rows[49].Indexes != 6 || page.Partial != "" {
		t.Fatalf("most indexes: %+v, %v", page.Rows[49], err)
	}
	p.lost = errors.New("the store sleeps")
	if _, err := consoles[0].Databases(t.Context(), table.Query{}); !errors.Is(err, p.lost) {
		t.Error(err)
	}
	p.lost, p.slow, p.databases = nil, time.Minute, 20_000
	begin := time.Now()
	page, err = consoles[0].Databases(t.Context(), table.Query{Sort: "docs"})
	if err != nil || page.Partial == "" || time.Since(begin) > 5*time.Second {
		t.Errorf("a slow store: %q after %v, %v", page.Partial, time.Since(begin), err)
	}
}

// What an action has changed of a database is read again at once, also if it was being read meanwhile.
func TestConsole_Databases_changed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, _ := cluster(1)
		p := net.parts[0]
		p.databases, p.slow = 2, time.Second
		q := table.Query{Database: "db00001"}
		read := func(want int64) {
			t.Helper()
			before := p.reads.Load()
			if page, err := consoles[0].Databases(t.Context(), q); err != nil || len(page.Rows) != 1 || page.Partial != "" {
				t.Errorf("%+v, %v", page, err)
			}
			if n := p.reads.Load() - before; n != want {
				t.Errorf("it was read %d times, want %d", n, want)
			}
		}
		reshard := func() {
			a := console.Action{Do: "reshard", Database: "db00001", Shards: 4}
			if err := consoles[0].Act(t.Context(), "anna", a); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Millisecond)
		}
		reshard() // before it was ever read
		read(1)
		read(0)
		reshard()
		read(1)
		time.Sleep(21 * time.Second)
		time.AfterFunc(time.Second/2, reshard)
		read(1)
		read(1)
		read(0)
	})
}

// What is said of a database that any node writes is new where it is shown, and the others are not read for that.
func TestConsole_Databases_written(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, _ := cluster(2)
		p := net.parts[0]
		p.databases = 100
		written := int64(0)
		read := func(when string, q table.Query, want int64) {
			t.Helper()
			time.Sleep(2 * time.Second)
			before := p.reads.Load()
			if page, err := consoles[0].Databases(t.Context(), q); err != nil || page.Partial != "" {
				t.Errorf("%+v, %v", page, err)
			}
			if n := p.reads.Load() - before; n != want {
				t.Errorf("%s, %d databases are read, want %d", when, n, want)
			}
		}
		write := func(name string) {
			written += 3
			net.parts[1].use(name, console.Use{Writes: written})
		}
		page := table.Query{}
		read("at first", page, 50)
		read("without writes", page, 0)
		for range 3 {
			write("db00001")
			read("while one is written", page, 1)
		}
	})
	bubble(t, func(t *testing.T) {
		net, consoles, _ := cluster(2)
		p := net.parts[0]
		p.databases = 2
		reads := func(q table.Query, between func()) int64 {
			t.Helper()
			before := p.reads.Load()
			for range 9 {
				if _, err := consoles[0].Databases(t.Context(), q); err != nil {
					t.Fatal(err)
				}
				between()
				time.Sleep(2 * time.Second)
			}
			return p.reads.Load() - before
		}
		once := sync.OnceFunc(func() { net.parts[1].use("db00001", console.Use{Writes: 1}) })
		if n := reads(table.Query{}, once); n != 2+2 { // when it is written, and when nodes do not tell of it any more
			t.Errorf("two databases of which one is written once are read %d times", n)
		}
		time.Sleep(time.Minute)
		more := int64(1)
		bySize := table.Query{Sort: "docs", Desc: true, Limit: 1, Search: "db00000"}
		if n := reads(bySize, func() { more++; net.parts[1].use("db00001", console.Use{Writes: more}) }); n != 2+1+2 {
			t.Errorf("one that is written, but not shown, is read to be sorted: %d reads", n)
		}
	})
}

// What nodes do in databases is added up.
func TestConsole_Databases_rates(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, _ := cluster(2)
		net.parts[0].databases = 3
		for i, p := range net.parts {
			p.use("db00001", console.Use{Writes: int64(1000 * i)})
		}
		q := table.Query{Sort: "writes", Desc: true}
		if page, _ := consoles[0].Databases(t.Context(), q); page.Rows[0].Writes != 0 {
			t.Errorf("at first %+v", page.Rows[0])
		}
		time.Sleep(10 * time.Second)
		for i, p := range net.parts {
			p.use("db00001", console.Use{Writes: int64(1000*i + 100), Reads: 50})
			p.use("db00002", console.Use{Feed: 10})
		}
		page, err := consoles[0].Databases(t.Context(), q)
		if err != nil || page.Rows[0].Name != "db00001" || page.Rows[0].Writes != 20 || page.Rows[0].Reads != 10 ||
			page.Rows[2].Feed != 2 {
			t.Errorf("%+v, %v", page.Rows, err)
		}
		net.parts[0].use("db00001", console.Use{}) // it was evicted from memory
		time.Sleep(10 * time.Second)
		if page, _ := consoles[0].Databases(t.Context(), q); page.Rows[0].Writes != 0 {
			t.Errorf("afterwards %+v", page.Rows[0])
		}
		time.Sleep(2 * time.Second)
	})
}
