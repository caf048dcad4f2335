package cluster

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	// troubleLasts is how long a problem caused by others counts after it was last seen.
	troubleLasts = 30 * time.Second
	// logAgainAfter is how often the same is logged.
	logAgainAfter = time.Minute
)

// trouble is a problem caused by another node.
type trouble struct {
	at   time.Time // when it was last seen
	with string    // the other node
}

func (t trouble) lasts(now time.Time) bool { return !t.at.IsZero() && now.Sub(t.at) < troubleLasts }

// secretState is what an error of gossip reveals about the secrets of both sides.
type secretState int

const (
	secretSame secretState = iota
	secretDiffers
	secretMissingHere
	secretMissingThere
)

// secretFault classifies an error of memberlist's, which has no types for these.
func secretFault(text string) secretState {
	text = strings.ToLower(text)
	switch {
	case strings.Contains(text, "no installed keys could decrypt"):
		return secretDiffers
	case strings.Contains(text, "encryption is not configured"):
		return secretMissingHere
	case strings.Contains(text, "remote state is not encrypted"):
		return secretMissingThere
	}
	return secretSame
}

func (s secretState) reason(address string) string {
	switch s {
	case secretMissingHere:
		return fmt.Sprintf("gossip_secret: the member at %s encrypts its messages, but this node has no secret: set "+
			"the cluster's cluster.secret here and restart this node", address)
	case secretMissingThere:
		return fmt.Sprintf("gossip_secret: this node has a cluster.secret, but what answers at %s has none: give all "+
			"nodes the same, or correct the address in cluster.join if it is not a gossip port", address)
	}
	return fmt.Sprintf("gossip_secret: the member at %s has a different cluster.secret than this node, so they do not "+
		"see each other: give all nodes the same", address)
}

// Degraded returns why this member does not see others as it should: "gossip_secret: ...", "join_failed: ...",
// "name_clash: ...", "other_store: ...". It does not block.
func (c *Cluster) Degraded() []string {
	now := time.Now()
	var elsewhere []string
	others := 0
	c.members.ask(func(v *view) { elsewhere, others = v.onOtherStores(), v.others() })
	list := c.joining.degraded(now, others)
	list = append(list, c.naming.degraded(now)...)
	if len(elsewhere) > 0 {
		list = append(list, otherStoreReason(elsewhere))
	}
	return list
}

// Displaced reports whether another member has this one's name in the store, because this one did not run for a while,
// or started while the store did not answer. The others take that one for it, and do not answer this one.
func (c *Cluster) Displaced() bool {
	c.naming.mu.Lock()
	defer c.naming.mu.Unlock()
	return c.naming.mu.lost
}

func otherStoreReason(names []string) string {
	return fmt.Sprintf("other_store: %s in this cluster but not on this node's store, so they do not share "+
		"databases: correct storage in the node.yaml of the one that is wrong, or keep the clusters apart",
		map[bool]string{true: names[0] + " is", false: strings.Join(names, ", ") + " are"}[len(names) == 1])
}

// logOtherStores logs members on another store.
func (c *Cluster) logOtherStores() {
	var names []string
	c.members.ask(func(v *view) { names = v.onOtherStores() })
	if len(names) > 0 {
		if reason := otherStoreReason(names); c.said.first(reason) {
			c.o.Logger.Error("members use another store", "reason", reason)
		}
	}
}

// said keeps the same message from being logged again and again.
type said struct {
	mu   sync.Mutex
	when map[string]time.Time
}

// first reports whether something was not logged for a while, and records that it is logged now.
func (s *said) first(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if at, ok := s.when[what]; ok && now.Sub(at) < logAgainAfter {
		return false
	}
	if s.when == nil || len(s.when) > 1000 {
		s.when = map[string]time.Time{}
	}
	s.when[what] = now
	return true
}
