package node

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/node/api"
	"github.com/divandb/divan/node/config"
)

// This file shows the other rooms to the HTTP side as it wants to see them (node/api/ports.go).

// Listen implements api.Feeds.
func (n *Node) Listen(db *layer.Database, shards ...layer.ShardID) (woken <-chan struct{}, cancel func()) {
	return n.actors.Listen(actors.Of(db), shards...)
}

// Ensure implements api.Indexer.
func (n *Node) Ensure(ctx context.Context, db *layer.Database, design *layer.Design, mode api.UpdateMode) error {
	switch mode {
	case api.UpdateTrue:
		return n.actors.Ensure(ctx, actors.Of(db), design)
	case api.UpdateLazy:
		return n.actors.EnsureSoon(ctx, actors.Of(db), design)
	}
	return nil
}

// Use implements api.Indexer.
func (n *Node) Use(db *layer.Database, design *layer.Design) { n.actors.Use(actors.Of(db), design) }

// Waiting implements api.Indexer.
func (n *Node) Waiting(db *layer.Database, design *layer.Design) int {
	return n.actors.Waiting(actors.Of(db), design)
}

// Members implements api.Members.
func (n *Node) Members() []api.Member {
	var list []api.Member
	for _, m := range n.cluster.Members() {
		list = append(list, api.Member{
			Name: m.Name, Status: string(m.Status), Self: m.Self, HTTP: m.HTTP, SQL: m.SQL, Gossip: m.Gossip, Version: m.Version, Roles: m.Roles,
		})
	}
	return list
}

func (n *Node) countMembers() map[string]int {
	counts := map[string]int{}
	for _, m := range n.cluster.Members() {
		counts[string(m.Status)]++
	}
	return counts
}

// Tree implements api.Actors.
func (n *Node) Tree(ctx context.Context) ([]byte, error) { return n.actors.TreeJSON(ctx) }

// probeTimeout is how long the store may take to show that it is there, less than who asks waits for an answer.
const probeTimeout = 2 * time.Second

// Ready implements api.Health: the node can serve when its store answers. Nil, or an Unavailable error within probeTimeout. The read is a strict one: a
// cluster that could only give an old version could not take a write. A store that can only be read since its disk failed is not ready either.
func (n *Node) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	for _, err := range n.store.Names(ctx, layer.NamesOptions{Limit: 1}) {
		if err != nil {
			return &layer.Error{Kind: layer.Unavailable, Reason: "The store does not answer", Err: err}
		}
	}
	if f, ok := n.engine.(kv.Failer); ok && f.Failed() != nil {
		return f.Failed()
	}
	return nil
}

// corsSettings is the cors section of node.yaml in CouchDB's words; what is empty there is left to CouchDB's defaults.
func corsSettings(c config.CORS) map[string]map[string]string {
	cors := map[string]string{
		"credentials": strconv.FormatBool(c.Credentials),
		"max_age":     strconv.Itoa(int(c.MaxAge.Seconds())),
	}
	for key, list := range map[string][]string{"origins": c.Origins, "methods": c.Methods, "headers": c.Headers} {
		if len(list) > 0 {
			cors[key] = strings.Join(list, ", ")
		}
	}
	return map[string]map[string]string{
		"cors":   cors,
		"chttpd": {"enable_cors": strconv.FormatBool(c.Enabled)},
	}
}
