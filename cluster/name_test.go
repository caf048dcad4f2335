package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/cluster/simnet"
)

// claim implements cluster.Claim with functions. Those that are nil do nothing.
type claim struct {
	take    func(gossip string, alive func(gossip string) (alive, sure bool)) (holder string)
	confirm func() (holder string)
	hold    func(ctx context.Context) (holder string)
	release func()
}

func (c claim) Take(_ context.Context, gossip string, alive func(string) (bool, bool)) (string, error) {
	return c.take(gossip, alive), nil
}

func (c claim) Confirm(context.Context) (string, error) {
	if c.confirm == nil {
		return "", nil
	}
	return c.confirm(), nil
}

func (c claim) Hold(ctx context.Context) (string, error) {
	if c.hold == nil {
		<-ctx.Done()
		return "", ctx.Err()
	}
	return c.hold(ctx), ctx.Err()
}

func (c claim) Release(context.Context) error {
	if c.release != nil {
		c.release()
	}
	return nil
}

// refused starts a member that must not start, because another one at an address has its name.
func refused(t testing.TB, o cluster.Options, by string) {
	t.Helper()
	c, err := cluster.Start(t.Context(), o)
	if err == nil {
		err = errors.Join(errors.New("none"), c.Stop())
	}
	want := "another node is called " + o.Name + " and answers at " + by + ": give this one a unique name"
	if err.Error() != "cluster: "+want {
		t.Errorf("the error of a second member is %v, want %s", err, want)
	}
}

// meta is the metadata of a memberlist.
type meta string

func (m meta) NodeMeta(int) []byte           { return []byte(m) }
func (meta) GetBroadcasts(int, int) [][]byte { return nil }
func (meta) LocalState(bool) []byte          { return nil }
func (meta) MergeRemoteState([]byte, bool)   {}
func (meta) NotifyMsg([]byte)                {}

// A member that has its name in the store starts, although gossip shows another one that is about to refuse: that one
// announces itself by asking.
func TestCluster_Name_askedWhileStarting(t *testing.T) {
	conf := memberlist.DefaultLocalConfig()
	conf.Name, conf.Label, conf.BindAddr, conf.BindPort, conf.LogOutput = "a", "divan", "127.0.0.1", 0, io.Discard
	conf.Delegate = meta(`{"i":"other","r":"127.0.0.1:1","u":"store"}`)
	other, err := memberlist.Create(conf)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Shutdown()
	o := options(t, "a")
	o.Store = "store"
	o.Claim = claim{take: func(gossip string, _ func(string) (bool, bool)) string {
		at, err := net.ResolveUDPAddr("udp", gossip)
		if err != nil {
			t.Error(err)
		}
		for range 3 { // its metadata is recorded a moment after the answer
			if _, err := other.Ping("a", at); err != nil {
				t.Log(err)
			}
		}
		return ""
	}}
	degraded(t, started(t, o))
}

// A member whose name is taken while it starts refuses to start, and gives back only its own claim.
func TestCluster_Name_lost(t *testing.T) {
	released := 0
	o := options(t, "a")
	o.Claim = claim{
		take:    func(string, func(string) (bool, bool)) string { return "" },
		confirm: func() string { return "127.0.0.1:1" },
		release: func() { released++ },
	}
	refused(t, o, "127.0.0.1:1")
	// A member whose name is taken later reports that.
	lost := make(chan string)
	holder := "" // used by one goroutine after the other
	o = options(t, "a")
	o.Claim = claim{
		take: func(string, func(string) (bool, bool)) string { return holder },
		hold: func(ctx context.Context) string {
			select {
			case <-ctx.Done():
				return ""
			case holder = <-lost:
				return holder
			}
		},
		release: func() { released++ },
	}
	c := mustStart(t, o)
	degraded(t, c)
	b := startProcess(t, memberSpec{Name: "b", Join: []string{c.Addr()}})
	sees(t, c, "a=alive b=alive")
	select {
	case lost <- "127.0.0.1:1":
	case <-time.After(30 * time.Second):
		t.Fatal("no member holds the name")
	}
	degraded(t, c, "name_clash: another node is called a too, and answers at 127.0.0.1:1, so that this one is not "+
		"a member: stop")
	if !c.Displaced() {
		t.Error("it takes itself for a member")
	}
	// The others cannot tell which of the two they see. It tells them, as long as it lasts.
	degraded(t, b, "name_clash: two nodes are called a, one of which answers at "+c.Addr())
	eventually(t, 30*time.Second, func() string {
		all := b.events()
		if slices.ContainsFunc(all, func(e cluster.Event) bool {
			return e.Kind == cluster.NameClash && e.Member == "a" && e.Address == c.Addr()
		}) {
			return ""
		}
		return fmt.Sprintf("the other member has the events %+v", all)
	})
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if released != 2 {
		t.Errorf("the name was given back %d times", released)
	}
}

// TestCluster_Name_refused checks that the holder of a name tells of a node that does not start because of that: once,
// and not each time that something starts that node again.
func TestCluster_Name_refused(t *testing.T) {
	for name, claims := range map[string]bool{"gossip decides": false, "the store decides": true} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { refusals(t, claims) }) })
	}
}

func refusals(t *testing.T, claims bool) {
	t.Cleanup(func() { time.Sleep(10 * time.Second) }) // memberlist does not wait for its own goroutines
	n := simnet.New(1, simnet.Faults{})
	on := func(ip string) (cluster.Options, *simnet.Host) {
		h, err := n.Host(ip)
		if err != nil {
			t.Fatal(err)
		}
		o := options(t, "a")
		o.Gossip, o.Network = h.Gossip(), h
		return o, h
	}
	events := make(chan cluster.Event, 100)
	o, _ := on("127.0.0.1")
	o.Notify = func(e cluster.Event) { events <- e }
	holder := started(t, o)
	for _, try := range []struct {
		after time.Duration
		ip    string
		told  bool
	}{
		{0, "127.0.0.2", true}, {2 * time.Second, "127.0.0.2", false},
		{time.Second, "127.0.0.3", true}, {time.Second, "127.0.0.2", false}, // two that alternate
		{5 * time.Minute, "127.0.0.3", false}, {9 * time.Minute, "127.0.0.3", false}, {12 * time.Minute, "127.0.0.3", true},
	} {
		time.Sleep(try.after)
		o, h := on(try.ip)
		if claims {
			o.Claim = claim{take: func(string, func(string) (bool, bool)) string { return holder.Addr() }}
		} else {
			o.Join = []string{holder.Addr()}
		}
		refused(t, o, holder.Addr())
		time.Sleep(time.Second)
		h.Kill()
		var got, want string
		for len(events) > 0 {
			e := <-events
			got += fmt.Sprint(e.Kind, " ", e.Member, " ", e.Address)
		}
		if try.told {
			want = "name_refused a " + try.ip + ":7946"
		}
		if got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	}
	for i := range 200 { // addresses that are not true
		for _, zone := range []string{"", "%a" + fmt.Sprint(i)} {
			at := fmt.Sprintf("[fe80::%x%s]:%d", i, zone, i)
			if err := holder.SayRefused(holder.Addr(), at, "a"); err != nil {
				t.Error(err)
			}
		}
	}
	time.Sleep(time.Second)
	if n := len(events); n < 1 || n > 4 {
		t.Errorf("%d events", n)
	}
	for len(events) > 0 {
		if e := <-events; strings.Contains(e.Address, "%") {
			t.Errorf("told %+v", e)
		}
	}
	degraded(t, holder)
}
