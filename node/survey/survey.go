// Package survey knows the indexes of all databases of a store, whether anything has used them or not. It reads one
// database after the other, again and again, at a pace that costs little: what is wrong with an index is then known
// soon after a node starts, and lists of indexes need not read the store.
package survey

import (
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
	// tick is the pause between two steps. If a step fails, the next pauses are longer, up to roundTime.
	tick = time.Second
	// In a step, a node reads at most atFirst databases that it has not read before, or after Again. Otherwise it reads
	// at most again of them again, or watched while somebody looks at the indexes. Each costs it some 0.17 ms of a
	// processor, and some ten reads of the store, which all nodes share: every node does this. So atFirst is about one
	// percent of a processor until all have been read, and again is little even for a store with many nodes.
	atFirst = 60
	again   = 10
	watched = 40
	// roundTime is the least time after which a database is read again, and the names of all are. It is watchedTime
	// while somebody looks at the indexes, and for lookedFor afterwards.
	roundTime   = 5 * time.Second
	watchedTime = 2 * time.Second
	lookedFor   = 10 * time.Second
	// namesPerTick is how many names are read per tick on average, once all of them have been, and namesAtOnce how many
	// in a step. A million take some seconds of a processor.
	namesPerTick = 1000
	namesAtOnce  = 20_000
	// namesPage is how many names are taken over at a time, under the lock.
	namesPage = 1000
	// maxIndexes bounds how many indexes are remembered.
	maxIndexes = 100_000
	// stepTime bounds how long a step waits for the store, and lookTime that of somebody who looks.
	stepTime = 10 * time.Second
	lookTime = 300 * time.Millisecond
)

// Store is what a Survey reads. See Of.
type Store struct {
	// Names yields the names of the databases from one on, or from the first, in the order of their bytes. It may end
	// after namesAtOnce.
	Names func(ctx context.Context, from string) iter.Seq2[string, error]
	// Indexes reads the state of the indexes of a database, or of the one of design unless that is "". The error is of
	// kind NotFound if there is no such database.
	Indexes func(ctx context.Context, database, design string) ([]actors.IndexInfo, error)
}

// Of returns a Store for a layer.Store. What it reads leaves the caches to those who use the databases.
func Of(s *layer.Store) Store {
	s = s.Aside()
	return Store{
		Names: func(ctx context.Context, from string) iter.Seq2[string, error] {
			return s.Names(ctx, layer.NamesOptions{Start: from, Limit: namesAtOnce})
		},
		Indexes: func(ctx context.Context, database, design string) (list []actors.IndexInfo, err error) {
			db, err := s.Database(ctx, database)
			if err != nil {
				return nil, err
			}
			indexes, err := indexesOf(ctx, db, design)
			if err != nil {
				return nil, err
			}
			for _, ix := range indexes {
				state, err := ix.State(ctx)
				if err != nil {
					return nil, err
				}
				list = append(list, actors.InfoOf(database, ix.Design(), &state))
			}
			return list, nil
		},
	}
}

func indexesOf(ctx context.Context, db *layer.Database, design string) ([]*layer.Index, error) {
	if design == "" {
		return db.Indexes(ctx)
	}
	d, err := db.Design(ctx, design)
	if err != nil || len(d.Views) == 0 {
		return nil, err
	}
	return []*layer.Index{db.Index(d)}, nil
}

// Survey is what is known of the indexes. It is safe for concurrent use.
type Survey struct {
	store Store
	seen  func(ctx context.Context, indexes []actors.IndexInfo)

	stepping chan struct{} // a semaphore for one step at a time, which alone uses the next two
	naming   bool          // the names have been read in part
	from     string        // where to go on with them

	mu struct {
		sync.Mutex
		of      map[string]*database // by name
		unread  int                  // of them
		hurry   int                  // how many are to be read again as fast as at first
		indexes int                  // in all of them
		looked  time.Time            // when somebody looked at the indexes
		named   time.Time            // when the names of all were read; zero if they were not
		scan    int                  // how often their reading has begun
		// Each database is in one of the queues: in fresh if it has not been read, or has been in the meantime, and
		// otherwise in old, those behind that are due later. Databases that are forgotten stay until it is their turn.
		fresh, old []*database
	}
}

// database is what is known of one. It is guarded by Survey.mu.
type database struct {
	name    string
	isRead  bool
	queued  time.Time // when it was put into the queue of old ones
	seen    int       // the scan that found it last
	indexes []index   // by design document; replaced, not changed
}

// index is what is known of one.
type index struct {
	actors.IndexInfo
	stale time.Time // since when it is known to be behind and not to advance; zero if it is not
}

