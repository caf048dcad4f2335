package layer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
)

// Answers to whether a node is alive.
func alive(string) (alive, sure bool)  { return true, true }
func dead(string) (alive, sure bool)   { return false, true }
func silent(string) (alive, sure bool) { return false, false }

type askNode = func(string) (alive, sure bool)

func takeName(t *testing.T, n *layer.NodeName, gossip string, ask askNode) (holder string) {
	t.Helper()
	holder, err := n.Take(t.Context(), gossip, ask)
	if err != nil {
		t.Fatal(err)
	}
	return holder
}

// confirmed fails the test unless confirming names want.
func confirmed(t *testing.T, n *layer.NodeName, want string) {
	t.Helper()
	if holder, err := n.Confirm(t.Context()); err != nil || holder != want {
		t.Errorf("confirming names %q, %v; want %q", holder, err, want)
	}
}

// held answers for a node until the end of the test.
func held(t *testing.T, n *layer.NodeName) {
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		if holder, err := n.Hold(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("holding ended with %q, %v", holder, err)
		}
	})
	t.Cleanup(func() { cancel(); done.Wait() })
}

// A name belongs to its last node as long as that is alive.
func TestNodeName_Take(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	for i, c := range []struct {
		gossip string
		alive  []string
		want   string
	}{
		{"a", nil, ""},
		{"a", []string{"a"}, ""}, // it has the port of the one before
		{"b", []string{"a"}, "a"},
		{"b", nil, ""},
		{"a", []string{"b"}, "b"},
		{"b", []string{"a", "b"}, ""},
	} {
		got := takeName(t, s.NodeName("n"), c.gossip, func(gossip string) (bool, bool) {
			for _, a := range c.alive {
				if a == gossip {
					return true, true
				}
			}
			return false, true
		})
		if got != c.want {
			t.Errorf("%d: %s finds holder %q, want %q", i, c.gossip, got, c.want)
		}
	}
}

// If several nodes want a name at once, one gets it, whatever they hear of each other.
func TestNodeName_atOnce(t *testing.T) {
	for name, ask := range map[string]askNode{"they see each other": alive, "they believe the others dead": dead} {
		t.Run(name, func(t *testing.T) {
			s := mustStore(t, mustEngine(t), layer.Options{})
			takeName(t, s.NodeName("n"), "killed", dead)
			var all, taken sync.WaitGroup
			var mu sync.Mutex
			got := 0
			taken.Add(10)
			for i := range 10 {
				all.Go(func() {
					n := s.NodeName("n")
					holder, err := n.Take(t.Context(), fmt.Sprint(i), func(gossip string) (bool, bool) {
						if gossip == "killed" {
							return false, true
						}
						return ask(gossip)
					})
					taken.Done()
					taken.Wait() // the worst case: no node confirms before all have tried
					if err == nil && holder == "" {
						holder, err = n.Confirm(t.Context())
					}
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Error(err)
					}
					if holder == "" {
						got++
					}
				})
			}
			all.Wait()
			if got != 1 {
				t.Errorf("%d of ten have one name", got)
			}
		})
	}
}

// A node that is believed dead keeps its name if it does anything before the name is taken.
func TestNodeName_Confirm(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	a, b := s.NodeName("n"), s.NodeName("n")
	takeName(t, a, "a", dead)
	asked := 0
	holder := takeName(t, b, "b", func(gossip string) (bool, bool) {
		asked++
		if asked == 1 {
			confirmed(t, a, "") // after b has read that a has the name, and before b takes it
			return false, true
		}
		return true, true
	})
	if holder != "a" || asked != 2 {
		t.Errorf("b finds holder %q after %d questions", holder, asked)
	}
	// If it does nothing, it loses the name.
	if holder := takeName(t, b, "b", dead); holder != "" {
		t.Errorf("b finds holder %q, which is dead", holder)
	}
	confirmed(t, a, "b")
	confirmed(t, b, "")
}

// Nodes that cannot reach each other ask through the store.
func TestNodeName_Hold(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	a := s.NodeName("n")
	takeName(t, a, "a", dead)
	held(t, a)
	var all sync.WaitGroup
	for i := range 5 {
		all.Go(func() {
			n := s.NodeName("n")
			n.SetPatience(time.Hour)
			if holder, err := n.Take(t.Context(), fmt.Sprint(i), silent); err != nil || holder != "a" {
				t.Errorf("%d finds holder %q, %v", i, holder, err)
			}
		})
	}
	all.Wait()
	confirmed(t, a, "")
}

func TestNodeName_Hold_silent(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	a := s.NodeName("n")
	takeName(t, a, "a", dead)
	var all sync.WaitGroup
	var mu sync.Mutex
	var got []*layer.NodeName
	for i := range 3 {
		all.Go(func() {
			n := s.NodeName("n")
			n.SetPatience(time.Millisecond)
			holder, err := n.Take(t.Context(), fmt.Sprint(i), func(gossip string) (bool, bool) {
				return gossip != "a", gossip != "a"
			})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if holder == "" {
				got = append(got, n)
			}
		})
	}
	all.Wait()
	if len(got) != 1 {
		t.Fatalf("%d of three have one name", len(got))
	}
	// The node that has lost its name finds out.
	holder, err := a.Hold(t.Context())
	if err != nil || holder == "" || holder == "a" {
		t.Errorf("a finds holder %q, %v", holder, err)
	}
	// It gets the name back when the other one is gone.
	if err := got[0].Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	confirmed(t, a, "")
	if holder := takeName(t, s.NodeName("n"), "b", alive); holder != "a" {
		t.Errorf("b finds holder %q", holder)
	}
}

