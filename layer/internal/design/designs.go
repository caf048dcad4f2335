package design

import (
	"context"
	"log/slog"
	"strings"

	"github.com/divandb/divan/layer/internal/cache"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/script"
)

// Design reads and parses a design document; name is with or without "_design/". NotFound. The parse is cached by
// revision.
func (d Database) Design(ctx context.Context, name string) (*Design, error) {
	if !db.IsDesign(name) {
		name = "_design/" + name
	}
	return db.Read(ctx, d.Database, func(t *db.Txn) (*Design, error) {
		value, err := t.Snapshot().Get(t.Keys.Doc(nil, keyspace.Designs, name)).Wait()
		if err != nil {
			return nil, err
		}
		if value == nil {
			return nil, rev.Missing(t.Snapshot(), t.Keys, name)
		}
		e, err := db.ParseDesignEntry(value)
		if err != nil {
			return nil, err
		}
		return Read(t, name, e.Rev)
	})
}

// Designs lists all design documents in the order of their ids, parsed. What does not parse is left out: it has no
// views.
func (d Database) Designs(ctx context.Context) ([]*Design, error) {
	return db.Read(ctx, d.Database, func(t *db.Txn) ([]*Design, error) { return List(t, t.Snapshot()) })
}

func List(t *db.Txn, r kv.Reader) ([]*Design, error) {
	prefix := t.Keys.Sub(nil, keyspace.Designs)
	entries, err := db.ReadDesignEntries(r.GetRange(db.PrefixRange(prefix), kv.RangeOptions{Mode: kv.ModeWantAll}),
		len(prefix))
	if err != nil {
		return nil, err
	}
	var designs []*Design
	for _, e := range entries {
		design, err := Read(t, e.Id, e.Rev)
		switch {
		case fault.KindOf(err) == fault.Invalid:
			StateOf(t.Db.Store).Log.Warn("design document cannot be used", "database", t.Db.Name(), "id", e.Id, "error",
				err)
		case err != nil:
			return nil, err
		default:
			designs = append(designs, design)
		}
	}
	return designs, nil
}

// State is what is remembered of design documents: the parse by database and revision, map functions by
// signature.
type State struct {
	Scripts *script.Sandbox // nil: this node runs no functions
	Designs *cache.Cache[Key, *Design]
	Maps    *cache.Cache[string, *script.Maps]
	Log     *slog.Logger
}

// What is kept in memory of design documents at most, in bytes of their text.
const (
	KeptDesigns = 64 << 20
	KeptMaps    = 64 << 20
)

var Slot = db.NewSlot[State]()

func StateOf(s *db.Store) *State { return Slot.Of(s) }

// Key is one revision of a design document.
type Key struct {
	database int64
	id       string
	rev      db.Rev
}

// Read parses one revision of a design document, once.
func Read(t *db.Txn, id string, r db.Rev) (*Design, error) {
	return StateOf(t.Db.Store).Designs.Get(t.Ctx, Key{t.Core.Number, id, r}, func() (*Design, int, error) {
		doc, err := rev.GetRevision(t.Snapshot(), t.Keys, id, r, rev.LargeReads{})
		if err != nil {
			return nil, 0, err
		}
		design, err := ParseIn(t.Cfg, id, r, doc.Body)
		return design, len(doc.Body), err
	})
}

// ParseIn is ParseDesign for a document of the database.
func ParseIn(c *db.Config, id string, rev db.Rev, body []byte) (*Design, error) {
	design, err := ParseDesign(id, rev, body)
	if err == nil && c.Partitioned {
		design.inPartitionedDatabase()
	}
	return design, err
}

// Name is the design document's name without "_design/".
func (d *Design) Name() string { return strings.TrimPrefix(d.ID, "_design/") }
