package cluster_test

import (
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/cluster/simnet"
)

func options(t testing.TB, name string) cluster.Options {
	quiet := slog.New(slog.DiscardHandler)
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet }))
	return cluster.Options{
		System:        system,
		Name:          name,
		Gossip:        "127.0.0.1:0",
		HTTP:          "127.0.0.1:5984",
		SQL:           "127.0.0.1:5433",
		Version:       "test",
		Roles:         []string{"data"},
		ProbeInterval: 100 * time.Millisecond,
		Logger:        quiet,
	}
}

func mustStart(t testing.TB, o cluster.Options) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// started starts a member that is stopped at the end of the test.
func started(t testing.TB, o cluster.Options) *cluster.Cluster {
	t.Helper()
	c := mustStart(t, o)
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// hosted returns the options of a member on a host of its own, with the timing of nodes. It joins the addresses.
func hosted(t testing.TB, n *simnet.Network, name, ip string, join ...string) (cluster.Options, *simnet.Host) {
	t.Helper()
	h, err := n.Host(ip)
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, name)
	o.Gossip, o.Network, o.Join, o.ProbeInterval = h.Gossip(), h, join, 0
	return o, h
}

// eventually waits until wrong returns "", otherwise the description of what is still wrong.
func eventually(t testing.TB, limit time.Duration, wrong func() string) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		w := wrong()
		if w == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %s", limit, w)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// viewer is a member in this or another process.
type viewer interface{ Members() []cluster.Member }

// sees waits until a member's view is want, as "name=status name=status".
func sees(t testing.TB, v viewer, want string) {
	t.Helper()
	eventually(t, 10*time.Second, func() string {
		var list []string
		for _, m := range v.Members() {
			list = append(list, fmt.Sprintf("%s=%s", m.Name, m.Status))
		}
		if got := strings.Join(list, " "); got != want {
			return fmt.Sprintf("a member sees %q, want %q", got, want)
		}
		return ""
	})
}

func find(t testing.TB, v viewer, name string) cluster.Member {
	t.Helper()
	for _, m := range v.Members() {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no member is called %s", name)
	return cluster.Member{}
}

func TestStart_AloneIsQuick(t *testing.T) {
	o := options(t, "alone")
	begin := time.Now()
	c := mustStart(t, o)
	up := time.Since(begin)
	m := c.Self()
	if m.Status != cluster.Alive || !m.Self || m.HTTP != o.HTTP || m.SQL != o.SQL || m.Version != "test" ||
		m.Gossip != c.Addr() ||
		m.Remote == "" {
		t.Errorf("self is %+v", m)
	}
	if !c.Owns("database", "x") {
		t.Error("a member alone does not own everything")
	}
	begin = time.Now()
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	down := time.Since(begin)
	t.Logf("started in %v, stopped in %v", up, down)
	if up > time.Second || down > 2*time.Second {
		t.Errorf("up in %v, down in %v", up, down)
	}
	// Both ports are free again.
	for _, a := range []string{m.Gossip, m.Remote} {
		// Remoting's server may not have begun to listen when it is told to stop. It then closes its port a moment
		// later.
		eventually(t, 5*time.Second, func() string {
			l, err := net.Listen("tcp", a)
			if err != nil {
				return fmt.Sprint("still listening after Stop: ", err)
			}
			l.Close()
			return ""
		})
	}
}

func TestStart_Refuses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cases := []struct {
		name   string
		change func(*cluster.Options)
		want   string
	}{
		{"gossip port in use", func(o *cluster.Options) { o.Gossip = taken.Addr().String() }, "address already in use"},
		{
			"remoting port in use",
			func(o *cluster.Options) { o.Remote = taken.Addr().String() },
			"address already in use",
		},
		{"no name", func(o *cluster.Options) { o.Name = "" }, "no name"},
		{"no port", func(o *cluster.Options) { o.Gossip = "127.0.0.1" }, "missing port"},
		{"port too high", func(o *cluster.Options) { o.Gossip = "127.0.0.1:70000" }, "not a number from 0 to 65535"},
		{"open to the world without a secret", func(o *cluster.Options) { o.Gossip = "0.0.0.0:0" }, "no shared secret"},
		{"metadata too long", func(o *cluster.Options) { o.Version = strings.Repeat("v", 600) }, "at most 512 fit"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			o := options(t, "x")
			tc.change(&o)
			c, err := cluster.Start(t.Context(), o)
			if err == nil {
				c.Stop()
				t.Fatal("started")
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %q does not say %q", err, tc.want)
			}
		})
	}
}

func manyIDs() (ids []string) {
	for i := range 300 {
		ids = append(ids, fmt.Sprint("db", i))
	}
	return ids
}

