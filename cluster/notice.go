package cluster

import (
	"encoding/json"
	"net"
	"net/netip"
	"time"

	"github.com/hashicorp/memberlist"
)

// notice is what members tell each other through gossip's port in addition to membership. One of the fields but Name is
// set. Members of versions that do not know it ignore it.
type notice struct {
	// GivenUp: the others had given up the member with this id.
	GivenUp string `json:"given_up,omitempty"`
	// Left: the member with this id has left. It is the sender, which nothing proves.
	Left string `json:"left,omitempty"`
	Up   int64  `json:"up,omitempty"` // as in metadata
	// Refused: the sender, with this gossip address, does not start because the receiver has its name, Name.
	Refused string `json:"refused,omitempty"`
	// Clash: another node has the name of the sender, Name, which runs at this gossip address.
	Clash string `json:"clash,omitempty"`
	Name  string `json:"name,omitempty"`
}

func (n notice) encode() []byte {
	b, err := json.Marshal(n)
	if err != nil {
		panic(err) // encoding strings never fails
	}
	return b
}

// send sends a notice to the member at a gossip address over a connection. It takes at most a second.
func (g *gossip) send(address string, note notice) error {
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return err
	}
	return g.list.SendReliable(&memberlist.Node{Addr: at.IP, Port: uint16(at.Port)}, note.encode())
}

func (d delegate) NotifyMsg(b []byte) {
	var n notice
	if json.Unmarshal(b, &n) != nil {
		return
	}
	m := d.g.members
	switch {
	case n.GivenUp != "" && n.GivenUp == m.metadata().ID:
		m.givenUp()
	case n.Left != "":
		m.observe(func(v *view, now time.Time) { v.saysLeft(now, n.Left, n.Up) })
	case n.Refused != "" && n.Name == d.g.o.Name:
		if at, err := netip.ParseAddrPort(n.Refused); err == nil {
			d.g.refused(at)
		}
	case n.Clash != "":
		if at, err := netip.ParseAddrPort(n.Clash); err == nil {
			d.g.clash(n.Name, at)
		}
	}
}
