// Package peers shows the members of a cluster to the actors of a node. Packages actors and cluster do not know each
// other.
package peers

import (
	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/cluster"
)

// Of returns the other members of a cluster.
func Of(c *cluster.Cluster) actors.Peers { return peers{c} }

// peers implements actors.Peers with the cluster.
type peers struct{ *cluster.Cluster }

// Owner implements actors.Peers.
func (p peers) Owner(kind, id string, except ...string) string {
	return p.Cluster.Owner(kind, id, except...).Name
}

// Left implements actors.Peers.
func (p peers) Left(member string) bool {
	for _, m := range p.Members() {
		if m.Name == member {
			return m.Status == cluster.Left
		}
	}
	return false
}

// HasOthers implements actors.Peers.
func (p peers) HasOthers() bool {
	alive := 0
	for _, m := range p.Members() {
		if m.Status == cluster.Alive {
			alive++
		}
	}
	return alive > 1
}
