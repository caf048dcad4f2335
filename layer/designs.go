package layer

import (
	"context"
	"log/slog"
	"strings"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/script"
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
		return t.design(name, e.rev)
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
		design, err := t.design(e.id, e.rev)
		switch {
		case KindOf(err) == Invalid:
			designOf(t.db.store).log.Warn("design document cannot be used", "database", t.db.name, "id", e.id, "error",
				err)
		case err != nil:
			return nil, err
		default:
			designs = append(designs, design)
		}
	}
	return designs, nil
}

// designState is what is remembered of design documents: the parse by database and revision, map functions by
// signature.
type designState struct {
	scripts *script.Sandbox // nil: this node runs no functions
	designs *cache[designKey, *Design]
	maps    *cache[string, *script.Maps]
	log     *slog.Logger
}

// What is kept in memory of design documents at most, in bytes of their text.
const (
	keptDesigns = 64 << 20
	keptMaps    = 64 << 20
)

var designSlot = newSlot[designState]()

func designOf(s *dbStore) *designState { return designSlot.of(s) }

// designKey is one revision of a design document.
type designKey struct {
	database int64
	id       string
	rev      Rev
}

// design parses one revision of a design document, once.
func (t *txn) design(id string, r Rev) (*Design, error) {
	return designOf(t.db.store).designs.get(t.ctx, designKey{t.core.number, id, r}, func() (*Design, int, error) {
		doc, err := getRevision(t.Snapshot(), t.keys, id, r, largeReads{})
		if err != nil {
			return nil, 0, err
		}
		design, err := t.cfg.parseDesign(id, r, doc.Body)
		return design, len(doc.Body), err
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
