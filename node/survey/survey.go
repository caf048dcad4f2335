// Package survey knows the indexes of all databases of a store, whether anything has used them or not. It reads one
// database after the other, again and again, at a pace that costs little: what is wrong with an index is then known
// soon after a node starts, and lists of indexes need not read the store.
package survey

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
)

const (
	// tick is the pause between two steps. A step reads at most atFirst databases that have not been read before, or
	// afterwards more databases again. A thousand cost about a tenth of a second of a processor.
	tick    = time.Second
	atFirst = 150
	again   = 40
	// roundTime is the least time after which a database is read again, and the names of all are. It is watchedTime
	// while somebody looks at the indexes, and for lookedFor afterwards.
	roundTime   = 15 * time.Second
	watchedTime = 2 * time.Second
	lookedFor   = 10 * time.Second
	// maxIndexes bounds how many indexes are remembered.
	maxIndexes = 100_000
	// stepTime bounds how long a step waits for the store, and lookTime that of somebody who looks.
	stepTime = 10 * time.Second
	lookTime = 300 * time.Millisecond
)

// Store is what a Survey reads. See Of.
type Store struct {
	Names func(ctx context.Context) iter.Seq2[string, error]
	// Indexes reads the state of the indexes of a database, or of the one of design unless that is "". The error is of
	// kind NotFound if there is no such database.
	Indexes func(ctx context.Context, database, design string) ([]actors.IndexInfo, error)
}

// Of returns a Store for a layer.Store.
func Of(s *layer.Store) Store {
	return Store{
		Names: func(ctx context.Context) iter.Seq2[string, error] {
			return s.Names(ctx, layer.NamesOptions{Limit: -1})
		},
		Indexes: func(ctx context.Context, database, design string) (list []actors.IndexInfo, err error) {
			db, err := s.Database(ctx, database)
			if err != nil {
				return nil, err
			}
			designs, err := designsOf(ctx, db, design)
			if err != nil {
				return nil, err
			}
			for _, d := range designs {
				if len(d.Views) == 0 {
					continue
				}
				state, err := db.Index(d).State(ctx)
				if err != nil {
					return nil, err
				}
				list = append(list, actors.InfoOf(database, d, &state))
			}
			return list, nil
		},
	}
}

func designsOf(ctx context.Context, db *layer.Database, design string) ([]*layer.Design, error) {
	if design == "" {
		return db.Designs(ctx)
	}
	d, err := db.Design(ctx, design)
	return []*layer.Design{d}, err
}

// Survey is what is known of the indexes. It is safe for concurrent use.
type Survey struct {
	store Store

	stepping chan struct{} // has an element during a step, which uses the next two
	queue    []string      // databases to read, the last ones first
	named    time.Time     // when the names of all were read

	mu struct {
		sync.Mutex
		looked  time.Time            // when somebody looked at the indexes
		of      map[string]*database // by name
		unread  int                  // of them
		indexes int                  // in all of them
	}
}

// database is what is known of one. It is guarded by Survey.mu.
type database struct {
	read    time.Time          // when it was read; zero if it was not
	indexes []actors.IndexInfo // by design document; replaced, not changed
}

// New returns a Survey that knows nothing yet.
func New(store Store) *Survey {
	s := &Survey{store: store, stepping: make(chan struct{}, 1)}
	s.mu.of = map[string]*database{}
	return s
}

// Run reads databases until ctx ends.
func (s *Survey) Run(ctx context.Context) {
	pause := time.NewTicker(tick)
	defer pause.Stop()
	for {
		s.step(ctx)
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
	}
}

// Look tells that somebody looks at the indexes: as far as that costs little, they are read more often for a while, and
// the databases that are due are read now.
func (s *Survey) Look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	s.mu.Lock()
	before := s.mu.looked
	s.mu.looked = time.Now()
	s.mu.Unlock()
	if time.Since(before) >= tick/2 {
		s.step(ctx)
	}
}

