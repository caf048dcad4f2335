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
	// recountShare bounds what it costs that databases change: counting them again takes at most one part in so many of
	// the time. Until it is their turn, the number is an older one.
	recountShare = 20
	// maxCounted bounds the databases whose count is remembered. Each takes some 200 bytes.
	maxCounted = 20_000
)

// Version is a state of a database, which changes with each of its documents, and how many entries its feed has: one
// for each document, deleted or not. UUID is that of the database.
type Version struct {
	UUID, ID string
	Entries  int64
}

// conflicts remembers how many documents of databases are in conflict. The store keeps no such number: all entries of
// the feed are read. It is safe for concurrent use.
type conflicts struct {
	turn, asked sync.Mutex // held while the databases of a page are counted, or one that was asked for
	mu          struct {
		sync.Mutex
		of    map[string]counted // by database
		again time.Time          // when databases of a page that have changed may be counted again
	}
}

type counted struct {
	uuid, version string
	documents     int64
	at            time.Time
}

func (k *conflicts) get(name, uuid string) (c counted, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok = k.mu.of[name]
	return c, ok && c.uuid == uuid
}

// mayAgain reports whether databases of a page that have changed may be counted again.
func (k *conflicts) mayAgain() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !time.Now().Before(k.mu.again)
}

// spent notes how long it took to count databases again.
func (k *conflicts) spent(took time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.again = time.Now().Add((recountShare - 1) * took)
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
	q := counting{c: c, most: most, again: asked || c.conflicts.mayAgain()}
	for _, name := range names {
		row, err := q.count(ctx, name)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			row.Error = short(c.o.told(err))
		}
		out.Databases = append(out.Databases, row)
	}
	if q.took > 0 && !asked {
		c.conflicts.spent(q.took)
	}
	return out
}

// counting counts the conflicts of databases with no more than most entries, or of any if most is negative, those that
// were counted before only if again.
type counting struct {
	c     *Console
	most  int64
	again bool
	took  time.Duration // for those that were counted again
}

func (q *counting) count(ctx context.Context, name string) (state.Conflicts, error) {
	row := state.Conflicts{Database: name}
	here := &q.c.o.Here
	version, err := here.Version(ctx, name)
	if err != nil {
		return row, err
	}
	row.Entries = version.Entries
	before, known := q.c.conflicts.get(name, version.UUID)
	if known {
		row.Documents = &before.documents
	}
	row.Large = q.most >= 0 && version.Entries > q.most
	if known && before.version == version.ID {
		return row, nil
	}
	if row.Large || known && !q.again {
		if known {
			at := before.at.UTC()
			row.At = &at
		}
		return row, nil
	}
	row.Documents = nil
	begun := time.Now()
	n, err := here.InConflict(ctx, name)
	if known {
		q.took += time.Since(begun)
	}
	if err != nil {
		return row, err
	}
	// If it has changed meanwhile, its version has, too.
	q.c.conflicts.put(name, counted{version.UUID, version.ID, n, begun})
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
