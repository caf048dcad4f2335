package layer

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// nodeNamePatience is how long Take waits for the answer to a question that it leaves in the store.
const nodeNamePatience = 5 * time.Second

// nodeName is who has a name: (Nodes, name) = JSON. All that a holder does gives it a value that it never had before.
type nodeName struct {
	Gossip string `json:"gossip"`
	// Life names one start of the node.
	Life string `json:"life,omitempty"`
	// Acts counts what the holder has done since it took the name.
	Acts int `json:"acts,omitempty"`
	// Asked names the question whether the holder is there. The holder clears it.
	Asked string `json:"asked,omitempty"`
}

// NodeName is the claim of one node, in one life, to its name. The store alone says which of the nodes that use it
// has the name. A node may look dead to others and be alive: it keeps the name if it does anything in the store
// before they take it.
type NodeName struct {
	store    *db.Store
	key      []byte
	life     string
	gossip   string // set by the first Take
	patience time.Duration
}

// NodeName returns a claim to a name. Nothing is taken yet: call Take first. The other methods may run at once.
func (s *Store) NodeName(name string) *NodeName {
	key := tuple.AppendString(s.Section(keyspace.Nodes), name)
	return &NodeName{store: s.Store, key: key, life: rand.Text()[:16], patience: nodeNamePatience}
}

// Take takes the name for the node at a gossip address, unless another node has it and is alive: holder is the gossip
// address of that one then, and nothing is taken.
//
// alive reports whether the node at an address is there, and whether that is sure. If it is not, the holder is asked
// through the store. It takes some seconds to find that it does not answer. A node that had the name at the same
// address is dead, since this one has its port.
func (n *NodeName) Take(ctx context.Context, gossip string,
	alive func(gossip string) (alive, sure bool)) (holder string, err error) {
	if n.gossip == "" {
		n.gossip = gossip
	}
	var dead nodeName
	for {
		now, err := n.take(ctx, dead)
		if err != nil || now.Life == n.life {
			return "", err
		}
		lives, sure := alive(now.Gossip)
		if !lives && !sure {
			if lives, now, err = n.ask(ctx, now); err != nil {
				return "", err
			}
		}
		if lives {
			return now.Gossip, nil
		}
		dead = now
	}
}

// take takes the name if nobody has it, or if the value is still exactly that of the dead, and returns who has it.
func (n *NodeName) take(ctx context.Context, dead nodeName) (nodeName, error) {
	return n.change(ctx, func(now nodeName) nodeName {
		if now.Life != n.life && (now.Gossip == "" || now == dead || now.Gossip == n.gossip) {
			return nodeName{Gossip: n.gossip, Life: n.life}
		}
		return now
	})
}

// ask leaves a question for the holder in the store, or joins those who wait for the answer to an earlier one, and
// reports whether the holder answers in time. If it does not, silent is the value that has not changed. It is the zero
// value if the name has passed to another node.
func (n *NodeName) ask(ctx context.Context, holder nodeName) (lives bool, silent nodeName, err error) {
	same := func(now nodeName) bool { return now.Gossip == holder.Gossip && now.Life == holder.Life }
	question := rand.Text()[:16]
	asked, err := n.change(ctx, func(now nodeName) nodeName {
		if same(now) && now.Asked == "" {
			now.Asked = question
		}
		return now
	})
	if err != nil || !same(asked) {
		return false, nodeName{}, err
	}
	patience := time.NewTimer(n.patience)
	defer patience.Stop()
	for over := false; ; {
		now, w, err := n.look(ctx)
		if err != nil {
			return false, nodeName{}, err
		}
		if now != asked || over {
			w.Cancel()
			switch {
			case !same(now):
				return false, nodeName{}, nil
			case now != asked:
				return true, now, nil
			}
			return false, asked, nil
		}
		fired := w.Done()
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				w.Cancel()
				return false, nodeName{}, ctx.Err()
			case <-patience.C:
				over, waiting = true, false
			case <-fired:
				fired, waiting = nil, w.Err() != nil // without a watch the last look tells
			}
		}
		w.Cancel()
	}
}

