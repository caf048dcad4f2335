package cluster

import (
	"net"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
)

// A member that answers as another run than the one that is known is asked at once, not when gossip comes to it.
func TestDelegate_NotifyPingComplete(t *testing.T) {
	m := newMembers(&Options{Name: "a", ProbeInterval: time.Second})
	d := delegate{&gossip{members: m}}
	b := &memberlist.Node{Name: "b", Addr: net.IPv4(127, 0, 0, 1), Port: 7946,
		Meta: encodeMetadata(metadata{ID: "b1", Remote: "127.0.0.1:1"})}
	d.NotifyJoin(b)
	m.takeNewcomers()
	for _, c := range []struct {
		answers, what string
		asked         int
	}{
		{"b1", "the run that is known", 0},
		{"b1.1", "that run, after it had been given up", 0},
		{"", "a version that does not say it", 0},
		{"b2", "another run", 1},
	} {
		for range 2 { // the second answer comes before the member was asked
			d.NotifyPingComplete(b, time.Millisecond, []byte(c.answers))
		}
		if list := m.takeNewcomers(); len(list) != c.asked {
			t.Errorf("%s answers, and %v is asked", c.what, list)
		}
	}
	d.NotifyPingComplete(b, time.Millisecond, []byte("b2"))
	b.Meta = encodeMetadata(metadata{ID: "b2", Remote: "127.0.0.1:1"})
	d.NotifyUpdate(b)
	if list := m.takeNewcomers(); len(list) != 1 || list[0].id != "b2" {
		t.Errorf("when the new run is seen, %v is asked", list)
	}
	m.observe(func(v *view, now time.Time) { v.giveUp(now, "b") })
	d.NotifyPingComplete(b, time.Millisecond, []byte("b3"))
	if list := m.takeNewcomers(); len(list) != 0 {
		t.Errorf("a member that was given up answers, and %v is asked", list)
	}
}
