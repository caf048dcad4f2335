package cluster

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The view is tested from inside, because it has no exported API of its own.
func TestView(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	meta := func(id string) metadata { return metadata{ID: id, Remote: "127.0.0.1:1"} }
	status := func(v *view, now time.Time) map[string]Status {
		m := map[string]Status{}
		for _, x := range v.members(now) {
			m[x.Name] = x.Status
		}
		return m
	}
	placed := func(v *view) (s string) {
		for _, m := range v.placeable() {
			s += m.Name
		}
		return s
	}
	newTrio := func() *view {
		v := newView("a", time.Second)
		for _, n := range []string{"a", "b", "c"} {
			v.joined(start, n, n+":7946", meta(n+"1"))
		}
		return v
	}

	t.Run("silence makes a suspect, an answer clears it, and a suspect keeps its place", func(t *testing.T) {
		v := newTrio()
		v.answered(at(9*time.Second), "c", "")
		got := status(v, at(10*time.Second))
		if got["a"] != Alive || got["b"] != Suspect || got["c"] != Alive {
			t.Fatalf("after b was silent: %v", got)
		}
		if placed(v) != "abc" {
			t.Fatalf("placed on %q", placed(v))
		}
		v.answered(at(10*time.Second), "b", "")
		if got := status(v, at(11*time.Second)); got["b"] != Alive {
			t.Fatalf("after b answered: %v", got)
		}
	})
	t.Run("one that is probed first in a round and last in the next is not a suspect", func(t *testing.T) {
		v := newView("a", time.Second)
		for _, n := range []string{"a", "b", "c", "d", "e", "f"} {
			v.joined(start, n, n+":7946", meta(n+"1"))
		}
		// Five others: nine intervals from the first place of a round to the last of the next.
		if got := status(v, at(9*time.Second)); got["b"] != Alive {
			t.Fatalf("between two probes: %v", got)
		}
		if got := status(v, at(12*time.Second)); got["b"] != Suspect {
			t.Fatalf("after two rounds without an answer: %v", got)
		}
	})
	t.Run("one that was probed late because of a dead one is not a suspect", func(t *testing.T) {
		v := newTrio()
		v.giveUp(at(5*time.Second), "b")
		if got := status(v, at(5*time.Second)); got["c"] != Alive {
			t.Fatalf("when b is given up: %v", got)
		}
	})
	t.Run("a member that is given up loses its place and is looked for", func(t *testing.T) {
		v := newTrio()
		v.giveUp(at(time.Second), "b")
		if got := status(v, at(time.Second)); got["b"] != Left {
			t.Fatalf("status %v", got)
		}
		if m := v.members(at(time.Minute)); !m[1].GivenUp || m[0].GivenUp || m[2].GivenUp ||
			m[0].GoneSince != nil || m[1].GoneSince == nil || !m[1].GoneSince.Equal(at(time.Second)) {
			t.Fatalf("given up: %+v", m)
		}
		if placed(v) != "ac" {
			t.Fatalf("placed on %q", placed(v))
		}
		if l := v.lost(at(time.Minute)); len(l) != 1 || l[0] != "b:7946" {
			t.Fatalf("lost %v", l)
		}
	})
	t.Run("a member that leaves regularly loses its place before it goes and is not looked for", func(t *testing.T) {
		v := newTrio()
		leaving := meta("b1")
		leaving.Leaving = true
		v.joined(at(time.Second), "b", "b:7946", leaving)
		if placed(v) != "ac" || status(v, at(time.Second))["b"] != Alive {
			t.Fatalf("placed on %q, status %v", placed(v), status(v, at(time.Second)))
		}
		v.giveUp(at(2*time.Second), "b")
		if m := v.members(at(2 * time.Second)); m[1].Status != Left || m[1].GivenUp {
			t.Fatalf("given up: %+v", m[1])
		}
		if l := v.lost(at(time.Minute)); len(l) != 0 {
			t.Fatalf("lost %v", l)
		}
	})
	t.Run("a member that leaves says for how long it was up, as it was seen to be or not", func(t *testing.T) {
		for _, c := range []struct {
			up   time.Duration
			want time.Time
		}{{time.Hour, at(time.Minute - time.Hour)}, {0, start}} { // the latter of a version that does not say it
			v := newTrio()
			leaving := meta("b1")
			leaving.Leaving, leaving.Up = true, c.up.Milliseconds()
			v.joined(at(time.Minute), "b", "b:7946", leaving)
			v.joined(at(2*time.Minute), "b", "b:7946", leaving) // again
			v.events = nil
			v.giveUp(at(2*time.Minute), "b")
			if len(v.events) != 1 || v.events[0].Kind != MemberLeft || !v.events[0].Since.Equal(c.want) {
				t.Errorf("up for %v: %+v", c.up, v.events)
			}
			v.joined(at(3*time.Minute), "b", "b:7946", meta("b2")) // another life
			v.saysLeft(at(4*time.Minute), "b2", 30_000)
			if e := v.events[len(v.events)-1]; e.Kind != MemberLeft || !e.Since.Equal(at(210*time.Second)) {
				t.Errorf("then: %+v", e)
			}
		}
	})
	t.Run("a drained member that goes without leaving regularly was given up", func(t *testing.T) {
		v := newTrio()
		drained := meta("b1")
		drained.Leaving, drained.Stays = true, true
		v.joined(at(time.Second), "b", "b:7946", drained)
		if placed(v) != "ac" || !v.members(at(time.Second))[1].Draining {
			t.Fatalf("placed on %q", placed(v))
		}
		v.giveUp(at(2*time.Second), "b")
		if m := v.members(at(2 * time.Second)); !m[1].GivenUp || v.events[len(v.events)-1].Kind != MemberDead {
			t.Fatalf("%+v, events %+v", m[1], v.events)
		}
		if l := v.lost(at(time.Minute)); len(l) != 1 {
			t.Fatalf("lost %v", l)
		}
		if !v.joined(at(time.Minute), "b", "b:7946", drained) || placed(v) != "ac" {
			t.Error("it is not told that it had been given up")
		}
	})
	t.Run("a member that returns under its old id is stale, under a new one it is not", func(t *testing.T) {
		v := newTrio()
		v.giveUp(at(time.Second), "b")
		v.giveUp(at(time.Second), "c")
		if !v.joined(at(2*time.Second), "b", "b:7946", meta("b1")) {
			t.Error("b returned under its old id and is not stale")
		}
		if v.joined(at(2*time.Second), "c", "c:7946", meta("c2")) {
			t.Error("c returned under a new id and is stale")
		}
		if v.joined(at(3*time.Second), "b", "b:7946", meta("b1")) {
			t.Error("an update of a live member is stale")
		}
	})
	t.Run("metadata that is not understood is shown and gets no actors", func(t *testing.T) {
		v := newTrio()
		v.joined(at(time.Second), "x", "x:7946", decodeMetadata([]byte("\xff not json")))
		if placed(v) != "abc" || status(v, at(time.Second))["x"] != Alive {
			t.Fatalf("placed on %q, status %v", placed(v), status(v, at(time.Second)))
		}
	})
	t.Run("a member that is said to have left is checked if memberlist lists it", func(t *testing.T) {
		v := newTrio()
		v.saysLeft(at(time.Second), "b1", 0)
		v.saysLeft(at(time.Second), "c1", 0)
		v.unlisted(at(2*time.Second), "c")
		if m := v.members(at(time.Minute)); m[1].Status != Left || m[1].GivenUp || m[2].Status != Left {
			t.Fatalf("members %+v", m)
		}
		if l := v.dubious(at(time.Second + leftHolds - 1)); len(l) != 0 {
			t.Fatalf("dubious at once: %v", l)
		}
		v.joined(at(3*time.Second), "b", "b:7946", meta("b1.1")) // it may have announced that before
		if l := v.dubious(at(time.Second + leftHolds)); len(l) != 1 || l[0] != (leaver{"b", "b:7946", "b1.1"}) {
			t.Fatalf("dubious: %v", l)
		}
		if placed(v) != "a" {
			t.Fatalf("placed on %q", placed(v))
		}
	})
	t.Run("a member that left is forgotten after a day", func(t *testing.T) {
		v := newTrio()
		v.giveUp(at(0), "b")
		if n := len(v.members(at(25 * time.Hour))); n != 2 {
			t.Fatalf("%d members", n)
		}
		if l := v.lost(at(25 * time.Hour)); len(l) != 0 {
			t.Fatalf("lost %v", l)
		}
	})
}

