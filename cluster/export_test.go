package cluster

import "time"

// SetTellWithin sets how long a goodbye may take.
func (c *Cluster) SetTellWithin(d time.Duration) { c.gossip.tellWithin = d }
