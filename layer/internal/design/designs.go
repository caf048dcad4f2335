package design

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/divandb/divan/layer/internal/cache"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/script"
)

// Design reads and parses a design document. name may omit "_design/". It returns NotFound if there is none. Parsed
// revisions are cached.
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

// Designs returns all design documents, parsed and sorted by id. It skips documents that cannot be parsed, since they
// have no views.
func (d Database) Designs(ctx context.Context) ([]*Design, error) {
	return db.Read(ctx, d.Database, func(t *db.Txn) ([]*Design, error) { return List(t, t.Snapshot()) })
}

// WithSignature returns a design document whose index has the signature, or NotFound. It tries the document id first.
func WithSignature(t *db.Txn, id, signature string) (*Design, error) {
	value, err := t.Snapshot().Get(t.Keys.Doc(nil, keyspace.Designs, id)).Wait()
	if err != nil {
		return nil, err
	}
	if value != nil {
		e, err := db.ParseDesignEntry(value)
		if err != nil {
			return nil, err
		}
		design, err := Read(t, id, e.Rev)
		if err == nil && design.Signature == signature {
			return design, nil
		}
		if err != nil && fault.KindOf(err) != fault.Invalid {
			return nil, err
		}
	}
	designs, err := List(t, t.Snapshot())
	if err != nil {
		return nil, err
	}
	for _, design := range designs {
		if design.Signature == signature {
			return design, nil
		}
	}
	return nil, fault.Errf(fault.NotFound, "", "no design document has this index any more")
}

// List returns all design documents, parsed and sorted by id. It reads their entries by r, and skips documents that
// cannot be parsed.
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
		case err == nil:
			designs = append(designs, design)
		case fault.KindOf(err) == fault.Invalid:
			state := StateOf(t.Db.Store)
			if cmp.Or(state.user, state).unusable.isNew(Key{t.Core.Number, e.Id, e.Rev}) {
				state.Log.Warn("design document cannot be used", "database", t.Db.Name(), "id", e.Id, "error", err)
			}
		default:
			return nil, err
		}
	}
	return designs, nil
}

// State is what package design keeps with a Store: parsed design documents by database and revision, and map functions
// by signature.
type State struct {
	Scripts *script.Sandbox // nil if this node runs no functions
	Designs *cache.Cache[Key, *Design]
	Maps    *cache.Cache[string, Maps]
	Log     *slog.Logger

	unusable logged
	user     *State // see Aside
}

// Aside returns a State that keeps no designs, but uses those of s.
func (s *State) Aside() *State {
	return &State{Scripts: s.Scripts, Designs: cache.New[Key, *Design](0), Maps: s.Maps, Log: s.Log, user: s}
}

// logged remembers of which design documents the log says that they cannot be used, since designs are listed again and
// again. If there are more than it remembers, the log names no others for a while. It is safe for concurrent use.
type logged struct {
	mu struct {
		sync.Mutex
		of    map[Key]bool
		since time.Time // when of was made
	}
}

const (
	// maxLogged bounds how many are remembered.
	maxLogged = 1000
	// loggedFor is after which time they are forgotten if there are so many.
	loggedFor = 24 * time.Hour
)

func (l *logged) isNew(k Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	isFull := len(l.mu.of) >= maxLogged
	switch {
	case l.mu.of[k]:
		return false
	case isFull && time.Since(l.mu.since) < loggedFor:
		return false
	case isFull || l.mu.of == nil:
		l.mu.of, l.mu.since = map[Key]bool{}, time.Now()
	}
	l.mu.of[k] = true
	return true
}

// Limits of the caches, in bytes of source text.
const (
	KeptDesigns = 64 << 20
	KeptMaps    = 64 << 20
)

var Slot = db.NewSlot[State]()

// StateOf returns the package's state in a Store.
func StateOf(s *db.Store) *State { return Slot.Of(s) }

// Key identifies one revision of a design document.
type Key struct {
	database int64
	id       string
	rev      db.Rev
}

// Read returns one revision of a design document, parsed. It is cached.
func Read(t *db.Txn, id string, r db.Rev) (*Design, error) {
	state, key := StateOf(t.Db.Store), Key{t.Core.Number, id, r}
	if state.user != nil {
		if d, ok := state.user.Designs.Peek(key); ok {
			return d, nil
		}
	}
	return state.Designs.Get(t.Ctx, key, func() (*Design, int, error) {
		doc, err := rev.GetRevision(t.Snapshot(), t.Keys, id, r, rev.LargeReads{})
		if err != nil {
			return nil, 0, err
		}
		design, err := ParseIn(t.Cfg, id, r, doc.Body)
		return design, len(doc.Body), err
	})
}

// ParseIn is ParseDesign for a document of a database with this configuration.
func ParseIn(c *db.Config, id string, rev db.Rev, body []byte) (*Design, error) {
	design, err := ParseDesign(id, rev, body)
	if err == nil && c.Partitioned {
		design.inPartitionedDatabase()
	}
	return design, err
}

// Name returns the design document's id without "_design/".
func (d *Design) Name() string { return strings.TrimPrefix(d.ID, "_design/") }
