package demo

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

// gossipStep is the distance between the gossip ports of two nodes. Remoting takes the port after each.
const gossipStep = 10

// maxNodes is how many nodes fit between the default ports: the 5984th and the 5433rd count up by one, and gossip by
// tens.
const maxNodes = 99

// Ports are the ports of the first node. Those of the others count up from them: HTTP and SQL by one, gossip by ten.
// The store is served on the port before Gossip.
type Ports struct{ HTTP, SQL, Gossip int }

// DefaultPorts are those of a node with no settings.
func DefaultPorts() Ports { return Ports{HTTP: 5984, SQL: 5433, Gossip: 7946} }

func (Ports) address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// all returns the ports that n nodes use.
func (p Ports) all(n int) []int {
	var ports []int
	if n > 1 {
		ports = append(ports, p.Gossip-1)
	}
	for i := range n {
		ports = append(ports, p.HTTP+i, p.SQL+i, p.Gossip+gossipStep*i, p.Gossip+gossipStep*i+1)
	}
	return ports
}

// check returns an error if ports are out of range or the same for two purposes.
func (p Ports) check(n int) error {
	seen := map[int]bool{}
	for _, port := range p.all(n) {
		if port < 1 || port > 65535 {
			return fmt.Errorf("there is no port %d", port)
		}
		if seen[port] {
			return fmt.Errorf("port %d would be used twice; choose ports that are further apart", port)
		}
		seen[port] = true
	}
	return nil
}

// busy returns the first of the ports of n nodes that another program uses, or 0.
func (p Ports) busy(ctx context.Context, n int) int {
	for _, port := range p.all(n) {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.address(port))
		if err != nil {
			return port
		}
		l.Close()
	}
	return 0
}

// portStep is how far other ports are looked for if the default ones are in use.
const portStep = 1000

// shifted returns the ports that are higher by some number.
func (p Ports) shifted(by int) Ports {
	return Ports{HTTP: p.HTTP + by, SQL: p.SQL + by, Gossip: p.Gossip + by}
}

// free returns the ports themselves if they are free for n nodes, or the nearest higher ones that are.
func (p Ports) free(ctx context.Context, n int) (Ports, error) {
	first := 0
	for shift := 0; shift < 20*portStep; shift += portStep {
		q := p.shifted(shift)
		if q.check(n) != nil {
			break
		}
		used := q.busy(ctx, n)
		if used == 0 {
			return q, nil
		}
		if first == 0 {
			first = used
		}
	}
	return p, fmt.Errorf("port %d is in use, and no others were found", first)
}