// after returns what is known after an index has been read again. before is what was known of its database.
func after(before []index, now actors.IndexInfo) index {
	x := index{IndexInfo: now}
	if now.Current {
		return x
	}
	x.stale = time.Now()
	i, known := find(before, now.Design)
	if known && !before[i].Current && before[i].Seq == now.Seq && before[i].Signature == now.Signature {
		x.stale = before[i].stale
	}
	return x
}

// info returns the state. An index is behind for at least as long as it has been seen to be: the change that it lacks
// may have been followed by another one of its document, which is all that the store tells.
func (x index) info() actors.IndexInfo {
	if x.Behind > 0 {
		x.Behind = max(x.Behind, time.Since(x.stale))
	}
	return x.IndexInfo
}

// find returns where the index of a design document is in a list, or belongs.
func find(list []index, design string) (at int, found bool) {
	return slices.BinarySearchFunc(list, design, func(x index, design string) int {
		return strings.Compare(x.Design, design)
	})
}

// infos returns the states of indexes.
func infos(list []index) []actors.IndexInfo {
	all := make([]actors.IndexInfo, len(list))
	for i, x := range list {
		all[i] = x.info()
	}
	return all
}

// New returns a Survey that knows nothing yet. seen is called with the indexes of each database that Run and Look read.
// It may do a little I/O.
func New(store Store, seen func(ctx context.Context, indexes []actors.IndexInfo)) *Survey {
	s := &Survey{store: store, seen: seen, stepping: make(chan struct{}, 1)}
	s.mu.of = map[string]*database{}
	return s
}

// Run reads databases until ctx ends.
func (s *Survey) Run(ctx context.Context) {
	wait := tick
	pause := time.NewTimer(wait)
	defer pause.Stop()
	for {
		if s.step(ctx) {
			wait = tick
		} else {
			wait = min(2*wait, roundTime)
		}
		pause.Reset(wait)
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

// Again has all databases read again soon, as fast as after a start.
func (s *Survey) Again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.hurry = len(s.mu.of)
}

// step reads the names of the databases if that is due, and then those databases that are. It returns false if the
// store does not answer, for which there are other signs.
func (s *Survey) step(ctx context.Context) bool {
	select {
	case s.stepping <- struct{}{}:
		defer func() { <-s.stepping }()
	case <-ctx.Done():
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	if err := s.readNames(ctx); ctx.Err() != nil || isLost(err) {
		return false
	}
	for n := 0; ; n++ {
		d := s.next(n)
		if d == nil {
			return true
		}
		list, err := s.Read(ctx, d.name)
		if ctx.Err() != nil || isLost(err) {
			return false
		}
		if len(list) > 0 {
			s.seen(ctx, list)
		}
	}
}

// isLost reports whether an error is about the whole store. It says nothing about the database that was read.
func isLost(err error) bool { return layer.KindOf(err) == layer.Unavailable && !layer.Local(err) }

// readNames learns which databases there are, if that is due. It may do so in several steps, and keeps what it has read
// before an error: so it ends even if one step has not the time for all names.
func (s *Survey) readNames(ctx context.Context) error {
	if !s.naming {
		if !s.beginNames() {
			return nil
		}
		s.naming, s.from = true, ""
	}
	page := make([]string, 0, namesPage)
	keep := func() {
		if len(page) > 0 {
			s.found(page)
			s.from = page[len(page)-1] + "\x00"
			page = page[:0]
		}
	}
	defer keep()
	n := 0
	for name, err := range s.store.Names(ctx, s.from) {
		if err != nil {
			return err
		}
		if page = append(page, name); len(page) == namesPage {
			keep()
		}
		if n++; n == namesAtOnce {
			return nil
		}
	}
	keep()
	s.naming = false
	s.endNames()
	return nil
}

// beginNames reports whether the names are to be read again.
func (s *Survey) beginNames() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	every := max(s.least(), time.Duration(len(s.mu.of))*tick/namesPerTick)
	if time.Since(s.mu.named) < every {
		return false
	}
	s.mu.scan++
	return true
}

// found notes that there are databases, and queues those that are new.
func (s *Survey) found(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		d := s.mu.of[name]
		if d == nil {
			d = &database{name: name}
			s.mu.of[name] = d
			s.mu.fresh = append(s.mu.fresh, d)
			s.mu.unread++
		}
		d.seen = s.mu.scan
	}
}

// endNames forgets the databases that were not found any more.
func (s *Survey) endNames() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, d := range s.mu.of {
		if d.seen != s.mu.scan {
			s.forget(name)
		}
	}
	s.mu.named = time.Now()
}

