package survey_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/survey"
)

// store is a store of a test.
type store struct {
	mu    sync.Mutex
	of    map[string][]actors.IndexInfo
	lost  error
	slow  time.Duration // how long the store takes for a name
	reads atomic.Int64
	seen  []string // the databases that were seen, by index
}

func (s *store) survey() *survey.Survey {
	return survey.New(survey.Store{
		Names: func(ctx context.Context, from string) iter.Seq2[string, error] {
			s.mu.Lock()
			defer s.mu.Unlock()
			names, lost := slices.Sorted(maps.Keys(s.of)), s.lost
			first, _ := slices.BinarySearch(names, from)
			return func(yield func(string, error) bool) {
				for _, name := range names[first:] {
					if s.slow > 0 {
						time.Sleep(s.slow)
					}
					if err := cmp.Or(lost, ctx.Err()); !yield(name, err) || err != nil {
						return
					}
				}
			}
		},
		Indexes: func(_ context.Context, name, design string) ([]actors.IndexInfo, error) {
			s.reads.Add(1)
			s.mu.Lock()
			defer s.mu.Unlock()
			list, ok := s.of[name]
			if !ok {
				return nil, &layer.Error{Kind: layer.NotFound}
			}
			if name == "damaged" {
				return nil, errors.New("damaged")
			}
			if i := slices.IndexFunc(list, func(x actors.IndexInfo) bool { return x.Design == design }); design != "" {
				return list[i : i+1], s.lost
			}
			return list, s.lost
		},
	}, func(_ context.Context, list []actors.IndexInfo) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, x := range list {
			s.seen = append(s.seen, x.Database+x.Design)
		}
	})
}

func (s *store) put(name string, errs ...int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[name] = []actors.IndexInfo{}
	for i, n := range errs {
		s.of[name] = append(s.of[name], actors.IndexInfo{Database: name, Design: fmt.Sprint("_design/", i), Errors: n})
	}
}

func (s *store) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, name)
}

func (s *store) lose(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = err
}

// errorsIn returns the number of indexes, and of the documents that they lack.
func errorsIn(s *survey.Survey) (indexes int, documents int64) {
	for x := range s.All() {
		indexes++
		documents += x.Errors
	}
	return indexes, documents
}

// All databases are read soon after the start, and afterwards again and again, but slowly.
func TestSurvey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{of: map[string][]actors.IndexInfo{}}
		const databases = 10_000
		for i := range databases {
			st.put(fmt.Sprintf("db%05d", i), int64(i%2), 1)
		}
		st.put("damaged", 7)
		s := st.survey()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.Run(ctx)
		time.Sleep(10 * time.Second)
		if k := s.Known(); k.Databases != databases+1 || !k.Named || k.Unread < databases*90/100 ||
			k.Unread > databases*97/100 {
			t.Errorf("after 10 seconds: %+v", k)
		}
		time.Sleep(3 * time.Minute)
		if n, documents := errorsIn(s); s.Known().Unread != 0 || n != 2*databases || documents != 3*databases/2 {
			t.Errorf("after three minutes: %+v, %d indexes, %d documents", s.Known(), n, documents)
		}
		st.reads.Store(0)
		st.put("db00003", 5)
		st.put("new", 3, 4)
		st.remove("db00004")
		time.Sleep(20 * time.Second)
		if n := st.reads.Load(); n > 20*10+10 {
			t.Errorf("%d databases were read in 20 seconds", n)
		}
		if n, _ := errorsIn(s); n != 2*databases-2+2 {
			t.Errorf("with a new database and without a deleted one there are %d indexes", n)
		}
		time.Sleep(s.Known().Every)
		if n, documents := errorsIn(s); n != 2*databases-1 || documents != 3*databases/2+7-1+5-2 {
			t.Errorf("after a round: %d indexes, %d documents", n, documents)
		}
	})
}

