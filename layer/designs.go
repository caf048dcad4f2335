package layer

import (
	"context"
	"strings"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
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
		e, err := parseDesignEntry(value)
		if err != nil {
			return nil, err
		}
		return t.core.design(t.Snapshot(), t.cfg, name, e.rev)
	})
}

// Designs lists all design documents in the order of their ids, parsed. What does not parse is left out: it has no views.
func (d *Database) Designs(ctx context.Context) ([]*Design, error) {
	return read(ctx, d, func(t *txn) ([]*Design, error) { return t.designs(t.Snapshot()) })
}

func (t *txn) designs(r kv.Reader) ([]*Design, error) {
	prefix := t.keys.sub(nil, keyspace.Designs)
	entries, err := readDesignEntries(r.GetRange(prefixRange(prefix), kv.RangeOptions{Mode: kv.ModeWantAll}), len(prefix))
	if err != nil {
		return nil, err
	}
	var designs []*Design
	for _, e := range entries {
		design, err := t.core.design(t.Snapshot(), t.cfg, e.id, e.rev)
		switch {
		case KindOf(err) == Invalid:
			t.db.store.o.Logger.Warn("design document cannot be used", "database", t.db.name, "id", e.id, "error", err)
		case err != nil:
			return nil, err
		default:
			designs = append(designs, design)
		}
	}
	return designs, nil
}

// design parses one revision of a design document, once.
func (c *core) design(r kv.Reader, cfg *config, id string, rev Rev) (*Design, error) {
	return c.designs.get(id+"\x00"+rev.String(), func() (*Design, error) {
		doc, err := getRevision(r, c.keys, id, rev, largeReads{})
		if err != nil {
			return nil, err
		}
		return cfg.parseDesign(id, rev, doc.Body)
	})
}

// parseDesign is ParseDesign for a document of the database.
func (c *config) parseDesign(id string, rev Rev, body []byte) (*Design, error) {
	design, err := ParseDesign(id, rev, body)
	if err == nil && c.partitioned {
		design.inPartitionedDatabase()
	}
	return design, err
}

// Name is the design document's name without "_design/".
func (d *Design) Name() string { return strings.TrimPrefix(d.ID, "_design/") }