// next returns the database to read next in a step that has read n, and moves it to the end of its queue. It returns
// nil if none is due. Those never read come first.
func (s *Survey) next(n int) *database {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.mu.fresh) > 0 && n < atFirst {
		d := s.mu.fresh[0]
		s.mu.fresh = s.mu.fresh[1:]
		switch {
		case s.mu.of[d.name] != d:
		case d.isRead:
			s.requeue(d)
		default:
			s.mu.fresh = append(s.mu.fresh, d)
			return d
		}
	}
	for len(s.mu.old) > 0 && n < s.pace() {
		d := s.mu.old[0]
		if s.mu.of[d.name] == d && time.Since(d.queued) < s.least() {
			s.mu.hurry = 0 // all have been read lately
			return nil
		}
		s.mu.old = s.mu.old[1:]
		if s.mu.of[d.name] == d {
			s.mu.hurry = max(0, s.mu.hurry-1)
			s.requeue(d)
			return d
		}
	}
	return nil
}

// requeue puts a database behind the old ones. The caller holds mu.
func (s *Survey) requeue(d *database) {
	d.queued = time.Now()
	s.mu.old = append(s.mu.old, d)
}

// isWatched reports whether somebody looks at the indexes. The caller holds mu.
func (s *Survey) isWatched() bool { return time.Since(s.mu.looked) < lookedFor }

// least returns the least time after which anything is read again. The caller holds mu.
func (s *Survey) least() time.Duration {
	if s.isWatched() {
		return watchedTime
	}
	return roundTime
}

// pace returns how many databases a step reads again. The caller holds mu.
func (s *Survey) pace() int {
	switch {
	case s.mu.hurry > 0:
		return atFirst
	case s.isWatched():
		return watched
	}
	return again
}

// every returns after which time a database is read again, by the pace. The caller holds mu.
func (s *Survey) every() time.Duration {
	return max(s.least(), time.Duration(len(s.mu.of))*tick/time.Duration(s.pace()))
}

// Read reads the indexes of a database now, and remembers them.
func (s *Survey) Read(ctx context.Context, name string) ([]actors.IndexInfo, error) {
	list, err := s.store.Indexes(ctx, name, "")
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		var before []index
		if d := s.mu.of[name]; d != nil {
			before = d.indexes
		}
		now := make([]index, len(list))
		for i, x := range list {
			now[i] = after(before, x)
		}
		s.keep(name, now)
		return infos(now), nil
	case layer.KindOf(err) == layer.NotFound:
		s.forget(name)
	case ctx.Err() == nil && !isLost(err) && s.mu.of[name] != nil:
		s.keep(name, s.mu.of[name].indexes) // it is damaged; what was read before is the best that there is
	}
	return nil, err
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

// Note remembers what was read elsewhere, and sets for how long at least each index has been behind.
func (s *Survey) Note(list []actors.IndexInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range list {
		d := s.mu.of[list[n].Database]
		if d == nil || !d.isRead {
			continue // all of it is read soon
		}
		x := after(d.indexes, list[n])
		list[n] = x.info()
		i, known := find(d.indexes, x.Design)
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
func (s *Survey) keep(name string, list []index) {
	d := s.mu.of[name]
	switch {
	case d == nil: // it is new, or its name has not been read yet
		d = &database{name: name, isRead: true, seen: s.mu.scan}
		s.mu.of[name] = d
		s.requeue(d)
	case !d.isRead:
		d.isRead = true
		s.mu.unread--
	}
	s.mu.indexes -= len(d.indexes)
	d.indexes = list[:min(len(list), maxIndexes-s.mu.indexes)]
	s.mu.indexes += len(d.indexes)
}

// forget forgets a database. The caller holds mu.
func (s *Survey) forget(name string) {
	d := s.mu.of[name]
	if d == nil {
		return
	}
	if !d.isRead {
		s.mu.unread--
	}
	s.mu.indexes -= len(d.indexes)
	delete(s.mu.of, name)
}

// Known is how much a Survey knows.
type Known struct {
	// Databases is how many databases there are, and Unread how many of them were not read since the node started. If
	// not Named, there may be more, as their names have not all been read.
	Databases, Unread int
	Named             bool
	// Every is how often each is read.
	Every time.Duration
	// Full reports that there are more indexes than are remembered.
	Full bool
}

// Known returns how much is known.
func (s *Survey) Known() Known {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Known{len(s.mu.of), s.mu.unread, !s.mu.named.IsZero(), s.every(), s.mu.indexes >= maxIndexes}
}

// All yields all indexes that are known, in any order, each as it was when it was read last.
func (s *Survey) All() iter.Seq[actors.IndexInfo] {
	s.mu.Lock()
	all := make([][]index, 0, len(s.mu.of))
	for _, d := range s.mu.of {
		if len(d.indexes) > 0 {
			all = append(all, d.indexes)
		}
	}
	s.mu.Unlock()
	return func(yield func(actors.IndexInfo) bool) {
		for _, list := range all {
			for _, x := range list {
				if !yield(x.info()) {
					return
				}
			}
		}
	}
}
