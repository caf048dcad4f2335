package console

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/console/table"
)

const (
	// countedUnasked is how many documents a database may have, deleted ones too, to be counted without being asked.
	countedUnasked = 2000
	// countWithin bounds how long the databases of a page are counted, and askedWithin how long one that somebody has
	// asked for is.
	countWithin = 2 * time.Second
	askedWithin = time.Minute
	// maxCounted bounds the databases whose count is remembered. Each takes some 200 bytes.
	maxCounted = 20_000
)

// Version is a state of a database, which changes with each of its documents, and how many entries its feed has: one
// for each document, deleted or not.
type Version struct {
	ID      string
	Entries int64
}

// conflicts remembers how many documents of databases are in conflict. The store keeps no such number: all entries of
// the feed are read. It is safe for concurrent use.
type conflicts struct {
	turn, asked sync.Mutex // held while the databases of a page are counted, or one that was asked for
	mu          struct {
		sync.Mutex
		of map[string]counted // by database
	}
}

type counted struct {
	version   string
	documents int64
}

func (k *conflicts) get(name, version string) (documents int64, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok := k.mu.of[name]
	return c.documents, ok && c.version == version
}

func (k *conflicts) put(name string, c counted) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.of == nil || len(k.mu.of) >= maxCounted {
		k.mu.of = map[string]counted{}
	}
	k.mu.of[name] = c
}

// conflictsOf returns how many documents of databases are in conflict. One with many documents is not counted unless
// asked, and those that are not counted in time are left out: who asks again soon gets more of them.
func conflictsOf(ctx context.Context, c *Console, names []string, asked bool) state.ConflictsPage {
	out := state.ConflictsPage{Now: time.Now().UTC(), Databases: []state.Conflicts{}}
	turn, within, most := &c.conflicts.turn, countWithin, int64(countedUnasked)
	if asked {
		turn, within, most = &c.conflicts.asked, askedWithin, -1
	}
	turn.Lock() // so that any number of pages costs no more than one
	defer turn.Unlock()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for _, name := range names {
		row, err := countConflicts(ctx, c, name, most)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			row.Error = short(c.o.told(err))
		}
		out.Databases = append(out.Databases, row)
	}
	return out
}

// countConflicts counts the conflicts of one database, if it has no more than most entries or most is negative.
func countConflicts(ctx context.Context, c *Console, name string, most int64) (state.Conflicts, error) {
	row := state.Conflicts{Database: name}
	version, err := c.o.Here.Version(ctx, name)
	if err != nil {
		return row, err
	}
	row.Entries = version.Entries
	n, known := c.conflicts.get(name, version.ID)
	if !known && most >= 0 && version.Entries > most {
		return row, nil
	}
	if !known {
		if n, err = c.o.Here.InConflict(ctx, name); err != nil {
			return row, err
		}
		c.conflicts.put(name, counted{version.ID, n}) // if it has changed meanwhile, its version has, too
	}
	row.Documents = &n
	return row, nil
}

// conflicts answers GET conflicts?database=NAME&database=NAME, or with asked=true for one that may have any number of
// documents.
func (p pages) conflicts(w http.ResponseWriter, r *http.Request) {
	form := r.URL.Query()
	names, asked := form["database"], form.Get("asked") == "true"
	if len(names) == 0 || len(names) > table.MaxLimit || asked && len(names) > 1 {
		refuse(w, http.StatusBadRequest, "`database` must be given, once for each of up to 500 databases, and once "+
			"with `asked`.")
		return
	}
	found := conflictsOf(r.Context(), p.c, names, asked)
	if asked && len(found.Databases) == 0 {
		refuse(w, http.StatusServiceUnavailable, "The documents in conflict were not counted in time.")
		return
	}
	answerJSON(w, r, found)
}
