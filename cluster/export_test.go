package cluster

import "time"

// SetAnnounceWithin sets how long each announcement of leaving may take.
func (c *Cluster) SetAnnounceWithin(d time.Duration) { c.gossip.announceWithin = d }

// SayLeft tells the member at a gossip address that the member with an id has left.
func (c *Cluster) SayLeft(address, id string) error { return c.gossip.send(address, notice{Left: id}) }

// SayRefused tells the member at a gossip address that the node at another one was refused because of its name.
func (c *Cluster) SayRefused(address, refused, name string) error {
	return c.gossip.send(address, notice{Refused: refused, Name: name})
}

// NoteStranger reports a contact from a node with another secret.
func (c *Cluster) NoteStranger(from string) { c.joining.noteStranger(from) }
