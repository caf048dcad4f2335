package node

import (
	"context"
	"strings"
)

// degrader is a part that can say why it needs an operator although the node serves. See kv.Degrader.
type degrader interface{ Degraded() []string }

// Degraded lists why this node needs an operator although it serves, each as "name: what is wrong and what to do". It does not block.
func (n *Node) Degraded() []string {
	var reasons []string
	for _, part := range []any{n.engine, n.cluster, n.actors, n.open} {
		if d, ok := part.(degrader); ok {
			reasons = append(reasons, d.Degraded()...)
		}
	}
	return reasons
}

// freeBytes tells the room on the disk of the node's own store, for metrics. It is nil for other stores.
func (n *Node) freeBytes() func() float64 {
	e, ok := n.engine.(interface{ FreeBytes() (int64, bool) })
	if !ok {
		return nil
	}
	if _, known := e.FreeBytes(); !known {
		return nil
	}
	return func() float64 {
		free, _ := e.FreeBytes()
		return float64(free)
	}
}

// degradedCounts counts the reasons by name, for metrics.
func (n *Node) degradedCounts() map[string]int {
	counts := map[string]int{}
	for _, reason := range n.Degraded() {
		name, _, _ := strings.Cut(reason, ":")
		counts[name]++
	}
	return counts
}

// healthShown is the dashboard's section of what needs attention.
func (n *Node) healthShown(context.Context) (any, error) {
	return append(append([]string{}, n.Degraded()...), n.open.shown()...), nil
}