func TestCluster_MembersFindEachOther(t *testing.T) {
	a := started(t, options(t, "a"))
	b := startProcess(t, memberSpec{Name: "b", Join: []string{a.Addr()}})
	c := startProcess(t, memberSpec{Name: "c", Join: []string{find(t, b, "b").Gossip}})
	for _, v := range []viewer{a, b, c} {
		sees(t, v, "a=alive b=alive c=alive")
	}
	// All agree on every owner, and each member owns something.
	ids := manyIDs()
	eventually(t, 5*time.Second, func() string {
		here, owned := owners(a, ids), map[string]int{}
		if !slices.Equal(here, b.owners(ids)) || !slices.Equal(here, c.owners(ids)) {
			return "members disagree on the owners"
		}
		for _, name := range here {
			owned[name]++
		}
		if len(owned) != 3 {
			return fmt.Sprint("owners ", owned)
		}
		return ""
	})
	changed, cancel := a.Subscribe()
	defer cancel()
	c.stop()
	select {
	case <-changed:
	case <-time.After(5 * time.Second):
		t.Fatal("no notification that placement changed")
	}
	sees(t, a, "a=alive b=alive c=left")
	sees(t, b, "a=alive b=alive c=left")
	eventually(t, time.Second, func() string {
		if slices.Contains(owners(a, ids), "c") {
			return "an actor is placed on a member that left"
		}
		return ""
	})
}

func TestCluster_JoinsWhenTheOtherComesLater(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	later := l.Addr().String()
	l.Close()
	o := options(t, "a")
	o.Join = []string{later}
	a := started(t, o)
	startProcess(t, memberSpec{Name: "b", Gossip: later})
	sees(t, a, "a=alive b=alive")
}

func TestCluster_Secret(t *testing.T) {
	o := options(t, "a")
	here := &inbox{}
	o.Secret, o.Receive = "sesame", here.add
	a := started(t, o)
	b := startProcess(t, memberSpec{Name: "b", Secret: "sesame", Join: []string{a.Addr()}})
	stranger := startProcess(t, memberSpec{Name: "s", Secret: "guess", Join: []string{a.Addr()}})
	open := startProcess(t, memberSpec{Name: "o", Join: []string{a.Addr()}})
	sees(t, a, "a=alive b=alive")
	sees(t, b, "a=alive b=alive")
	sees(t, stranger, "s=alive")
	sees(t, open, "o=alive")
	// Messages are delivered in both directions. Placement, which they depend on, is updated a moment later.
	eventually(t, 10*time.Second, func() string {
		a.Send("b", []byte("hello"))
		if err := b.call("Send", [2]string{"a", "hello"}, new(int)); err != nil {
			return err.Error()
		}
		var there []string
		if err := b.call("Inbox", 0, &there); err != nil {
			return err.Error()
		}
		if !slices.Contains(there, "a: hello") || !slices.Contains(here.list(), "b: hello") {
			return fmt.Sprintf("b received %q, and a received %q", there, here.list())
		}
		return ""
	})
}

func TestCluster_KilledMember(t *testing.T) {
	o := options(t, "a")
	var told struct {
		sync.Mutex
		kinds string
	}
	o.Notify = func(e cluster.Event) {
		told.Lock()
		defer told.Unlock()
		if e.Member != "p" {
			return
		}
		told.kinds += string(e.Kind) + " "
		if silent := e.At.Sub(e.Since); e.Kind == cluster.MemberSuspected && silent < 5*o.ProbeInterval {
			t.Errorf("p is suspected after a silence of %v", silent)
		}
	}
	a := started(t, o)
	b := startProcess(t, memberSpec{Name: "b", Join: []string{a.Addr()}})
	p := startProcess(t, memberSpec{Name: "p", Join: []string{a.Addr()}})
	sees(t, a, "a=alive b=alive p=alive")
	sees(t, b, "a=alive b=alive p=alive")
	before := find(t, a, "p")
	p.kill()
	begin := time.Now()
	sees(t, a, "a=alive b=alive p=left")
	took := time.Since(begin)
	t.Logf("given up after %v, which is %.1f probe intervals", took, took.Seconds()/o.ProbeInterval.Seconds())
	// A slow machine makes p answer late before it is killed.
	want := regexp.MustCompile("^joined (suspected answers )*(suspected )?dead $")
	eventually(t, 10*time.Second, func() string {
		told.Lock()
		defer told.Unlock()
		if !want.MatchString(told.kinds) {
			return "told of p: " + told.kinds
		}
		return ""
	})
	sees(t, b, "a=alive b=alive p=left")
	// It returns immediately under its name on other ports.
	startProcess(t, memberSpec{Name: "p", Join: []string{find(t, b, "b").Gossip}})
	sees(t, a, "a=alive b=alive p=alive")
	sees(t, b, "a=alive b=alive p=alive")
	if after := find(t, a, "p"); after.ID == before.ID || after.Remote == before.Remote {
		t.Errorf("p returned as %+v, and was %+v", after, before)
	}
}

// A paused process is given up. When it continues, it must return under a new id, since its actors were placed
// elsewhere.
func TestCluster_PausedMember(t *testing.T) {
	a := started(t, options(t, "a"))
	p := startProcess(t, memberSpec{Name: "p", Join: []string{a.Addr()}})
	sees(t, a, "a=alive p=alive")
	before := find(t, a, "p")
	p.signal(stopSignal)
	sees(t, a, "a=alive p=left")
	p.signal(continueSignal)
	sees(t, a, "a=alive p=alive")
	eventually(t, 5*time.Second, func() string {
		if find(t, a, "p").ID == before.ID {
			return "it returned under its old id"
		}
		return ""
	})
}
