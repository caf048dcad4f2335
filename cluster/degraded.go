package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// joinPatience is for how long an address of the join list may not answer before somebody is told: nodes that are
	// started together need a moment.
	joinPatience = 5 * time.Second
	// troubleLasts is for how long something that others do counts after it was seen last.
	troubleLasts = 30 * time.Second
	// sayAgain is how often the log is told the same.
	sayAgain = time.Minute
)

// trouble is something that another node does.
type trouble struct {
	at   time.Time // when it was seen last
	with string    // whom
}

func (t trouble) lasts(now time.Time) bool { return !t.at.IsZero() && now.Sub(t.at) < troubleLasts }

// joinFailure is an address that could not be joined.
type joinFailure struct {
	since  time.Time
	known  bool // it is that of a member that was up once: it has gone, and that is all
	secret secretState
	err    error
	told   bool // to the log
}

// secretState is what an error of gossip says about the secrets of both sides.
type secretState int

const (
	secretSame secretState = iota
	secretDiffers
	secretMissingHere
	secretMissingThere
)

// secretFault reads an error of memberlist's, which has no types for these.
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
		return fmt.Sprintf("gossip_secret: the member at %s encrypts what it says, and this node has no secret: set "+
			"the cluster's cluster.secret here and start again", address)
	case secretMissingThere:
		return fmt.Sprintf("gossip_secret: this node has a cluster.secret, and what answers at %s has none: give all "+
			"nodes the same, or correct the address in cluster.join if that is no gossip port", address)
	}
	return fmt.Sprintf("gossip_secret: the member at %s has another cluster.secret than this node, so they do not "+
		"see each other: give all nodes the same", address)
}

// joined notes how an attempt to join ended, and tells the log what an operator has to know.
func (c *Cluster) joined(address string, known bool, err error) {
	if err != nil {
		c.o.Logger.Debug("could not reach a member", "address", address, "error", err)
	}
	switch reason, after := c.noteJoin(address, known, err); {
	case reason != "":
		c.o.Logger.Error("this node does not see another one", "reason", reason)
	case after:
		c.o.Logger.Info("joined after all", "address", address)
	}
}

// noteJoin notes how an attempt to join ended. reason is for the log, empty where it has been told or there is nothing
// to tell; after says that a failure that the log was told of is over.
func (c *Cluster) noteJoin(address string, known bool, err error) (reason string, after bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, failing := c.mu.failing[address]
	if err == nil {
		delete(c.mu.failing, address)
		return "", before.told
	}
	now := time.Now()
	f := joinFailure{since: before.since, known: known, secret: secretFault(err.Error()), err: shortError(err)}
	if !failing {
		f.since = now
	}
	f.told = before.told && before.secret == f.secret
	if !f.told {
		reason = f.reason(address, now)
		f.told = reason != ""
	}
	c.mu.failing[address] = f
	return reason, false
}

// reason is empty where there is nothing to tell, or not yet.
func (f joinFailure) reason(address string, now time.Time) string {
	switch {
	case f.secret != secretSame:
		return f.secret.reason(address)
	case f.known, now.Sub(f.since) < joinPatience:
		return ""
	}
	return fmt.Sprintf("join_failed: no member answers at %s, which is in cluster.join (%v): start it, or correct "+
		"the address", address, f.err)
}

// shortError is the last of memberlist's wrapped lines.
func shortError(err error) error {
	text := strings.TrimSpace(err.Error())
	if i := strings.LastIndex(text, "* "); i >= 0 {
		text = text[i+2:]
	}
	return fmt.Errorf("%s", strings.Join(strings.Fields(text), " "))
}

// Degraded says why this member does not see others as it should: "gossip_secret: ...", "join_failed: ...",
// "name_clash: ...", "other_store: ...". It does not block.
func (c *Cluster) Degraded() []string {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for _, address := range slices.Sorted(maps.Keys(c.mu.failing)) {
		if reason := c.mu.failing[address].reason(address, now); reason != "" {
			list = append(list, reason)
		}
	}
	if c.mu.stranger.lasts(now) && c.mu.view.others() == 0 && len(list) == 0 {
		list = append(list, fmt.Sprintf("gossip_secret: somebody at %s calls this node with another cluster.secret, "+
			"and it sees nobody else: give all nodes the same", c.mu.stranger.with))
	}
	if c.mu.clash.lasts(now) {
		list = append(list, clashReason(c.o.Name, c.mu.clash.with))
	}
	if names := c.mu.view.elsewheres(); len(names) > 0 {
		list = append(list, elsewhereReason(names))
	}
	return list
}

func clashReason(name, other string) string {
	return fmt.Sprintf("name_clash: another node is called %s too, and answers at %s: stop one of them and give it a "+
		"name of its own", name, other)
}

func elsewhereReason(names []string) string {
	return fmt.Sprintf("other_store: %s in this cluster but not on this node's store, so they do not share "+
		"databases: correct storage in the node.yaml of the one that is wrong, or keep the clusters apart",
		map[bool]string{true: names[0] + " is", false: strings.Join(names, ", ") + " are"}[len(names) == 1])
}

// tellElsewheres tells the log about members on another store.
func (c *Cluster) tellElsewheres() {
	c.mu.Lock()
	names := c.mu.view.elsewheres()
	c.mu.Unlock()
	if len(names) > 0 {
		if reason := elsewhereReason(names); c.said.first(reason) {
			c.o.Logger.Error("members use another store", "reason", reason)
		}
	}
}

// stranger notes that somebody at an address has another secret.
func (c *Cluster) stranger(from string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.stranger = trouble{time.Now(), from}
}

// said keeps the log from being told the same again and again.
type said struct {
	mu   sync.Mutex
	when map[string]time.Time
}

// first reports whether something has not been said for a while.
func (s *said) first(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if at, ok := s.when[what]; ok && now.Sub(at) < sayAgain {
		return false
	}
	if s.when == nil || len(s.when) > 1000 {
		s.when = map[string]time.Time{}
	}
	s.when[what] = now
	return true
}