func TestView_events(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	v := newView("a", time.Second)
	up := func(seconds int, name, id string, leaving bool) {
		v.joined(at(seconds), name, name+":7946", metadata{ID: id, Remote: "127.0.0.1:1", Leaving: leaving})
	}
	up(0, "a", "a1", false)
	up(1, "b", "b1", false)
	up(2, "b", "b1", false) // an update
	v.answered(at(10), "b", "")
	v.suspects(at(11))
	v.suspects(at(15))
	v.suspects(at(16))
	v.answered(at(17), "b", "")
	v.giveUp(at(20), "b")
	v.giveUp(at(20), "b")
	v.suspects(at(30))
	up(40, "b", "b1", false)
	up(50, "b", "b1.1", false) // the new id that was asked of it
	v.answered(at(51), "b", "b1")
	v.answered(at(54), "b", "b2") // a run that is not known yet
	up(55, "b", "b2", false)
	up(60, "b", "b2", true)
	v.giveUp(at(61), "b")
	up(70, "b", "b3", false)
	v.suspects(at(80))
	v.giveUp(at(81), "b")
	up(90, "b", "b4", false)
	up(91, "b", "b5", false)
	want := []string{"joined 1 never", "suspected 15 10", "answers 17 10", "dead 20 17",
		"returned 40 17", "restarted 55 51", "left 61 55", "returned 70 61", "suspected 80 70", "dead 81 70",
		"returned 90 70",
		"restarted 91 90"}
	for i, e := range v.events {
		since := "never"
		if !e.Since.IsZero() {
			since = strconv.FormatInt(e.Since.Unix()-1000, 10)
		}
		got := fmt.Sprintf("%s %d %s", e.Kind, e.At.Unix()-1000, since)
		if i >= len(want) || got != want[i] || e.Member != "b" || e.Address != "b:7946" {
			t.Errorf("event %d is %s of %s", i, got, e.Member)
		}
	}
	if len(v.events) != len(want) {
		t.Errorf("%d events, want %d", len(v.events), len(want))
	}
	v.giveUp(at(92), "b")
	if v.forget("b", at(90)) || !v.forget("b", at(91)) || v.forget("b", at(91)) || v.forget("a", at(91)) ||
		len(v.lost(at(90))) != 0 {
		t.Error("a member that is up or was heard can be forgotten, or one that is gone cannot")
	}
}