// When somebody looks, what is new is found at once.
func TestSurvey_Look(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{of: map[string][]actors.IndexInfo{}}
		s := st.survey()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.Run(ctx)
		time.Sleep(2500 * time.Millisecond)
		st.put("a", 1)
		s.Look(t.Context())
		if _, documents := errorsIn(s); documents != 1 {
			t.Errorf("a database that is new has %d skipped documents", documents)
		}
		if !slices.Equal(st.seen, []string{"a_design/0"}) {
			t.Errorf("seen: %q", st.seen)
		}
		for i := range int64(20) {
			st.put("a", i)
			time.Sleep(4 * time.Second)
			if s.Look(t.Context()); st.reads.Load() > 3*(i+1) {
				t.Errorf("%d reads", st.reads.Load())
			}
			if _, documents := errorsIn(s); documents != i {
				t.Errorf("%d documents, want %d", documents, i)
			}
		}
	})
}

// A database counts as read only once the store has answered, although it may be damaged.
func TestSurvey_outage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{of: map[string][]actors.IndexInfo{}}
		const databases = 1000
		for i := range databases {
			st.put(fmt.Sprintf("db%05d", i), 1)
		}
		st.put("damaged", 7)
		s := st.survey()
		if s.Known().Named {
			t.Error("all names are known at the start")
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.Run(ctx)
		time.Sleep(2500 * time.Millisecond)
		before := s.Known().Unread
		if before == 0 || before == databases {
			t.Errorf("%d databases are unread after two seconds", before)
		}
		st.lose(&layer.Error{Kind: layer.Unavailable})
		st.reads.Store(0)
		time.Sleep(2 * time.Minute)
		if k := s.Known(); k.Unread != before || st.reads.Load() > 20 {
			t.Errorf("in an outage: %+v after %d reads, but %d were unread", k, st.reads.Load(), before)
		}
		st.lose(nil)
		for range 60 {
			time.Sleep(time.Second)
			if n, _ := errorsIn(s); n+s.Known().Unread < databases {
				t.Fatalf("indexes are missing: %d, %+v", n, s.Known())
			}
		}
		if n, _ := errorsIn(s); n != databases || s.Known().Unread != 0 {
			t.Errorf("after the outage: %d indexes, %+v", n, s.Known())
		}
	})
}

// All names are read even if that takes longer than a step waits, or than the time after which they are read again.
func TestSurvey_slowNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{of: map[string][]actors.IndexInfo{}, slow: 100 * time.Millisecond}
		const databases = 500
		for i := range databases {
			st.put(fmt.Sprintf("db%05d", i), 1)
		}
		s := st.survey()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan struct{})
		go func() { s.Run(ctx); close(done) }()
		time.Sleep(5 * time.Minute)
		if n, _ := errorsIn(s); n != databases || !s.Known().Named {
			t.Errorf("%d indexes, %+v", n, s.Known())
		}
		st.remove("db00000")
		st.remove("db00499")
		time.Sleep(5 * time.Minute)
		if n, _ := errorsIn(s); n != databases-2 {
			t.Errorf("%d indexes, %+v", n, s.Known())
		}
		cancel()
		<-done
	})
}

// The names of many databases are read in several steps.
func TestSurvey_manyNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{of: map[string][]actors.IndexInfo{}}
		const databases = 50_000
		for i := range databases {
			st.put(fmt.Sprintf("db%05d", i))
		}
		s := st.survey()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.Run(ctx)
		time.Sleep(500 * time.Millisecond)
		if k := s.Known(); k.Named || k.Databases == 0 || k.Databases == databases {
			t.Errorf("at first: %+v", k)
		}
		time.Sleep(3 * time.Second)
		if k := s.Known(); !k.Named || k.Databases != databases {
			t.Errorf("then: %+v", k)
		}
	})
}

