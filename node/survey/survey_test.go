package survey_test

import (
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
	reads atomic.Int64
}

func (s *store) survey() *survey.Survey {
	return survey.New(survey.Store{
		Names: func(context.Context) iter.Seq2[string, error] {
			s.mu.Lock()
			defer s.mu.Unlock()
			names, lost := slices.Collect(maps.Keys(s.of)), s.lost
			return func(yield func(string, error) bool) {
				for _, name := range names {
					if !yield(name, lost) {
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
		if k := s.Known(); k.Databases != databases+1 || k.Unread < databases*3/4 || k.Unread > databases*9/10 {
			t.Errorf("after 10 seconds: %+v", k)
		}
		time.Sleep(time.Minute)
		if n, documents := errorsIn(s); s.Known().Unread != 0 || n != 2*databases || documents != 3*databases/2 {
			t.Errorf("after a minute: %+v, %d indexes, %d documents", s.Known(), n, documents)
		}
		st.reads.Store(0)
		st.put("db00003", 5)
		st.put("new", 3, 4)
		st.remove("db00004")
		time.Sleep(20 * time.Second)
		if n := st.reads.Load(); n > 20*40+10 {
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