// What others tell of a member is no sign of life: they may not know yet that it has died.
func TestView_unheard(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	meta := func(id, version string) metadata { return metadata{ID: id, Remote: "127.0.0.1:1", Version: version} }
	for _, c := range []struct {
		name string
		then func(v *view)
		want string
	}{
		{"one that never answers is not heard", func(*view) {}, "joined -, dead -"},
		{"one that restarts before it answers, either", func(v *view) { v.joined(at(1), "b", "b:1", meta("b2", "")) },
			"joined -, restarted -, suspected 1, dead 1"},
		{"of one that answers it is known", func(v *view) { v.answered(at(1), "b", "b1") },
			"joined -, suspected 1, dead 1"},
		{"also if it is another run that answers", func(v *view) { v.answered(at(1), "b", "b2") },
			"joined -, suspected 1, dead 1"},
		{"what it tells to others later, and they to this one, is old", func(v *view) {
			v.answered(at(1), "b", "b1")
			v.joined(at(3), "b", "b:1", meta("b1", "new"))
			v.suspects(at(8))
			v.joined(at(9), "b", "b:1", meta("b1", "newer"))
			v.suspects(at(9))
		}, "joined -, suspected 1, dead 1"},
		{"one that returns was heard", func(v *view) {
			v.giveUp(at(1), "b")
			v.joined(at(2), "b", "b:1", meta("b2", ""))
		}, "joined -, dead -, returned 1, suspected 2, dead 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newView("a", time.Second)
			v.joined(start, "a", "a:1", meta("a1", ""))
			v.joined(start, "b", "b:1", meta("b1", ""))
			if c.then(v); v.members(at(2))[1].Status != Alive || len(v.overdue(at(2))) != 0 {
				t.Errorf("it is suspected at once: %+v", v.members(at(2))[1])
			}
			v.suspects(at(10))
			if v.members(at(10))[1].Status != Suspect {
				t.Errorf("after ten seconds it is %+v", v.members(at(10))[1])
			}
			v.giveUp(at(11), "b")
			var got []string
			for _, e := range v.events {
				since := "-"
				if !e.Since.IsZero() {
					since = fmt.Sprint(e.Since.Sub(start).Seconds())
				}
				got = append(got, fmt.Sprintf("%s %s", e.Kind, since))
			}
			if got := strings.Join(got, ", "); got != c.want {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
}

// A member that answered a moment ago is not told to be dead because of gossip about an earlier life of it, which it
// contradicts. If it does not, it is given up after all.
func TestView_doubts(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	told := func(v *view) (list []string) {
		for _, e := range v.events[2:] {
			text := fmt.Sprintf("%s %s %v", e.Kind, e.Member, e.At.Sub(start).Seconds())
			if e.Kind == MemberDead {
				text += fmt.Sprintf(" %v", e.Since.Sub(start).Seconds())
			}
			list = append(list, text)
		}
		return list
	}
	for _, c := range []struct {
		name string
		then func(v *view)
		want []string
	}{
		{"contradicted", func(v *view) {
			v.joined(at(1.1), "b", "b:7946", metadata{ID: "b1", Remote: "127.0.0.1:1"})
			v.settle(at(5))
		}, nil},
		{"contradicted by a new life", func(v *view) {
			v.joined(at(1.1), "b", "b:7946", metadata{ID: "b2", Remote: "127.0.0.1:1"})
			v.settle(at(5))
		}, []string{"restarted b 1.1"}},
		{"not contradicted", func(v *view) {
			if v.settle(at(1.5)) || len(v.reachable()) != 3 || !v.settle(at(2)) || len(v.reachable()) != 2 {
				t.Error("it is given up too early, or not at all")
			}
		}, []string{"dead b 2 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newView("a", time.Second)
			for _, n := range []string{"a", "b", "c"} {
				v.joined(start, n, n+":7946", metadata{ID: n + "1", Remote: "127.0.0.1:1"})
				v.answered(start, n, "")
			}
			v.answered(at(1), "b", "")
			if !v.unlisted(at(1), "b") || v.unlisted(at(1.05), "b") {
				t.Error("it is not asked once")
			}
			if c.then(v); !slices.Equal(told(v), c.want) {
				t.Errorf("told %q, want %q", told(v), c.want)
			}
		})
	}
	t.Run("a suspect is not doubted", func(t *testing.T) {
		v := newView("a", time.Second)
		for _, n := range []string{"a", "b", "c"} {
			v.joined(start, n, n+":7946", metadata{ID: n + "1", Remote: "127.0.0.1:1"})
			v.answered(start, n, "")
		}
		v.suspects(at(6))
		if v.unlisted(at(7), "b") || !slices.Contains(told(v), "dead b 7 0") {
			t.Errorf("told %q", told(v))
		}
	})
}

// While this member is paused it cannot hear the others.
func TestView_paused(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	v := newView("a", time.Second)
	for _, n := range []string{"a", "b", "c"} {
		v.joined(start, n, n+":7946", metadata{ID: n + "1", Remote: "127.0.0.1:1"})
		v.answered(start, n, "")
	}
	v.lastRan = start
	run := func(from, to float64) {
		for s := from; s <= to; s++ {
			v.noteRunning(at(s))
			v.suspects(at(s))
		}
	}
	run(0, 3)
	v.answered(at(3), "c", "")
	run(33, 34)
	for _, m := range v.members(at(34)) {
		if m.Status != Alive {
			t.Errorf("%s is %s", m.Name, m.Status)
		}
	}
	v.answered(at(35), "c", "")
	run(35, 38) // b is silent for 3 s before the pause and as long after it as makes a suspect
	v.answered(at(38), "c", "")
	run(41, 41) // a moment, which is not told
	var got []string
	for _, e := range v.events[2:] {
		got = append(got, fmt.Sprintf("%s %s %v %v", e.Kind, e.Member, e.At.Sub(start).Seconds(),
			e.Since.Sub(start).Seconds()))
	}
	if want := []string{"paused a 33 3", "suspected b 36 0"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	if s := v.members(at(41)); s[1].Status != Suspect || s[2].Status != Alive {
		t.Errorf("%+v", s)
	}
}

// A member that did not run for as long as the others wait takes a new id and tells that, whoever notes first that it
// runs again. One that was only late to look at its members does neither.
func TestMembers_runs(t *testing.T) {
	for _, c := range []struct {
		pauses []time.Duration // before each note
		renews bool
		events int
	}{
		{[]time.Duration{time.Second, 4 * time.Second}, false, 0},
		{[]time.Duration{6 * time.Second}, false, 1},
		{[]time.Duration{9 * time.Second, time.Second}, true, 1},
		{[]time.Duration{4 * time.Second, 4 * time.Second, 4 * time.Second}, false, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMembers(&Options{Name: "a", ProbeInterval: time.Second, Logger: slog.New(slog.DiscardHandler)})
			m.mu.view.joined(time.Now(), "a", "a:7946", metadata{ID: "a1"})
			time.Sleep(10 * time.Second) // it waits for its name, and joins
			m.list()
			m.begins()
			for _, pause := range c.pauses {
				time.Sleep(pause)
				m.list()
			}
			if renews, _ := m.takeNewID(); renews != c.renews || len(m.mu.view.events) != c.events {
				t.Errorf("after %v: renews %v, events %+v", c.pauses, renews, m.mu.view.events)
			}
		})
	}
}

func TestRenewed(t *testing.T) {
	first := newID()
	second := renewed(first)
	third := renewed(second)
	if second == first || third == second || !sameRun(first, second) || !sameRun(second, third) {
		t.Errorf("%q, %q, %q are not of one run", first, second, third)
	}
	if sameRun(first, newID()) {
		t.Error("another id is of the same run")
	}
}
