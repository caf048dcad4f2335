package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/divandb/divan/layer"
)

// database is a database with what its writers know about it.
type database struct {
	w    *world
	name string

	mu struct {
		sync.Mutex
		docs map[string]*ledger
		// version of the design document, as of its last acknowledged write, and later ones that may have been written
		version int
	}
}

// ledger is what the only writer of a document knows about it.
type ledger struct {
	acked edit
	// maybe are later edits of which the writer does not know whether they were written.
	maybe []int
	acks  []ack // that not all followers have seen
}

// edit is an edit of a document: its number in the writer's count, and its revision.
type edit struct {
	n   int
	rev layer.Rev
}

// ack is an acknowledged edit, by the position of its revision.
type ack struct {
	pos int64
	at  time.Time
}

// filled is how many documents a database has from the beginning, so that an index needs a job.
const filled = 130

func designText(version int) string {
	return fmt.Sprintf(`{"_id":"_design/d","version":%d,"views":{"v":{"map":"function(doc) { emit(doc.n, %d); }",`+
		`"reduce":"_count"}}}`, version, version)
}

// create creates a database with documents and a design document through the truth.
func (w *world) create(name string, shards int) (*database, error) {
	d := &database{w: w, name: name}
	d.mu.docs = map[string]*ledger{}
	ctx := w.t.Context()
	db, err := w.truth.Create(ctx, name, layer.CreateOptions{Shards: shards})
	if err != nil {
		return nil, err
	}
	var edits []layer.Edit
	for i := range filled {
		e, err := layer.ParseEdit(fmt.Appendf(nil, `{"_id":"d%03d","n":0}`, i), false)
		if err != nil {
			return nil, err
		}
		edits = append(edits, e)
	}
	results, err := db.Bulk(ctx, edits, layer.WriteOptions{})
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		if r.Err != nil {
			return nil, r.Err
		}
		d.mu.docs[r.ID] = &ledger{acked: edit{0, r.Rev}}
	}
	e, err := layer.ParseEdit([]byte(designText(0)), false)
	if err != nil {
		return nil, err
	}
	_, err = db.Put(ctx, e, layer.WriteOptions{})
	return d, err
}

// open opens the database on a node.
func (d *database) open(ctx context.Context, l *life) (*layer.Database, error) {
	return l.store.Database(ctx, d.name)
}

// fact is what is known about a document.
func (d *database) fact(id string) (edit, []int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.mu.docs[id]
	return l.acked, append([]int(nil), l.maybe...)
}

// lows returns the number that each document has at least.
func (d *database) lows() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := make(map[string]int, len(d.mu.docs))
	for id, l := range d.mu.docs {
		m[id] = l.acked.n
	}
	return m
}

// acknowledged records that an edit was acknowledged.
func (d *database) acknowledged(id string, e edit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.mu.docs[id]
	l.acked, l.maybe = e, nil
	l.acks = append(l.acks, ack{e.rev.Pos, time.Now()})
}

func (d *database) unknown(id string, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.docs[id].maybe = append(d.mu.docs[id].maybe, n)
}

// number reads the number in a document's body.
func number(body []byte) int {
	var n int
	if _, err := fmt.Sscanf(strings.ReplaceAll(string(body), " ", ""), `{"n":%d}`, &n); err != nil {
		return -1
	}
	return n
}

// writer writes its share of the documents, each again and again, through any node.
func (w *world) writer(i, all int) {
	r := source(w.seed, "writer", i)
	for n := 1; w.running(); n++ {
		time.Sleep(time.Duration(20+r.IntN(400)) * time.Millisecond)
		d := w.dbs[r.IntN(len(w.dbs))]
		id := fmt.Sprintf("d%03d", r.IntN(filled/all)*all+i)
		within := 5 * time.Second
		if r.IntN(4) == 0 {
			within = time.Duration(r.IntN(15)) * time.Millisecond // a client without patience
		}
		if l := w.any(r); l != nil {
			d.write(l, id, n, within)
		}
	}
}

// any returns a node that is up, or nil.
func (w *world) any(r *rand.Rand) *life { return w.nodes[r.IntN(len(w.nodes))].current() }

// write writes one edit through a node, and compares the answer with what is known.
func (d *database) write(l *life, id string, n int, within time.Duration) {
	ctx, cancel := context.WithTimeout(l.over, within)
	defer cancel()
	before, maybe := d.fact(id)
	e, err := layer.ParseEdit(fmt.Appendf(nil, `{"_id":%q,"_rev":%q,"n":%d}`, id, before.rev, n), false)
	if err != nil {
		panic(err)
	}
	var rev layer.Rev
	db, err := d.open(ctx, l)
	if err == nil {
		rev, err = db.Put(ctx, e, layer.WriteOptions{})
	}
	switch {
	case err == nil:
		d.w.log.count("writes")
		d.acknowledged(id, edit{n, rev})
	case layer.KindOf(err) == layer.Conflict:
		now, err := d.read(id)
		if err != nil {
			d.w.log.violated("no acknowledged write is lost", "%s/%s: %v", d.name, id, err)
			return
		}
		for _, m := range maybe {
			if m == now.n {
				d.w.log.count("writes that were not acknowledged and happened")
				d.acknowledged(id, now)
				return
			}
		}
		d.w.log.violated("no false conflict", "%s/%s: %d on %d met a conflict with %d; unknown were %v", d.name, id, n,
			before.n, now.n, maybe)
	case layer.KindOf(err) == layer.NotFound:
		d.w.log.violated("a database stays", "%s on %s: %v", d.name, l, err)
	default:
		d.w.log.count("writes without an answer")
		d.unknown(id, n)
	}
}

// read reads a document from the truth.
func (d *database) read(id string) (edit, error) {
	ctx := d.w.t.Context()
	db, err := d.w.truth.Database(ctx, d.name)
	if err != nil {
		return edit{}, err
	}
	doc, err := db.Get(ctx, id, layer.GetOptions{Conflicts: true})
	if err != nil {
		return edit{}, err
	}
	if len(doc.Conflicts) > 0 {
		d.w.log.violated("one branch", "%s/%s has conflicts %v", d.name, id, doc.Conflicts)
	}
	return edit{number(doc.Body), doc.Rev}, nil
}

// redesign changes the design document through a node, so that the index is built again.
func (d *database) redesign(l *life) {
	ctx, cancel := context.WithTimeout(l.over, 5*time.Second)
	defer cancel()
	db, err := d.open(ctx, l)
	if err != nil {
		return
	}
	doc, err := db.Get(ctx, "_design/d", layer.GetOptions{})
	if err != nil {
		return
	}
	d.mu.Lock()
	d.mu.version++
	version := d.mu.version
	d.mu.Unlock()
	text := strings.Replace(designText(version), `{"_id"`, fmt.Sprintf(`{"_rev":%q,"_id"`, doc.Rev), 1)
	e, err := layer.ParseEdit([]byte(text), false)
	if err != nil {
		panic(err)
	}
	if _, err = db.Put(ctx, e, layer.WriteOptions{}); err == nil {
		d.w.log.count("new views")
		d.w.log.add("%s: the view has version %d", d.name, version)
	}
}
