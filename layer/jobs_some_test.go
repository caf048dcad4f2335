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
		t.Errorf("%d of %d jobs were claimed: %v", len(claimed), jobs, by) // how many by whom is chance
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

// Of the jobs that are due, a worker takes one that competes with the fewest of its own, and of those the one that is
// due first.
func TestStore_Claim_crowd(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	for _, id := range []string{"many/1", "many/2", "many/3", "few/1", "many/4", "few/2", "one/1"} {
		enqueue(t, s, id)
	}
	has := map[string]int{"many": 2}
	of := func(id string) string { return id[:strings.IndexByte(id, '/')] }
	w := layer.Worker{Name: "w", Life: "1", Lease: time.Minute, Crowd: func(id string) int { return has[of(id)] },
		Grace: func(string) time.Duration { return 0 }}
	var got []string
	for range 7 {
		j, err := layer.ClaimJob(t.Context(), s, "t", w)
		if err != nil || j == nil {
			t.Fatal(j, err)
		}
		has[of(j.ID)]++
		got = append(got, j.ID)
	}
	if want := "[few/1 one/1 few/2 many/1 many/2 many/3 many/4]"; fmt.Sprint(got) != want {
		t.Errorf("claimed %v, want %v", got, want)
	}
}

// A job is only removed as it was read: not if it was enqueued again since, or does something else by now.
func TestStore_RemoveJobLike(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *layer.Store, j *layer.Job) error
		stays  bool
	}{
		"as it was": {change: func(*layer.Store, *layer.Job) error { return nil }},
		"reported": {change: func(s *layer.Store, j *layer.Job) error {
			return s.Renew(t.Context(), j, []byte("{}"))
		}},
		"enqueued again": {change: func(s *layer.Store, j *layer.Job) error {
			return s.Enqueue(t.Context(), "t", j.ID, j.Data)
		}, stays: true},
		"other data": {change: func(s *layer.Store, j *layer.Job) error {
			return s.Enqueue(t.Context(), "t", j.ID, []byte(`"other"`))
		}, stays: true},
		"another name": {change: func(s *layer.Store, j *layer.Job) error {
			_, err := s.Hold(t.Context(), j, "second")
			return err
		}, stays: true},
	} {
		s := mustStore(t, mustEngine(t), layer.Options{})
		enqueue(t, s, "a")
		j, err := layer.ClaimJob(t.Context(), s, "t", layer.Worker{Name: "w", Life: "1", Lease: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		if holder, err := s.Hold(t.Context(), j, "first"); holder != "" || err != nil {
			t.Fatal(holder, err)
		}
		was, err := s.Holder(t.Context(), "t", "first")
		if err != nil || was == nil || was.ID != "a" {
			t.Fatal(was, err)
		}
		if err := c.change(s, j); err != nil {
			t.Fatal(name, err)
		}
		removed, err := s.RemoveJobLike(t.Context(), was)
		if err != nil || removed == c.stays {
			t.Errorf("%s: removed %v, %v", name, removed, err)
		}
	}
}