// What is read in between is remembered, and an outage of the store changes nothing.
func TestSurvey_reads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{of: map[string][]actors.IndexInfo{}}
		st.put("a", 1, 2)
		s := st.survey()
		if list, err := s.Read(t.Context(), "a"); err != nil || len(list) != 2 {
			t.Errorf("%+v, %v", list, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.Run(ctx)
		time.Sleep(time.Second)
		st.put("a", 1, 9)
		if x, err := s.ReadOne(t.Context(), "a", "_design/1"); err != nil || x.Errors != 9 {
			t.Errorf("%+v, %v", x, err)
		}
		s.Note([]actors.IndexInfo{{Database: "a", Design: "_design/0", Errors: 4}, {Database: "gone", Errors: 8},
			{Database: "a", Design: "_design/00", Errors: 16}})
		if n, documents := errorsIn(s); n != 3 || documents != 29 {
			t.Errorf("%d indexes, %d documents", n, documents)
		}
		st.lose(&layer.Error{Kind: layer.Unavailable})
		time.Sleep(time.Minute)
		if n, documents := errorsIn(s); n != 3 || documents != 29 {
			t.Errorf("in an outage: %d indexes, %d documents", n, documents)
		}
		st.lose(nil)
		st.remove("a")
		if _, err := s.Read(t.Context(), "a"); layer.KindOf(err) != layer.NotFound || s.Known().Databases != 0 {
			t.Errorf("%+v, %v", s.Known(), err)
		}
	})
}

// With very many databases none is read much later than the pace allows, also after the first round and after Again.
func TestSurvey_pace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{of: map[string][]actors.IndexInfo{}}
		const databases, round = 10_000, 1000 * time.Second
		for i := range databases {
			st.put(fmt.Sprintf("db%05d", i), 0)
		}
		s := st.survey()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.Run(ctx)
		time.Sleep(200 * time.Second)
		reads := func(d time.Duration) int64 {
			st.reads.Store(0)
			time.Sleep(d)
			return st.reads.Load()
		}
		for range 4 {
			if n := reads(round / 4); n < databases/4-100 || n > databases/4+100 {
				t.Errorf("a quarter of a round reads %d databases", n)
			}
		}
		s.Again()
		if n := reads(databases / 60 * time.Second); n < databases-100 || n > databases+100 {
			t.Errorf("%d databases are read soon", n)
		}
		if n := reads(round / 10); n > databases/10+100 {
			t.Errorf("%d databases are read after that", n)
		}
	})
}

// An index that does not advance is behind for at least as long as it has been seen to be: the changes that it lacks
// may be ever newer.
func TestSurvey_stale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{of: map[string][]actors.IndexInfo{}}
		s := st.survey()
		put := func(seq string, current bool, behind time.Duration) {
			st.mu.Lock()
			defer st.mu.Unlock()
			st.of["a"] = []actors.IndexInfo{{Database: "a", Design: "_design/d", Signature: "s", Seq: seq,
				Current: current, Behind: behind}}
		}
		behind := func(want time.Duration) {
			t.Helper()
			list, err := s.Read(t.Context(), "a")
			if err != nil || len(list) != 1 || list[0].Behind != want {
				t.Errorf("read: %+v, %v; want %v", list, err, want)
			}
			if one, err := s.ReadOne(t.Context(), "a", "_design/d"); err != nil || one.Behind != want {
				t.Errorf("one read: %+v, %v; want %v", one, err, want)
			}
			for x := range s.All() {
				if x.Behind != want {
					t.Errorf("all: %+v, want %v", x, want)
				}
			}
		}
		put("1", false, time.Second)
		behind(time.Second)
		time.Sleep(time.Minute)
		behind(time.Minute)
		put("1", false, 2*time.Minute)
		behind(2 * time.Minute)
		put("2", false, time.Second) // it advances
		behind(time.Second)
		time.Sleep(time.Minute)
		put("2", true, 0)
		behind(0)
		put("2", false, time.Second) // the change is new
		behind(time.Second)
	})
}
