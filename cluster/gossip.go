package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/hashicorp/memberlist"
)

// gossipLabel keeps other programs' memberlists apart.
const gossipLabel = "divan"

// listenGossip opens the gossip port, before memberlist runs: the port next to it has to be known for the metadata. A free port has to be free
// for UDP and TCP both, hence the attempts.
func (c *Cluster) listenGossip(at *net.TCPAddr) (*memberlist.NetTransport, error) {
	attempts := 1
	if at.Port == 0 {
		attempts = 10
	}
	var err error
	for range attempts {
		var t *memberlist.NetTransport
		t, err = memberlist.NewNetTransport(&memberlist.NetTransportConfig{
			BindAddrs: []string{at.IP.String()},
			BindPort:  at.Port,
			Logger:    c.gossipLogger(),
		})
		if err == nil {
			return t, nil
		}
	}
	return nil, fmt.Errorf("cluster: gossip on %s: %w", at, err)
}

// gossipConfig tunes memberlist. Its local profile lets a killed member look alive for 7 s; this one gives it up after 2 to 4 s, at a
// cost of two small packets per second and member.
func (c *Cluster) gossipConfig(t *memberlist.NetTransport) (*memberlist.Config, error) {
	conf := memberlist.DefaultLANConfig()
	conf.Name = c.o.Name
	conf.Transport = t
	conf.Label = gossipLabel
	conf.AdvertiseAddr = c.advertise.String()
	conf.AdvertisePort = t.GetAutoBindPort()
	conf.BindPort = t.GetAutoBindPort() // the default port of addresses in the join list
	conf.Logger = c.gossipLogger()
	conf.Delegate = delegate{c}
	conf.Events = delegate{c}
	conf.Ping = delegate{c}
	conf.Conflict = delegate{c}

	conf.ProbeInterval = c.o.ProbeInterval
	conf.ProbeTimeout = c.o.ProbeInterval / 2
	conf.SuspicionMult = 3
	conf.SuspicionMaxTimeoutMult = 2
	conf.AwarenessMaxMultiplier = 4
	conf.IndirectChecks = 2
	conf.GossipInterval = min(100*time.Millisecond, c.o.ProbeInterval/2)
	conf.PushPullInterval = 10 * c.o.ProbeInterval
	conf.TCPTimeout = time.Second
	// A member that was killed may come back on another port at once.
	conf.DeadNodeReclaimTime = time.Millisecond
	if c.o.Secret != "" {
		keys, err := gossipKeys(c.o.Secret, c.o.AcceptSecrets)
		if err != nil {
			return nil, fmt.Errorf("cluster: derive the gossip key: %w", err)
		}
		conf.Keyring = keys
	}
	return conf, nil
}

// delegate is what memberlist calls, from its own goroutines, partly with its lock held: nothing here calls it back.
type delegate struct{ c *Cluster }

var (
	_ memberlist.Delegate         = delegate{}
	_ memberlist.EventDelegate    = delegate{}
	_ memberlist.PingDelegate     = delegate{}
	_ memberlist.ConflictDelegate = delegate{}
)

func (d delegate) NodeMeta(limit int) []byte { return d.c.encodeMetadata() }

func (d delegate) NotifyJoin(n *memberlist.Node) {
	d.c.observe(func(v *view, now time.Time) {
		meta := decodeMetadata(n.Meta)
		if v.joined(now, n.Name, n.Address(), meta) {
			d.c.mu.stale = append(d.c.mu.stale, staleMember{node: *n, id: meta.ID})
		}
	})
}

func (d delegate) NotifyUpdate(n *memberlist.Node) {
	d.c.observe(func(v *view, now time.Time) { v.joined(now, n.Name, n.Address(), decodeMetadata(n.Meta)) })
}

func (d delegate) NotifyLeave(n *memberlist.Node) {
	d.c.observe(func(v *view, now time.Time) { v.gone(now, n.Name) })
}

func (d delegate) NotifyPingComplete(n *memberlist.Node, rtt time.Duration, payload []byte) {
	d.c.mu.Lock()
	defer d.c.mu.Unlock()
	d.c.mu.view.answered(time.Now(), n.Name)
}

func (d delegate) AckPayload() []byte { return nil }

func (d delegate) NotifyConflict(existing, other *memberlist.Node) {
	if existing.Name != d.c.o.Name {
		// One of them is told by itself, or it was killed and has come back somewhere else before anybody has noticed.
		if d.c.said.first(existing.Name + existing.Address() + other.Address()) {
			d.c.o.Logger.Warn("a member's name comes from another address too", "member", existing.Name,
				"known_at", existing.Address(), "refused", other.Address())
		}
		return
	}
	d.c.mu.Lock()
	defer d.c.mu.Unlock()
	d.c.mu.namesakes = append(d.c.mu.namesakes, namesake{other.Address(), decodeMetadata(other.Meta).Store})
	d.c.signal()
}

// givenUp is the one message that members send through gossip beside membership: the others had given up the member with this id.
type givenUp struct {
	ID string `json:"given_up"`
}

func (d delegate) NotifyMsg(b []byte) {
	var m givenUp
	if json.Unmarshal(b, &m) != nil || m.ID == "" {
		return
	}
	d.c.mu.Lock()
	defer d.c.mu.Unlock()
	if m.ID == d.c.mu.meta.ID {
		d.c.mu.renew = true
		d.c.signal()
	}
}

// GetBroadcasts is called for each packet of gossip, behind what memberlist has to say. It has nothing to add, and counts.
func (d delegate) GetBroadcasts(overhead, limit int) [][]byte {
	d.c.mu.Lock()
	defer d.c.mu.Unlock()
	d.c.mu.packets++
	if d.c.mu.meta.Leaving {
		d.c.signal()
	}
	return nil
}

func (d delegate) LocalState(join bool) []byte            { return nil }
func (d delegate) MergeRemoteState(buf []byte, join bool) {}

// gossipLogger turns memberlist's lines into records. Its debug lines, one per packet, are dropped, and so are those of its end: it closes its ports
// first, and then complains that they are closed.
func (c *Cluster) gossipLogger() *log.Logger {
	return log.New(gossipLines{c}, "", 0)
}

type gossipLines struct{ c *Cluster }

func (g gossipLines) Write(p []byte) (int, error) {
	if g.c.ending.Load() {
		return len(p), nil
	}
	line := strings.TrimSpace(string(p))
	level := slog.LevelInfo
	if name, rest, ok := strings.Cut(strings.TrimPrefix(line, "["), "] "); ok && line[0] == '[' {
		line = strings.TrimPrefix(rest, "memberlist: ")
		switch name {
		case "DEBUG":
			return len(p), nil
		case "INFO":
			level = slog.LevelDebug
		case "WARN":
			level = slog.LevelWarn
		case "ERR", "ERROR":
			// memberlist calls it an error when a peer hangs up or sends nonsense; this node goes on.
			level = slog.LevelWarn
		}
	}
	if level < slog.LevelWarn {
		g.c.o.Logger.Log(context.Background(), level, "gossip", "text", line)
		return len(p), nil
	}
	what, from, _ := strings.Cut(line, " from=")
	if secretFault(what) != secretSame {
		g.c.stranger(from)
	}
	if what, _, ok := strings.Cut(line, "Conflicting address"); ok && what == "" {
		return len(p), nil // NotifyConflict tells
	}
	if g.c.said.first(what) {
		g.c.o.Logger.Log(context.Background(), level, "gossip", "text", line)
	}
	return len(p), nil
}
