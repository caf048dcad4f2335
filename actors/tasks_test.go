package actors_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
)

func TestActiveTasks(t *testing.T) {
	db := newDatabase("cities")
	blocked, stuck := make(chan struct{}), make(chan struct{})
	steps := 0
	db.stepFault = func(layer.ShardID) error {
		if steps++; steps == 2 {
			close(stuck)
			<-blocked
		}
		return nil
	}
	s := start(t, newStore(t, db), nil)
	commits(db, "a", 5000)
	if err := s.EnsureSoon(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
	<-stuck
	eventually(t, func() string {
		list, err := s.ActiveTasks(t.Context())
		if err != nil || len(list) != 1 {
			return fmt.Sprintf("%s, %v", list, err)
		}
		for _, want := range []string{`"type":"indexer"`, `"database":"cities"`, `"design_document":"_design/by"`,
			`"changes_done":100`,
			`"total_changes":5000`, `"progress":2`, `"node":"n1"`, `"started_on":`, `"updated_on":`, `"pid":"`} {
			if !strings.Contains(string(list[0]), want) {
				return fmt.Sprintf("%s has no %s", list[0], want)
			}
		}
		return ""
	})
	close(blocked)
	eventually(t, func() string {
		if list, err := s.ActiveTasks(t.Context()); err != nil || len(list) != 0 {
			return fmt.Sprintf("%s, %v", list, err)
		}
		return ""
	})
}

// A build that is resumed, after a restart or by another node, reports what was done before.
func TestActiveTasks_TakenUp(t *testing.T) {
	db := newDatabase("cities")
	commits(db, "a", 5000)
	// stops makes steps fail after the next n. Those wait until the test has looked, that is, until open is closed.
	stops := func(n int) (stuck <-chan struct{}, open chan struct{}) {
		at, look := make(chan struct{}), make(chan struct{})
		var once sync.Once
		db.mu.Lock()
		defer db.mu.Unlock()
		db.stepFault = func(layer.ShardID) error {
			if n--; n >= 0 {
				return nil
			}
			once.Do(func() { close(at) })
			<-look
			return errors.New("the store fails")
		}
		return at, look
	}
	shows := func(s *actors.System, want string) {
		t.Helper()
		eventually(t, func() string {
			list, err := s.ActiveTasks(t.Context())
			if err != nil || len(list) != 1 || !strings.Contains(string(list[0]), want) {
				return fmt.Sprintf("%s, %v, without %s", list, err, want)
			}
			return ""
		})
	}
	st := newStore(t, db)
	stuck, open := stops(1)
	first := start(t, st, nil)
	if err := first.EnsureSoon(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
	<-stuck
	shows(first, `"changes_done":100,"total_changes":5000,"rows":100`)
	close(open)
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	stuck, open = stops(0)
	second := start(t, st, nil)
	shows(second, `"changes_done":100,"total_changes":5000,"rows":100`)
	<-stuck // only after its first step does a build know whether there was an earlier one
	shows(second, `"changes_done":100,"total_changes":5000,"rows":100`)
	db.mu.Lock()
	db.stepFault = nil
	db.mu.Unlock()
	close(open)
	if err := second.Ensure(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
	// The next build starts from nothing.
	commits(db, "a", 5000)
	stuck, open = stops(0)
	defer close(open)
	if err := second.EnsureSoon(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
	<-stuck
	shows(second, `"changes_done":0,"total_changes":5000,"rows":0`)
}

// An index that is built without a request to this node, as after a restart, is listed by this node while it is built.
func TestIndexes_Building(t *testing.T) {
	db := newDatabase("cities")
	begin := make(chan struct{})
	db.beforeBegin = func() { <-begin }
	s := start(t, newStore(t, db), nil) // this node forgets requests at once
	commits(db, "a", 5000)
	if err := s.EnsureSoon(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
	told := func(want int) {
		t.Helper()
		eventually(t, func() string {
			list, err := s.Indexes(t.Context(), 10)
			if err != nil || len(list) != want || want > 0 && (list[0].Design != "_design/by" || list[0].Current) {
				return fmt.Sprintf("%+v, %v", list, err)
			}
			return ""
		})
	}
	told(1)
	// That the store does not answer is not told as if there were no indexes.
	for _, kind := range []layer.Kind{layer.Unavailable, layer.NotFound} {
		db.mu.Lock()
		db.stateFault = func() error { return &layer.Error{Kind: kind} }
		db.mu.Unlock()
		list, err := s.Indexes(t.Context(), 10)
		if len(list) != 0 || (err != nil) != (kind == layer.Unavailable) {
			t.Errorf("with an error of kind %v: %+v, %v", kind, list, err)
		}
	}
	db.mu.Lock()
	db.stateFault = nil
	db.mu.Unlock()
	close(begin)
	told(0)
}

// Only those databases whose index builds are shown are read.
func TestIndexes_ReadsWhatIsShown(t *testing.T) {
	begin := make(chan struct{})
	var all []*database
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		db := newDatabase(name)
		db.beforeBegin = func() { <-begin }
		all = append(all, db)
	}
	s := start(t, newStore(t, all...), func(o *actors.Options) { o.MaxIndexers = len(all) })
	defer close(begin)
	for _, db := range all {
		commits(db, "a", 5000)
		if err := s.EnsureSoon(t.Context(), db, db.design); err != nil {
			t.Fatal(err)
		}
	}
	shown := func(most int) (names []string) {
		list, err := s.Indexes(t.Context(), most)
		if err != nil {
			t.Error(err)
		}
		for _, ix := range list {
			names = append(names, ix.Database)
		}
		return names
	}
	eventually(t, func() string {
		if n := len(shown(len(all))); n != len(all) {
			return fmt.Sprintf("%d indexes are built", n)
		}
		return ""
	})
	reads := func() (n int) {
		for _, db := range all {
			db.set(func() { n += db.designs })
		}
		return n
	}
	before := reads()
	if names := shown(2); !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("shown: %v, want two", names)
	}
	if n := reads() - before; n > 2 {
		t.Errorf("the designs of %d databases were read to show two", n)
	}
}
