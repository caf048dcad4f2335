package build

import "testing"

// TestTransitions checks that every state can be reached and, except for the last one, left, and that each transition
// is listed once.
func TestTransitions(t *testing.T) {
	seen := map[[2]state]bool{}
	reached, left := map[state]bool{starting: true}, map[state]bool{}
	for _, tr := range transitions {
		if key := [2]state{tr.from, tr.to}; seen[key] {
			t.Errorf("%s to %s is listed twice", tr.from, tr.to)
		} else {
			seen[key] = true
		}
		if tr.when == "" {
			t.Errorf("%s to %s has no reason", tr.from, tr.to)
		}
		reached[tr.to], left[tr.from] = true, true
	}
	for s := starting; s <= closed; s++ {
		if !reached[s] || left[s] != (s != closed) {
			t.Errorf("%s: reached %t, left %t", s, reached[s], left[s])
		}
	}
}

// TestMachine_enter checks that transitions that are not listed are rejected and change nothing.
func TestMachine_enter(t *testing.T) {
	var m machine
	for _, to := range []state{finished, starting} {
		if err := m.enter(to); err == nil || m.state() != starting {
			t.Errorf("starting to %s: %v, now %s", to, err, m.state())
		}
	}
	for _, to := range []state{cutting, purging, stepping, finished, closed} {
		if err := m.in(to); err == nil {
			t.Errorf("in(%s) succeeded before enter", to)
		}
		if err := m.enter(to); err != nil || m.state() != to {
			t.Fatalf("to %s: %v, now %s", to, err, m.state())
		}
	}
	if err := m.enter(stepping); err == nil {
		t.Error("a closed build can enter stepping")
	}
}
