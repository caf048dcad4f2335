package layer

import (
	"context"
	"encoding/json"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// nodeName is who has a name: (Nodes, name) = JSON.
type nodeName struct {
	Gossip string `json:"gossip"`
}

// TakeName notes that the node with a gossip address has a name. Where another one had it last, alive is asked whether
// that is still there: then nothing is noted, and holder is its address. Of nodes that start together with one name one
// gets it, as long as those that have it answer.
func (s *Store) TakeName(ctx context.Context, name, gossip string,
	alive func(gossip string) bool) (holder string, err error) {
	for {
		last, err := s.takeName(ctx, name, gossip, holder)
		if err != nil || last == "" {
			return "", err
		}
		if alive(last) {
			return last, nil
		}
		holder = last
	}
}

// takeName takes a name that nobody has, or the node itself, or one that is known to be dead. last is who has it
// otherwise.
func (s *Store) takeName(ctx context.Context, name, gossip, dead string) (last string, err error) {
	key := tuple.AppendString(s.section(keyspace.Nodes), name)
	last, _, err = storeTransact(ctx, s, func(tx kv.Transaction) (string, error) {
		value, err := tx.Get(key).Wait()
		if err != nil {
			return "", err
		}
		var now nodeName
		if value != nil {
			if err := json.Unmarshal(value, &now); err != nil {
				return "", corrupt("name of a node", err)
			}
		}
		switch now.Gossip {
		case gossip:
			return "", nil
		case "", dead:
		default:
			return now.Gossip, nil
		}
		text, err := json.Marshal(nodeName{Gossip: gossip})
		if err != nil {
			return "", err
		}
		tx.MakesRoom() // a node that cannot start makes none
		tx.Set(key, text)
		return "", nil
	})
	return last, err
}
