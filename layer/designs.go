package layer

import (
	"context"
	"strings"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Design reads and parses a design document; name is with or without "_design/". NotFound. The parse is cached by revision.
func (d *Database) Design(ctx context.Context, name string) (*Design, error) {
	if !isDesign(name) {
		name = "_design/" + name
	}
	return read(ctx, d, func(t *txn) (*Design, error) {
		value, err := t.Snapshot().Get(t.keys.doc(nil, keyspace.Designs, name)).Wait()
		if err != nil {
			return nil, err
		}
		if value == nil {
			return nil, missing(t.Snapshot(), t.keys, name)
		}
		rev, _, err := parseDesignValue(value)
		if err != nil {
			return nil, err
		}
		return t.core.design(t.Snapshot(), t.cfg, name, rev)
	})
}

// Designs lists all design documents in the order of their ids, parsed. What does not parse is left out: it has no views.
func (d *Database) Designs(ctx context.Context) ([]*Design, error) {
	return read(ctx, d, func(t *txn) ([]*Design, error) {
		prefix := t.keys.sub(nil, keyspace.Designs)
		it := t.Snapshot().GetRange(prefixRange(prefix), kv.RangeOptions{Mode: kv.ModeWantAll})
		defer it.Close()
		var designs []*Design
		for it.Next() {
			row := it.KeyValue()
			id, _, err := tuple.TakeString(row.Key[len(prefix):])
			if err != nil {
				return nil, corrupt("list of design documents", err)
			}
			rev, _, err := parseDesignValue(row.Value)
			if err != nil {
				return nil, err
			}
			design, err := t.core.design(t.Snapshot(), t.cfg, id, rev)
			switch {
			case KindOf(err) == Invalid:
				d.store.o.Logger.Warn("design document cannot be used", "database", d.name, "id", id, "error", err)
			case err != nil:
				return nil, err
			default:
				designs = append(designs, design)
			}
		}
		return designs, it.Err()
	})
}

// design parses one revision of a design document, once.
func (c *core) design(r kv.Reader, cfg *config, id string, rev Rev) (*Design, error) {
	return c.designs.get(id+"\x00"+rev.String(), func() (*Design, error) {
		doc, err := getRevision(r, c.keys, id, rev)
		if err != nil {
			return nil, err
		}
		design, err := ParseDesign(id, rev, doc.Body)
		if err == nil && cfg.partitioned {
			design.inPartitionedDatabase()
		}
		return design, err
	})
}

// Name is the design document's name without "_design/".
func (d *Design) Name() string { return strings.TrimPrefix(d.ID, "_design/") }