// step reads the names of the databases if that is due, and then those databases that are. It ends early if the store
// does not answer, for which there are other signs.
func (s *Survey) step(ctx context.Context) {
	select {
	case s.stepping <- struct{}{}:
		defer func() { <-s.stepping }()
	case <-ctx.Done():
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	if time.Since(s.named) >= s.namesEvery() {
		if s.readNames(ctx) != nil {
			return
		}
		s.named = time.Now()
	}
	read := 0
	for len(s.queue) > 0 {
		name := s.queue[len(s.queue)-1]
		due, isNew := s.due(name)
		if !due && !isNew || read >= again && !isNew || read >= atFirst {
			return
		}
		s.queue = s.queue[:len(s.queue)-1]
		_, err := s.Read(ctx, name)
		if ctx.Err() != nil || layer.KindOf(err) == layer.Unavailable && !layer.Local(err) {
			return
		}
		read++
	}
}

// readNames learns which databases there are, and queues them by when they were read.
func (s *Survey) readNames(ctx context.Context) error {
	there := map[string]bool{}
	for name, err := range s.store.Names(ctx) {
		if err != nil {
			return err
		}
		there[name] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.mu.of {
		if !there[name] {
			s.forget(name)
		}
	}
	s.queue = s.queue[:0]
	for name := range there {
		if s.mu.of[name] == nil {
			s.mu.of[name] = &database{}
			s.mu.unread++
		}
		s.queue = append(s.queue, name)
	}
	slices.SortFunc(s.queue, func(a, b string) int {
		return cmp.Or(s.mu.of[b].read.Compare(s.mu.of[a].read), strings.Compare(b, a))
	})
	return nil
}

// due reports whether a database is to be read again, and whether it was never read.
func (s *Survey) due(name string) (due, isNew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.mu.of[name]
	if d == nil {
		return true, false // it was deleted, or will be found to be
	}
	return time.Since(d.read) >= s.every(), d.read.IsZero()
}

// every returns after which time a database is read again. The caller holds mu.
func (s *Survey) every() time.Duration {
	least := roundTime
	if time.Since(s.mu.looked) < lookedFor {
		least = watchedTime
	}
	return max(least, time.Duration(len(s.mu.of))*tick/again)
}

// namesEvery returns after which time the names of the databases are read again.
func (s *Survey) namesEvery() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(s.every(), roundTime)
}

// Read reads the indexes of a database now, and remembers them.
func (s *Survey) Read(ctx context.Context, name string) ([]actors.IndexInfo, error) {
	list, err := s.store.Indexes(ctx, name, "")
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.keep(name, list)
	case layer.KindOf(err) == layer.NotFound:
		s.forget(name)
	case ctx.Err() == nil && s.mu.of[name] != nil:
		s.keep(name, s.mu.of[name].indexes) // those of before; a damaged database is not read all the time
	}
	return list, err
}

// ReadOne reads one index now, and remembers it.
func (s *Survey) ReadOne(ctx context.Context, database, design string) (actors.IndexInfo, error) {
	list, err := s.store.Indexes(ctx, database, design)
	if layer.KindOf(err) == layer.NotFound || err == nil && len(list) == 0 {
		if _, err := s.Read(ctx, database); err != nil {
			return actors.IndexInfo{}, err
		}
		return actors.IndexInfo{}, &layer.Error{Kind: layer.NotFound, Reason: "it was deleted"}
	}
	if err != nil {
		return actors.IndexInfo{}, err
	}
	s.Note(list)
	return list[0], nil
}

// Note remembers what was read elsewhere.
func (s *Survey) Note(list []actors.IndexInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range list {
		d := s.mu.of[x.Database]
		if d == nil || d.read.IsZero() {
			continue // all of it is read soon
		}
		i, known := slices.BinarySearchFunc(d.indexes, x.Design, func(x actors.IndexInfo, design string) int {
			return strings.Compare(x.Design, design)
		})
		if now := slices.Clone(d.indexes); known {
			now[i] = x
			d.indexes = now
		} else if s.mu.indexes < maxIndexes {
			d.indexes = slices.Insert(now, i, x)
			s.mu.indexes++
		}
	}
}

// keep remembers the indexes of a database. The caller holds mu.
func (s *Survey) keep(name string, list []actors.IndexInfo) {
	s.forget(name)
	s.mu.of[name] = &database{time.Now(), list[:min(len(list), maxIndexes-s.mu.indexes)]}
	s.mu.indexes += len(s.mu.of[name].indexes)
}

// forget forgets a database. The caller holds mu.
func (s *Survey) forget(name string) {
	d := s.mu.of[name]
	if d == nil {
		return
	}
	if d.read.IsZero() {
		s.mu.unread--
	}
	s.mu.indexes -= len(d.indexes)
	delete(s.mu.of, name)
}

// Known is how much a Survey knows.
type Known struct {
	// Databases is how many databases there are, and Unread how many of them were not read since the node started.
	Databases, Unread int
	// Every is how often each is read.
	Every time.Duration
	// Full reports that there are more indexes than are remembered.
	Full bool
}

// Known returns how much is known.
func (s *Survey) Known() Known {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Known{len(s.mu.of), s.mu.unread, s.every(), s.mu.indexes >= maxIndexes}
}

// All yields all indexes that are known, in any order, each as it was when it was read last.
func (s *Survey) All() iter.Seq[actors.IndexInfo] {
	s.mu.Lock()
	all := make([][]actors.IndexInfo, 0, len(s.mu.of))
	for _, d := range s.mu.of {
		if len(d.indexes) > 0 {
			all = append(all, d.indexes)
		}
	}
	s.mu.Unlock()
	return func(yield func(actors.IndexInfo) bool) {
		for _, list := range all {
			for _, x := range list {
				if !yield(x) {
					return
				}
			}
		}
	}
}
