package cluster

import "time"

// SetTellWithin sets how long each announcement of leaving may take.
func (c *Cluster) SetTellWithin(d time.Duration) { c.gossip.tellWithin = d }
