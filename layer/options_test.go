package layer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
)

// An option that one node changes is stored, and other nodes on the store see it without asking.
func TestStore_NodeOptions(t *testing.T) {
	e := mustEngine(t)
	there := mustStore(t, e, layer.Options{})
	here := mustStore(t, e, layer.Options{}) // closed first, which removes its transaction ids
	timeout, admin := layer.OptionName{Section: "chttpd_auth", Key: "timeout"},
		layer.OptionName{Section: "admins", Key: "root"}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	seen := make(chan layer.NodeOptions)
	done := make(chan error)
	go func() {
		var err error
		for ctx.Err() == nil { // a watch can fail
			err = there.FollowNodeOptions(ctx, func(o layer.NodeOptions) { seen <- o })
		}
		close(seen)
		done <- err
	}()
	// wait returns the first options that another node sees with so many values.
	wait := func(n int) layer.OptionValues {
		for o := range seen {
			if len(o.Values) == n {
				return o.Values
			}
		}
		t.Fatal("another node does not see the change")
		return nil
	}
	if first := (<-seen).Values; len(first) != 0 {
		t.Fatalf("a new store has options %v", first)
	}
	value := "60"
	set := func(o layer.OptionValues) error {
		o[timeout], o[admin] = &value, nil
		return nil
	}
	if _, err := here.ChangeNodeOptions(ctx, set); err != nil {
		t.Fatal(err)
	}
	o := wait(2)
	if deleted, there := o[admin]; o[timeout] == nil || *o[timeout] != value || !there || deleted != nil {
		t.Errorf("another node sees %v", o)
	}
	refused := errors.New("refused")
	if _, err := here.ChangeNodeOptions(ctx, func(o layer.OptionValues) error {
		delete(o, timeout)
		return refused
	}); !errors.Is(err, refused) {
		t.Errorf("a refused change: %v", err)
	}
	long := strings.Repeat("x", 1<<20)
	if _, err := here.ChangeNodeOptions(ctx, func(o layer.OptionValues) error {
		o[layer.OptionName{Section: "admins", Key: "long"}] = &long
		return nil
	}); layer.KindOf(err) != layer.TooLarge {
		t.Errorf("too many options: %v", err)
	}
	if _, err := here.ChangeNodeOptions(ctx, func(o layer.OptionValues) error {
		delete(o, admin)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	wait(1)
	cancel()
	for range seen { // until the follower has ended
	}
	if err := <-done; err == nil {
		t.Error("following ended without an error")
	}
	stored, err := there.NodeOptions(t.Context())
	again := stored.Values
	if err != nil || len(again) != 1 || *again[timeout] != value {
		t.Errorf("stored: %v, %v", again, err)
	}
}