// Confirm is for a node that is about to serve. holder is the gossip address of another node that has taken the name
// because this one did not answer, or empty if this node still has it. Whoever found this node silent before has to ask
// it again.
func (n *NodeName) Confirm(ctx context.Context) (holder string, err error) {
	now, err := n.change(ctx, func(now nodeName) nodeName {
		if now.Life == n.life || now.Gossip == "" {
			return nodeName{Gossip: n.gossip, Life: n.life, Acts: now.Acts + 1}
		}
		return now
	})
	if err != nil || now.Life == n.life {
		return "", err
	}
	return now.Gossip, nil
}

// Hold answers those who ask whether the node is there. It returns when ctx ends, the store fails, or another node has
// the name: holder is the gossip address of that one.
func (n *NodeName) Hold(ctx context.Context) (holder string, err error) {
	for {
		now, w, err := n.look(ctx)
		if err != nil {
			return "", err
		}
		switch {
		case now.Life != n.life && now.Gossip != "":
			w.Cancel()
			return now.Gossip, nil
		case now.Life != n.life || now.Asked != "":
			w.Cancel()
			if err := n.answer(ctx); err != nil {
				return "", err
			}
			continue
		}
		select {
		case <-ctx.Done():
			w.Cancel()
			return "", ctx.Err()
		case <-w.Done():
		}
		err = w.Err()
		w.Cancel()
		if err != nil {
			return "", err
		}
	}
}

// answer clears a question, and takes a name that nobody has any more.
func (n *NodeName) answer(ctx context.Context) error {
	_, err := n.change(ctx, func(now nodeName) nodeName {
		switch {
		case now.Life == n.life && now.Asked != "":
			return nodeName{Gossip: n.gossip, Life: n.life, Acts: now.Acts + 1}
		case now.Gossip == "":
			return nodeName{Gossip: n.gossip, Life: n.life}
		}
		return now
	})
	return err
}

// Release gives the name up if this node has it.
func (n *NodeName) Release(ctx context.Context) error {
	_, err := n.change(ctx, func(now nodeName) nodeName {
		if now.Life == n.life {
			return nodeName{}
		}
		return now
	})
	return err
}

// change replaces the value by what f makes of it, and returns that. The zero value means no row.
func (n *NodeName) change(ctx context.Context, f func(now nodeName) nodeName) (nodeName, error) {
	after, _, err := db.StoreTransact(ctx, n.store, func(tx kv.Transaction) (nodeName, error) {
		before, err := n.read(tx)
		if err != nil {
			return nodeName{}, err
		}
		after := f(before)
		if after == before {
			return after, nil
		}
		tx.MakesRoom() // a node that cannot start makes none
		if after == (nodeName{}) {
			tx.Clear(n.key)
			return after, nil
		}
		text, err := json.Marshal(after)
		if err != nil {
			return nodeName{}, err
		}
		tx.Set(n.key, text)
		return after, nil
	})
	return after, err
}

// look reads the value. The watch becomes ready when the value changes. The caller cancels it.
func (n *NodeName) look(ctx context.Context) (now nodeName, w kv.Watch, err error) {
	now, _, err = db.StoreTransact(ctx, n.store, func(tx kv.Transaction) (nodeName, error) {
		if w != nil {
			w.Cancel() // of an attempt that has to be repeated
		}
		w = tx.Watch(n.key)
		return n.read(tx)
	})
	if err != nil && w != nil {
		w.Cancel()
		w = nil
	}
	return now, w, err
}

func (n *NodeName) read(tx kv.Transaction) (nodeName, error) {
	var now nodeName
	value, err := tx.Get(n.key).Wait()
	if err != nil || value == nil {
		return now, err
	}
	if err := json.Unmarshal(value, &now); err != nil {
		return now, db.Corrupt("name of a node", err)
	}
	return now, nil
}