// A released name is free. Only the node that has it can release it.
func TestNodeName_Release(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	a, b, c := s.NodeName("n"), s.NodeName("n"), s.NodeName("n")
	takeName(t, a, "a", dead)
	if err := b.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if holder := takeName(t, b, "b", alive); holder != "a" {
		t.Errorf("b finds holder %q", holder)
	}
	if err := a.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if holder := takeName(t, c, "c", alive); holder != "" {
		t.Errorf("c finds holder %q", holder)
	}
}

// Of nodes that drain at the same moment one is left that works.
func TestNodeName_Drain(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	var names []string
	var nodes []*layer.NodeName
	for i := range 4 {
		names = append(names, fmt.Sprint("n", i))
		nodes = append(nodes, s.NodeName(names[i]))
		if _, err := nodes[i].Drain(t.Context(), names); layer.KindOf(err) != layer.Conflict {
			t.Errorf("a node without its name drains: %v", err)
		}
		takeName(t, nodes[i], names[i], dead)
	}
	if got, err := s.NodeNames(t.Context()); err != nil || !slices.Equal(got, names) {
		t.Errorf("nodes have the names %q, %v", got, err)
	}
	drain := func(i int) bool {
		others := append(slices.Delete(slices.Clone(names), i, i+1), "gone")
		drained, err := nodes[i].Drain(t.Context(), others)
		if err != nil {
			t.Error(err)
		}
		return drained
	}
	for round := range 10 {
		var draining sync.WaitGroup
		var drained [4]bool
		for i := range nodes {
			draining.Go(func() { drained[i] = drain(i) })
		}
		draining.Wait()
		left := -1
		for i, yes := range drained {
			confirmed(t, nodes[i], "") // a node that does anything else stays drained
			if again := drain(i); again != yes {
				t.Errorf("round %d: %s drains %v, and then %v", round, names[i], yes, again)
			}
			switch {
			case !yes && left >= 0:
				t.Errorf("round %d: neither %s nor %s drain", round, names[left], names[i])
			case !yes:
				left = i
			}
		}
		if left < 0 {
			t.Fatalf("round %d: all are drained", round)
		}
		other := (left + 1) % 4 // starts again and works
		nodes[other] = s.NodeName(names[other])
		takeName(t, nodes[other], names[other], dead)
		if !drain(left) {
			t.Errorf("round %d: %s does not drain, and another node works again", round, names[left])
		}
		for i := range nodes {
			nodes[i] = s.NodeName(names[i])
			takeName(t, nodes[i], names[i], dead)
		}
	}
}

// drains checks whether a node may drain if there is one other.
func drains(t *testing.T, n *layer.NodeName, other string, want bool) {
	t.Helper()
	if drained, err := n.Drain(t.Context(), []string{other}); err != nil || drained != want {
		t.Errorf("draining says %v, %v; want %v", drained, err, want)
	}
}

// A node that is drained stays so if it loses its name and takes it again, and if a node asks whose version knows less
// of the record.
func TestNodeName_Drain_lasts(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	a, b := s.NodeName("a"), s.NodeName("b")
	takeName(t, a, "a", dead)
	takeName(t, b, "b", dead)
	drains(t, a, "b", true)
	for name, lose := range map[string]func(*testing.T){
		"an old node asks": func(t *testing.T) {
			if err := a.RewriteRecord(t.Context(), func(before []byte) []byte {
				return bytes.Replace(before, []byte(`,"drained":true`), []byte(`,"asked":"x"`), 1)
			}); err != nil {
				t.Error(err)
			}
			held(t, a)
			other := s.NodeName("a")
			other.SetPatience(time.Hour)
			if holder := takeName(t, other, "other", silent); holder != "a" {
				t.Errorf("the holder is %q", holder)
			}
		},
		"another node has the name for a while": func(t *testing.T) {
			other := s.NodeName("a")
			if holder := takeName(t, other, "other", dead); holder != "" {
				t.Errorf("the holder is %q", holder)
			}
			if err := other.Release(t.Context()); err != nil {
				t.Error(err)
			}
			takeName(t, a, "a", dead)
		},
		"nobody has the name for a while": func(t *testing.T) {
			if err := a.Release(t.Context()); err != nil {
				t.Error(err)
			}
			confirmed(t, a, "")
		},
	} {
		t.Run(name, lose)
		drains(t, b, "a", false)
	}
}

// A node that ends is not counted on, and one that has been started again is not drained.
func TestNodeName_Drain_ended(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	a, b := s.NodeName("a"), s.NodeName("b")
	takeName(t, a, "a", dead)
	takeName(t, b, "b", dead)
	if err := b.Ends(t.Context()); err != nil {
		t.Fatal(err)
	}
	drains(t, a, "b", false)
	b = s.NodeName("b")
	takeName(t, b, "b", dead)
	drains(t, a, "b", true)
	drains(t, a, "b", true)
	drains(t, b, "a", false)
}

// A drain that was recorded although it failed is taken back by the node, which goes on working, so that others can be
// drained. One that has succeeded is not.
func TestNodeName_Drain_unknown(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	a, b := s.NodeName("a"), s.NodeName("b")
	takeName(t, a, "a", dead)
	takeName(t, b, "b", dead)
	if err := a.RewriteRecord(t.Context(), func(before []byte) []byte {
		return append(before[:len(before)-1], `,"drained":true}`...)
	}); err != nil {
		t.Fatal(err)
	}
	drains(t, b, "a", false)
	held(t, a)
	held(t, b)
	for drained := false; !drained; { // until it is taken back
		var err error
		if drained, err = b.Drain(t.Context(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) {
		drains(t, a, "b", false)
	}
}
