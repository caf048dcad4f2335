package cluster_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/cluster"
)

// degraded waits until a member's reasons begin exactly with want.
func degraded(t testing.TB, c interface{ Degraded() []string }, want ...string) {
	t.Helper()
	eventually(t, 20*time.Second, func() string {
		got := c.Degraded()
		ok := len(got) == len(want)
		for i := range want {
			ok = ok && strings.HasPrefix(got[i], want[i])
		}
		if ok {
			return ""
		}
		return fmt.Sprintf("a member is degraded by %q, want %q", got, want)
	})
}

func TestCluster_Degraded_secrets(t *testing.T) {
	for name, tc := range map[string]struct {
		there, here string
		want        string
	}{
		"another secret": {"one", "two", "gossip_secret: the member at ADDR has a different cluster.secret"},
		"no secret here": {"one", "",
			"gossip_secret: the member at ADDR encrypts its messages, but this node has no secret"},
		"no secret there": {"", "two",
			"gossip_secret: this node has a cluster.secret, but what answers at ADDR has none"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, "a")
			o.Secret = tc.there
			a := started(t, o)
			b := startProcess(t, memberSpec{Name: "b", Secret: tc.here, Join: []string{a.Addr()}})
			degraded(t, b, strings.ReplaceAll(tc.want, "ADDR", a.Addr()))
			degraded(t, a, "gossip_secret: a node at ")
			// It goes on, and that needs an operator also where there are other members.
			startProcess(t, memberSpec{Name: "c", Secret: tc.there, Join: []string{a.Addr()}})
			degraded(t, a, "gossip_secret: a node at 127.0.0.1 contacts this cluster again and again")
		})
	}
}

// asking asks a member for its health while it logs, as if the log were blocked meanwhile.
type asking struct {
	slog.Handler
	member atomic.Pointer[cluster.Cluster]
	asked  chan struct{} // receives when the member has answered
}

func (h *asking) Enabled(context.Context, slog.Level) bool { return true }

func (h *asking) Handle(_ context.Context, r slog.Record) error {
	if c := h.member.Load(); c != nil && r.Message == "could not reach a member" {
		_ = c.Degraded() // only checks that it answers
		select {
		case h.asked <- struct{}{}:
		default:
		}
	}
	return nil
}

func TestCluster_Degraded_whileLogging(t *testing.T) {
	h := &asking{Handler: slog.DiscardHandler, asked: make(chan struct{}, 1)}
	o := options(t, "a")
	o.Join, o.Logger = []string{"127.0.0.1:1"}, slog.New(h)
	h.member.Store(started(t, o))
	select {
	case <-h.asked:
	case <-time.After(30 * time.Second):
		t.Error("a member does not report its health while it logs")
	}
}

// Members whose secrets are being changed see each other at every step.
func TestCluster_AcceptSecrets(t *testing.T) {
	type step struct {
		secret string
		accept []string
	}
	steps := []step{{"old", nil}, {"old", []string{"new"}}, {"new", []string{"old"}}, {"new", nil}}
	for i := range steps[1:] {
		t.Run(fmt.Sprint("from step ", i), func(t *testing.T) {
			var members []*process
			for j, s := range steps[i : i+2] {
				spec := memberSpec{Name: fmt.Sprint("m", j), Secret: s.secret, AcceptSecrets: s.accept}
				if j > 0 {
					spec.Join = []string{members[0].Addr()}
				}
				members = append(members, startProcess(t, spec))
			}
			for _, m := range members {
				sees(t, m, "m0=alive m1=alive")
				degraded(t, m)
			}
		})
	}
}

func TestCluster_Degraded_joinFailed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	l.Close()
	a := started(t, options(t, "a"))
	b := startProcess(t, memberSpec{Name: "b", Join: []string{a.Addr(), nobody}})
	degraded(t, b, "join_failed: no member answers at "+nobody)
	degraded(t, a)
	// A member answers at the address now.
	startProcess(t, memberSpec{Name: "c", Gossip: nobody})
	degraded(t, b)
}

