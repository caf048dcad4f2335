package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An address is told to fail if nobody answers there for some time, as of the last attempt, and not once a member with
// it is seen, which may have come by itself between two attempts.
func TestJoining_failed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &Options{Name: "a", ProbeInterval: time.Second, Logger: slog.New(slog.DiscardHandler)}
		m := newMembers(o)
		j := newJoining(o, m, nil)
		begun := time.Now()
		check := func(want string) {
			t.Helper()
			if got := fmt.Sprint(j.degraded(time.Now(), 1)); !strings.HasPrefix(got, "["+want) || want == "" && got != "[]" {
				t.Errorf("after %v: %s, want %q", time.Since(begun), got, want)
			}
		}
		fail := func() (reason string) {
			reason, _ = j.note(contact{"b.example:7946", "192.0.2.1:7946"}, errors.New("connection refused"))
			return reason
		}
		if fail() != "" {
			t.Error("the first attempt is logged")
		}
		time.Sleep(4 * time.Second)
		fail()
		time.Sleep(2 * time.Second) // the member may have started since
		check("")
		if fail() == "" || fail() != "" {
			t.Error("it is not logged once")
		}
		check("join_failed: no member answers at b.example:7946")
		m.observe(func(v *view, now time.Time) { v.joined(now, "b", "192.0.2.1:7946", metadata{ID: "b1"}) })
		check("")
	})
}

// A node with another secret that does not stop contacting a cluster needs an operator there, too.
func TestJoining_strangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &Options{Name: "a", ProbeInterval: time.Second, Logger: slog.New(slog.DiscardHandler)}
		j := newJoining(o, newMembers(o), nil)
		check := func(others int, want string) {
			t.Helper()
			if got := fmt.Sprint(j.degraded(time.Now(), others)); !strings.Contains(got, want) || want == "" && got != "[]" {
				t.Errorf("with %d others: %s, want %q", others, got, want)
			}
		}
		j.noteStranger("192.0.2.9:4001")
		check(0, "gossip_secret: a node at 192.0.2.9 contacts this node")
		check(2, "")
		time.Sleep(3 * time.Second)
		j.noteStranger("192.0.2.9:4002")
		check(2, "")
		time.Sleep(3 * time.Second)
		check(2, "")
		j.noteStranger("192.0.2.9:4003")
		check(2, "gossip_secret: a node at 192.0.2.9 contacts this cluster again and again")
		time.Sleep(troubleLasts)
		check(2, "")
		check(0, "")
	})
}
