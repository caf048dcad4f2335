package actors_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

func commits(db *database, shard layer.ShardID, n int) {
	for range n {
		db.commit(shard)
	}
}

func TestEnsure_SmallLagIsCaughtUpInTheRequest(t *testing.T) {
	db := newDatabase("cities")
	st := newStore(t, db)
	s := start(t, st, nil)
	commits(db, "a", 5)
	if err := s.Ensure(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
	if db.indexed["a"] != 5 || db.catchUps != 1 || len(st.jobs) != 0 {
		t.Errorf("indexed %v by %d catch-ups and %d jobs", db.indexed, db.catchUps, len(st.jobs))
	}
	if err := s.Ensure(t.Context(), db, db.design); err != nil || db.catchUps != 1 {
		t.Errorf("up to date already: %v, %d catch-ups", err, db.catchUps)
	}
}

// A request that does not wait still has a small lag caught up at once, without a job.
func TestEnsureSoon_SmallLag(t *testing.T) {
	db := newDatabase("cities")
	st := newStore(t, db)
	s := start(t, st, nil)
	commits(db, "a", 5)
	if err := s.EnsureSoon(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() (problem string) {
		db.set(func() {
			if db.indexed["a"] != 5 || db.catchUps != 1 {
				problem = fmt.Sprintf("indexed %v by %d catch-ups", db.indexed, db.catchUps)
			}
		})
		return problem
	})
	if len(st.jobs) != 0 {
		t.Errorf("%d jobs", len(st.jobs))
	}
}

func TestEnsure_LargeLagIsAJob(t *testing.T) {
	db := newDatabase("cities")
	st := newStore(t, db)
	s := start(t, st, nil)
	commits(db, "a", 5000)
	commits(db, "b", 3000)
	var requests sync.WaitGroup
	for range 50 {
		requests.Go(func() {
			if err := s.Ensure(t.Context(), db, db.design); err != nil {
				t.Error(err)
			}
		})
	}
	requests.Wait()
	if db.indexed["a"] != 5000 || db.indexed["b"] != 3000 {
		t.Errorf("indexed %v", db.indexed)
	}
	if db.finishes > 2 { // one, and perhaps another for a request that came just after it began
		t.Errorf("built %d times for 50 requests at once", db.finishes)
	}
	eventually(t, func() string {
		if n := find(s.Tree(), "indexer"); n != nil {
			return fmt.Sprintf("indexer %+v", n)
		}
		return ""
	})
}

// With concurrent requests and writers: what was committed before a request is in the index after it.
func TestEnsure_SeesEveryWriteBeforeIt(t *testing.T) {
	db := newDatabase("cities")
	s := start(t, newStore(t, db), nil)
	var work sync.WaitGroup
	for i := range 4 {
		shard := layer.ShardID(fmt.Sprint(i))
		work.Go(func() {
			for range 30 {
				commits(db, shard, 40)
				at := db.at(shard)
				if err := s.Ensure(t.Context(), db, db.design); err != nil {
					t.Error(err)
				}
				db.set(func() {
					if db.indexed[shard] < at {
						t.Errorf("shard %s is indexed to %d after a request at %d", shard, db.indexed[shard], at)
					}
				})
			}
		})
	}
	work.Wait()
}

func TestEnsure_FailuresReachTheRequest(t *testing.T) {
	t.Run("a batch that always fails", func(t *testing.T) {
		db := newDatabase("cities")
		db.stepFault = func(layer.ShardID) error {
			return &layer.Error{Kind: layer.TooLarge, Reason: "rows of one document exceed a transaction"}
		}
		s := start(t, newStore(t, db), nil)
		commits(db, "a", 5000)
		if err := s.Ensure(t.Context(), db, db.design); err == nil ||
			!strings.Contains(err.Error(), "exceed a transaction") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("no room", func(t *testing.T) {
		db := newDatabase("cities")
		db.stepFault = func(layer.ShardID) error { return kv.NewError(kv.CodeDiskFull, "injected", nil) }
		s := start(t, newStore(t, db), nil)
		commits(db, "a", 5000)
		for range 2 { // the second request learns of it only from the job
			if err := s.Ensure(t.Context(), db, db.design); layer.KindOf(err) != layer.Full {
				t.Errorf("error %v", err)
			}
		}
	})
	t.Run("an indexer that crashes", func(t *testing.T) {
		db := newDatabase("cities")
		db.stepFault = func(layer.ShardID) error { panic("an injected bug") }
		s := start(t, newStore(t, db), nil)
		commits(db, "a", 5000)
		begin := time.Now()
		if err := s.Ensure(t.Context(), db, db.design); err == nil ||
			!strings.Contains(err.Error(), "an injected bug") {
			t.Errorf("error %v", err)
		}
		t.Logf("error after %v", time.Since(begin))
	})
	t.Run("an indexer that crashes once", func(t *testing.T) {
		db := newDatabase("cities")
		var once sync.Once
		db.stepFault = func(layer.ShardID) error {
			once.Do(func() { panic("an injected bug") })
			return nil
		}
		s := start(t, newStore(t, db), nil)
		commits(db, "a", 5000)
		if err := s.Ensure(t.Context(), db, db.design); err != nil {
			t.Error(err)
		}
	})
	t.Run("the design document is gone", func(t *testing.T) {
		db := newDatabase("cities")
		design := db.design
		db.design = nil
		s := start(t, newStore(t, db), nil)
		commits(db, "a", 5000)
		if err := s.Ensure(t.Context(), db, design); layer.KindOf(err) != layer.NotFound {
			t.Errorf("error %v", err)
		}
	})
	t.Run("the request is cancelled", func(t *testing.T) {
		db := newDatabase("cities")
		blocked := make(chan struct{})
		db.stepFault = func(layer.ShardID) error {
			<-blocked
			return nil
		}
		s := start(t, newStore(t, db), nil)
		commits(db, "a", 5000)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := s.Ensure(ctx, db, db.design); !errors.Is(err, context.DeadlineExceeded) ||
			layer.KindOf(err) != layer.Timeout {
			t.Errorf("error %v", err)
		}
		// The job continues without it.
		waiting, cancelWaiting := context.WithCancel(t.Context())
		var requests sync.WaitGroup
		for range 2 {
			requests.Go(func() {
				if err := s.Ensure(waiting, db, db.design); err == nil {
					t.Error("the index is ready without its build")
				}
			})
		}
		eventually(t, func() string {
			if n := s.Waiting(db, db.design); n != 2 {
				return fmt.Sprintf("%d wait, want 2", n)
			}
			return ""
		})
		cancelWaiting()
		requests.Wait()
		if n := s.Waiting(db, db.design); n != 0 {
			t.Errorf("%d wait, want none", n)
		}
		close(blocked)
		eventually(t, func() string {
			db.mu.Lock()
			defer db.mu.Unlock()
			if db.indexed["a"] != 5000 {
				return fmt.Sprintf("indexed %v", db.indexed)
			}
			return ""
		})
	})
	t.Run("the store fails now and then", func(t *testing.T) {
		db := newDatabase("cities")
		st := newStore(t, db)
		n := 0
		st.fault = func(call string) error { // called with st.mu held
			if n++; n%3 == 0 && call != "job" && call != "enqueue" {
				return errInjected
			}
			return nil
		}
		s := start(t, st, nil)
		commits(db, "a", 5000)
		if err := s.Ensure(t.Context(), db, db.design); err != nil {
			t.Error(err)
		}
	})
}

// A request during a running job does not enqueue another one: when the job has ended, the lag is small and the request
// catches it up.
func TestEnsure_WhileAJobRuns(t *testing.T) {
	db := newDatabase("cities")
	release := make(chan struct{})
	db.stepFault = func(layer.ShardID) error {
		<-release
		return nil
	}
	st := newStore(t, db)
	s := start(t, st, nil)
	commits(db, "a", 5000)
	var requests sync.WaitGroup
	ensure := func(waiting int) {
		requests.Go(func() {
			if err := s.Ensure(t.Context(), db, db.design); err != nil {
				t.Error(err)
			}
		})
		eventually(t, func() string {
			if find(s.Tree(), "indexer") == nil || s.Waiting(db, db.design) != waiting {
				return fmt.Sprintf("%d requests wait for an indexer, want %d", s.Waiting(db, db.design), waiting)
			}
			return ""
		})
	}
	ensure(1)
	commits(db, "a", 3)
	ensure(2)
	close(release)
	requests.Wait()
	eventually(t, func() string {
		st.mu.Lock()
		defer st.mu.Unlock()
		for _, j := range st.jobs {
			if j.State != layer.JobFinished {
				return fmt.Sprintf("job %s is %s", j.ID, j.State)
			}
		}
		return ""
	})
	db.set(func() {
		if st.claims != 1 || db.indexed["a"] != 5003 {
			t.Errorf("%d runs of the job, indexed %v", st.claims, db.indexed)
		}
	})
}

// A request whose client leaves after it had the turn without success, and before it enqueued a job, leaves that to
// requests that came meanwhile: they do not wait until their next regular check.
func TestEnsure_LeftInTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// It runs last, because dead letters of the stop are counted in a goroutine that waits.
		t.Cleanup(func() { time.Sleep(time.Second) })
		db := newDatabase("cities")
		st := newStore(t, db)
		s := start(t, st, nil)
		commits(db, "a", 5000)
		ctx, goAway := context.WithCancel(t.Context())
		hold := make(chan struct{})
		var first, gone sync.Once
		db.catchingUp = func() {
			first.Do(func() {
				<-hold
				goAway()
			})
		}
		st.mu.Lock() // the node is already working
		st.fault = func(call string) (err error) {
			if call == "enqueue" && ctx.Err() != nil {
				gone.Do(func() { err = ctx.Err() })
			}
			return err
		}
		st.mu.Unlock()
		var requests sync.WaitGroup
		requests.Go(func() {
			if err := s.Ensure(ctx, db, db.design); err == nil {
				t.Error("a request without a client succeeded")
			}
		})
		synctest.Wait() // it has the turn
		requests.Go(func() {
			if err := s.Ensure(t.Context(), db, db.design); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait() // and the other waits
		close(hold)
		endSoon(t, &requests)
	})
}

// endSoon waits for requests that have nothing left to wait for.
func endSoon(t *testing.T, requests *sync.WaitGroup) {
	t.Helper()
	begin := time.Now()
	requests.Wait()
	if took := time.Since(begin); took >= time.Second {
		t.Errorf("a request waited for %v", took)
	}
}

// If the request with the turn could not enqueue a job, and does not wait, a request that came meanwhile and waits
// enqueues it.
func TestEnsureSoon_FailsAfterTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Second) }) // as above
		db := newDatabase("cities")
		st := newStore(t, db)
		s := start(t, st, nil)
		commits(db, "a", 5000)
		hold := make(chan struct{})
		var first, refused sync.Once
		db.catchingUp = func() { first.Do(func() { <-hold }) }
		st.mu.Lock()
		st.fault = func(call string) (err error) {
			if call == "enqueue" {
				refused.Do(func() { err = errors.New("not now") })
			}
			return err
		}
		st.mu.Unlock()
		if err := s.EnsureSoon(t.Context(), db, db.design); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // it has the turn
		var requests sync.WaitGroup
		requests.Go(func() {
			if err := s.Ensure(t.Context(), db, db.design); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait() // and the request waits
		close(hold)
		endSoon(t, &requests)
	})
}
