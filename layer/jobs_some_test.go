package layer_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// idsOf returns the ids of claimed jobs.
func idsOf(c layer.Claimed) (list []string) {
	if c.Job != nil {
		list = append(list, c.Job.ID)
	}
	for _, j := range c.More {
		list = append(list, j.ID)
	}
	return list
}

// someJobs returns a store with n jobs that a worker has given back, which are due, and a worker that can claim them.
func someJobs(t *testing.T, n int) (*layer.Store, layer.Worker) {
	t.Helper()
	s := mustStore(t, mustEngine(t), layer.Options{})
	for i := range n {
		enqueue(t, s, fmt.Sprintf("%03d", i))
	}
	var claimed []*layer.Job
	for len(claimed) < n {
		j, err := layer.ClaimJob(t.Context(), s, "t", layer.Worker{Name: "ends", Life: "1", Lease: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		if j != nil {
			claimed = append(claimed, j)
		}
	}
	for _, j := range claimed {
		if err := s.GiveBack(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	return s, layer.Worker{Name: "w", Life: "1", Lease: time.Minute, Room: 2 * n}
}

// A worker with room for all jobs that are due takes several in one transaction: those that it is preferred for, or
// else some of the others.
func TestStore_Claim_some(t *testing.T) {
	const jobs = 100
	s, w := someJobs(t, jobs)
	w.Owns = func(id string) bool { n, _ := strconv.Atoi(id); return n%2 == 0 }
	var owned, others []int // of each claim
	claimed := map[string]bool{}
	for {
		c, err := s.Claim(t.Context(), "t", w)
		if err != nil {
			t.Fatal(err)
		}
		if c.Job == nil {
			c.Watch.Cancel()
			break
		}
		got := idsOf(c)
		if w.Owns(got[0]) {
			owned = append(owned, len(got))
		} else {
			others = append(others, len(got))
		}
		for _, id := range got {
			if w.Owns(id) != w.Owns(got[0]) {
				t.Errorf("claimed together: %v", got)
			}
		}
		for _, j := range append(c.More, c.Job) {
			if j.Worker != "w" || j.Token == 0 || j.State != layer.JobRunning || claimed[j.ID] {
				t.Errorf("claimed %+v", j)
			}
			claimed[j.ID] = true
		}
	}
	if len(claimed) != jobs {
		t.Errorf("%d of %d jobs were claimed", len(claimed), jobs)
	}
	if faultkv.Enabled() { // each attempt that fails halves the number
		return
	}
	if !slices.Equal(owned, []int{32, 18}) {
		t.Errorf("those that it is preferred for were claimed by %v", owned)
	}
	if len(others) > 12 || others[0] > jobs/2/4 {
		t.Errorf("the others were claimed by %v", others)
	}
}

// A worker that has no room for all jobs that are due takes one at a time, the longest due first, whether it is
// preferred for it or not.
func TestStore_Claim_someTurns(t *testing.T) {
	const jobs = 20
	s, w := someJobs(t, jobs)
	w.Room, w.Owns = jobs/2, func(id string) bool { return id > "010" }
	for i := range jobs / 2 {
		c, err := s.Claim(t.Context(), "t", w)
		if err != nil {
			t.Fatal(err)
		}
		if got := idsOf(c); len(got) != 1 || got[0] != fmt.Sprintf("%03d", i) {
			t.Errorf("claimed %v as number %d", got, i)
		}
	}
}

// A worker takes no jobs that it leaves to others for a while, but those behind them.
func TestStore_Claim_someGrace(t *testing.T) {
	const jobs = 20
	s, w := someJobs(t, jobs)
	owned := map[string]bool{}
	owns := func(id string) bool { n, _ := strconv.Atoi(id); return n%2 == 0 }
	w.Owns, w.Grace = owns, func(id string) time.Duration {
		if owns(id) {
			return 0
		}
		return time.Hour
	}
	for len(owned) < jobs/2 {
		c, err := s.Claim(t.Context(), "t", w)
		got := idsOf(c)
		if err != nil || len(got) == 0 || len(got) != jobs/2 && !faultkv.Enabled() {
			t.Fatalf("claimed %v, %v", got, err)
		}
		for _, id := range got {
			if !owns(id) || owned[id] {
				t.Errorf("claimed %s", id)
			}
			owned[id] = true
		}
	}
	c, err := s.Claim(t.Context(), "t", w)
	if err != nil || c.Job != nil {
		t.Fatalf("then %+v, %v", c, err)
	}
	c.Watch.Cancel()
}

// Workers that take several jobs at once, and others that take one at a time, take each once, and each gets some.
func TestStore_Claim_someOnce(t *testing.T) {
	const jobs = 300
	s, _ := someJobs(t, jobs)
	names := []string{"a", "b", "c"}
	var mu sync.Mutex
	claimed := map[string]string{}
	by := map[string]int{}
	var workers sync.WaitGroup
	for i, name := range names {
		w := layer.Worker{Name: name, Life: "1", Lease: time.Minute, Room: jobs,
			Owns: func(id string) bool { n, _ := strconv.Atoi(id); return n%len(names) == i }}
		if i == 2 {
			w.Room = 1 // as of an earlier version
		}
		workers.Go(func() {
			for {
				c, err := s.Claim(t.Context(), "t", w)
				if err != nil {
					t.Error(err)
					return
				}
				if c.Job == nil {
					c.Watch.Cancel()
					return
				}
				mu.Lock()
				for _, id := range idsOf(c) {
					if before := claimed[id]; before != "" {
						t.Errorf("job %s was claimed by %s and %s", id, before, name)
					}
					claimed[id] = name
					by[name]++
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if len(claimed) != jobs {
		t.Errorf("%d of %d jobs were claimed: %v", len(claimed), jobs, by)
	}
	// A worker whose attempts fail by injected faults may find that others were faster.
	if !faultkv.Enabled() && (by["a"] < jobs/10 || by["b"] < jobs/10) {
		t.Errorf("of %d jobs were claimed: %v", jobs, by)
	}
	for j, err := range s.Jobs(t.Context()) {
		if err != nil || j.State != layer.JobRunning || j.Worker != claimed[j.ID] {
			t.Errorf("%+v is %s's, %v", j, claimed[j.ID], err)
		}
	}
}

// The jobs of a dead worker are taken together.
func TestStore_Claim_someSilent(t *testing.T) {
	const jobs = 40
	s, _ := someJobs(t, jobs)
	dead := layer.Worker{Name: "dead", Life: "1", Lease: 200 * time.Millisecond, Room: 2 * jobs,
		Owns: func(string) bool { return true }}
	for n := 0; n < jobs; {
		c, err := s.Claim(t.Context(), "t", dead)
		if err != nil || c.Job == nil {
			t.Fatalf("%d are claimed, %v", n, err)
		}
		n += len(idsOf(c))
	}
	heir := layer.Worker{Name: "heir", Life: "1", Lease: time.Minute, Room: 2 * jobs,
		Gone: func(w string) bool { return w == "dead" }, Owns: func(string) bool { return true }}
	var got []string
	transactions := 0
	for len(got) < jobs {
		c, err := s.Claim(t.Context(), "t", heir)
		if err != nil {
			t.Fatal(err)
		}
		if c.Job == nil {
			c.Watch.Cancel()
			time.Sleep(time.Until(c.Next.At))
			continue
		}
		transactions++
		for _, j := range append(c.More, c.Job) {
			if j.TakenFrom != "dead" { // it is known to have ended
				t.Errorf("%s was taken from %q", j.ID, j.TakenFrom)
			}
		}
		got = append(got, idsOf(c)...)
	}
	slices.Sort(got)
	if len(slices.Compact(got)) != jobs || transactions > 4 && !faultkv.Enabled() {
		t.Errorf("%d transactions claimed %s", transactions, strings.Join(got, " "))
	}
}