func TestCluster_NameClash(t *testing.T) {
	a := startProcess(t, memberSpec{Name: "a"})
	same := options(t, "a")
	same.Join = []string{a.Addr()}
	refused(t, same, a.Addr())
	// They do not see each other when they start. The store says who has the name.
	for secret, want := range map[string]bool{"": true, "another than a has, which has none": false} {
		same = options(t, "a")
		same.Secret = secret
		same.Claim = claim{take: func(_ string, alive func(string) (bool, bool)) string {
			if lives, sure := alive(a.Addr()); lives != want || sure != want {
				t.Errorf("with the secret %q: got %v, member a got %v", secret, lives, sure)
			}
			return a.Addr()
		}}
		refused(t, same, a.Addr())
	}
	// They start without knowing each other, and meet later.
	far := startProcess(t, memberSpec{Name: "a"})
	startProcess(t, memberSpec{Name: "b", Join: []string{a.Addr(), far.Addr()}})
	eventually(t, 20*time.Second, func() string {
		if d := append(a.Degraded(), far.Degraded()...); len(d) == 0 ||
			!strings.HasPrefix(d[0], "name_clash: another node is called a too") {
			return fmt.Sprintf("degraded by %q", d)
		}
		return ""
	})
}

// A member that was killed starts again immediately under its name and at another address, although the others have not
// noticed yet.
func TestCluster_KilledMemberStartsElsewhere(t *testing.T) {
	a := started(t, options(t, "a"))
	b := startProcess(t, memberSpec{Name: "b", Gossip: "127.0.0.1:0", Join: []string{a.Addr()}})
	sees(t, a, "a=alive b=alive")
	before := find(t, a, "b")
	b.kill()
	again := startProcess(t, memberSpec{Name: "b", Join: []string{a.Addr()}})
	eventually(t, 30*time.Second, func() string {
		if m := find(t, a, "b"); m.Gossip == before.Gossip || m.Status != cluster.Alive {
			return fmt.Sprintf("a sees %+v", m)
		}
		return ""
	})
	degraded(t, a)
	degraded(t, again)
}

func TestCluster_OtherStore(t *testing.T) {
	o := options(t, "a")
	o.Store = "one"
	a := started(t, o)
	b := startProcess(t, memberSpec{Name: "b", Store: "one", Join: []string{a.Addr()}})
	c := startProcess(t, memberSpec{Name: "c", Store: "another", Join: []string{a.Addr()}})
	degraded(t, a, "other_store: c is in this cluster")
	degraded(t, b, "other_store: c is in this cluster")
	degraded(t, c, "other_store: a, b are in this cluster")
	for i := range 100 {
		id := fmt.Sprint(i)
		if owner := a.Owner("shard", id).Name; owner == "c" {
			t.Fatalf("%s is placed on a member with another store", id)
		}
	}
}

// Nodes with another secret are told by their hosts, of which not more are remembered than may be.
func TestCluster_strangers(t *testing.T) {
	o := options(t, "a")
	told := make(chan string, 200)
	o.Notify = func(e cluster.Event) {
		if e.Kind == cluster.WrongSecret {
			told <- e.Address
		}
	}
	a := started(t, o)
	for _, from := range []string{"192.0.2.1:4001", "192.0.2.1:4002", "192.0.2.2:4001", "192.0.2.1:4003"} {
		a.NoteStranger(from)
	}
	for _, want := range []string{"192.0.2.1", "192.0.2.2"} {
		if got := <-told; got != want {
			t.Errorf("told of %s, want %s", got, want)
		}
	}
	for i := range 250 {
		a.NoteStranger(fmt.Sprintf("198.51.100.%d:4001", i))
	}
	eventually(t, 10*time.Second, func() string {
		if n := len(told); n < 62 {
			return fmt.Sprintf("told of %d", n)
		}
		return ""
	})
	if n := len(told); n > 62 {
		t.Errorf("told of %d more hosts", n)
	}
	degraded(t, a, "gossip_secret: a node at 192.0.2.1 contacts")
}
