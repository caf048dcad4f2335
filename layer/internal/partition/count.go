package partition

import (
	"context"
	"maps"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

const (
	// countedTogether is how many documents are counted in one transaction if the engine holds no snapshots.
	countedTogether = 500
	// headersTogether is how many bodies of a document are read by one call.
	headersTogether = 1000
)

// count counts a partition as of one version, and returns its state at that version. If the engine holds no snapshots,
// it takes several transactions, and changed reports that the partition was written to between them: the sums may then
// be of several versions.
func count(ctx context.Context, d *db.Database, name string) (n sums, at state, changed bool, err error) {
	c := counting{keys: d.Core.Load().Keys, left: partitionRange(d.Core.Load().Keys, name), linked: map[[16]byte]bool{}}
	snap, ok, err := kv.OpenSnapshot(ctx, d.Store.Engine)
	if err != nil {
		return n, at, false, err
	}
	if ok {
		defer snap.Close()
		at, err = c.snapshot(ctx, d, snap, name)
		return c.sums, at, false, err
	}
	for portions, began, done := db.NewPortions(countedTogether), false, false; !done; began = true {
		var next counting
		var now state
		_, err := db.ReadPart(ctx, d, portions, countedTogether, func(t *db.Txn, most int) (int, error) {
			var err error
			if now, err = readState(t.Snapshot(), t.Keys, t.Cfg, name); err != nil {
				return 0, err
			}
			next = c.clone()
			done, err = next.some(t.Snapshot(), most)
			return most, err
		})
		if err != nil {
			return n, at, changed, err
		}
		if c = next; !began {
			at = now
		}
		changed = changed || now != at
	}
	return c.sums, at, changed, nil
}

// counting is a count that has come to some document of a partition.
type counting struct {
	keys db.Space
	left kv.KeyRange // of branches; they begin with those of a document
	sums sums

	id     string            // the document whose bodies are being counted, or ""
	cursor []byte            // in its bodies, see attach.EachHeader
	linked map[[16]byte]bool // its attachments that have been counted
}

// clone returns a copy that a transaction may discard.
func (c *counting) clone() counting {
	d := *c
	d.linked = maps.Clone(c.linked)
	return d
}

// snapshot counts all documents.
func (c *counting) snapshot(ctx context.Context, d *db.Database, snap kv.Snapshot, name string) (at state, err error) {
	cfg, err := d.Core.Load().Load(snap)
	if err == nil && cfg == nil {
		err = db.ErrNoDatabase()
	}
	if err != nil {
		return at, err
	}
	if at, err = readState(snap, c.keys, cfg, name); err != nil {
		return at, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return at, err
		}
		if done, err := c.some(snap, countedTogether); done || err != nil {
			return at, err
		}
	}
}

// some counts up to most documents. done reports that there are no more.
func (c *counting) some(r kv.Reader, most int) (done bool, err error) {
	t := &db.Txn{Keys: c.keys}
	for ; most > 0 && t.Spent < db.ReadBudget; most-- {
		if c.id == "" {
			if done, err = c.next(r); done || err != nil {
				return done, err
			}
		}
		var all bool
		c.cursor, all, err = attach.EachHeader(t, c.id, c.cursor, headersTogether, db.ReadBudget, r, c.body)
		if err != nil {
			return false, err
		}
		if all {
			c.id, c.cursor = "", nil
			clear(c.linked)
		}
	}
	return false, nil
}

// next counts the next document, and makes it the one whose bodies are counted.
func (c *counting) next(r kv.Reader) (done bool, err error) {
	first := r.GetRange(c.left, kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
	defer first.Close()
	if !first.Next() {
		return true, first.Err()
	}
	id, _, err := docOf(c.keys, first.KeyValue().Key)
	if err != nil {
		return false, err
	}
	branches := db.PrefixRange(c.keys.Doc(nil, keyspace.Revisions, id))
	last := r.GetRange(branches, kv.RangeOptions{Limit: 1, Mode: kv.ModeExact, Reverse: true})
	defer last.Close()
	if !last.Next() {
		return false, last.Err()
	}
	_, rest, err := docOf(c.keys, last.KeyValue().Key)
	if err != nil {
		return false, err
	}
	var winner rev.LeafKV
	if err := rev.ParseLeafKey(&winner, rest); err != nil {
		return false, err
	}
	if winner.Deleted {
		c.sums[deleted]++
	} else {
		c.sums[docs]++
	}
	c.id, c.left.Begin = id, branches.End
	return false, nil
}

// body counts a stored body and its attachments. Bodies of one document share attachments.
func (c *counting) body(_ db.Rev, b *rev.StoredBody) {
	c.sums[bodies] += int64(b.Size)
	for _, a := range b.Attachments {
		if !c.linked[a.ID] {
			c.linked[a.ID] = true
			c.sums[stored] += a.EncodedLength
			c.sums[content] += a.Length
		}
	}
}
