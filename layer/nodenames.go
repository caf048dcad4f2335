package layer

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// nodeNamePatience is how long Take waits for the answer to a question that it has left in the store.
const nodeNamePatience = 5 * time.Second

// nodeName is the holder of a name: (Nodes, name) = JSON. Every action of a holder writes a value that did not occur
// before.
type nodeName struct {
	Gossip string `json:"gossip"`
	// Life identifies one start of the node.
	Life string `json:"life,omitempty"`
	// Acts counts the holder's actions in this life.
	Acts int `json:"acts,omitempty"`
	// Asked identifies the question whether the holder is alive. The holder clears it.
	Asked string `json:"asked,omitempty"`
	// Drained is set when the holder has given its background work to others, for the rest of its life, or ends.
	Drained bool `json:"drained,omitempty"`
}

// NodeName is the claim of one node, from one start to its end, to its name. The store determines which of the nodes
// that use it has the name. A node may appear dead to others while it is alive: it keeps the name if it writes to the
// store before they take it.
type NodeName struct {
	store    *db.Store
	key      []byte
	life     string
	gossip   string      // set by the first Take
	drained  atomic.Bool // the node has recorded that it is drained; it records it again if it retakes its name
	draining sync.Mutex  // held by Drain
	acted    atomic.Int64
	patience time.Duration
}

// NodeName returns a claim to a name. It does not take the name: call Take first. After that, the other methods may be
// called concurrently.
func (s *Store) NodeName(name string) *NodeName {
	return &NodeName{store: s.Store, key: nodeNameKey(s.Store, name), life: rand.Text()[:16],
		patience: nodeNamePatience}
}

// Take takes the name for the node at a gossip address. If another node has the name and is alive, it takes nothing and
// returns that node's gossip address as holder.
//
// alive reports whether the node at an address is alive, and whether that is certain. If it is not, Take asks the
// holder through the store, and takes some seconds to find out that it does not answer. A node that had the name at the
// same address is dead, because this node has its port.
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

// take takes the name if nobody has it, or if the value is still that of the dead holder. It returns the holder.
func (n *NodeName) take(ctx context.Context, dead nodeName) (nodeName, error) {
	return n.change(ctx, func(now nodeName) nodeName {
		if now.Life != n.life && (now.Gossip == "" || now == dead || now.Gossip == n.gossip) {
			return n.acts(nodeName{})
		}
		return now
	})
}

// ask leaves a question for the holder in the store, or waits for the answer to an existing one, and reports whether
// the holder answers in time. If it does not, silent is the unchanged value. If the name has passed to another node,
// silent is the zero value.
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
				fired, waiting = nil, w.Err() != nil // without a watch, only the last look tells
			}
		}
		w.Cancel()
	}
}

// Confirm is called by a node that is about to serve. If another node has taken the name because this one did not
// answer, it returns that node's gossip address; otherwise it returns "". A node that has found this one silent before
// has to ask again.
func (n *NodeName) Confirm(ctx context.Context) (holder string, err error) {
	now, err := n.change(ctx, func(now nodeName) nodeName {
		if now.Life == n.life || now.Gossip == "" {
			return n.acts(now)
		}
		return now
	})
	if err != nil || now.Life == n.life {
		return "", err
	}
	return now.Gossip, nil
}

// Hold answers questions whether the node is alive, and takes back what a Drain that failed has recorded. It returns
// when ctx is done, when the store fails, or when another node has the name; then holder is that node's gossip address.
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
		case now.Drained && !n.drained.Load():
			w.Cancel()
			if err := n.works(ctx); err != nil {
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

// answer clears a question, and takes the name if nobody has it any more.
func (n *NodeName) answer(ctx context.Context) error {
	_, err := n.change(ctx, func(now nodeName) nodeName {
		switch {
		case now.Life == n.life && now.Asked != "":
			return n.acts(now)
		case now.Gossip == "":
			return n.acts(now)
		}
		return now
	})
	return err
}

// works records that the node is not drained, if it is not: a Drain may have been recorded although it failed.
func (n *NodeName) works(ctx context.Context) error {
	n.draining.Lock() // until the outcome of a Drain that runs is known
	defer n.draining.Unlock()
	_, err := n.change(ctx, func(now nodeName) nodeName {
		if now.Life == n.life && now.Drained && !n.drained.Load() {
			now = n.acts(now)
			now.Drained = false
		}
		return now
	})
	return err
}

// acts returns the value after an action of the holder. It says that a drained node is drained also if it has lost its
// name since, or if a node of a version without Drained has asked and so removed it.
func (n *NodeName) acts(now nodeName) nodeName {
	return nodeName{Gossip: n.gossip, Life: n.life, Acts: int(n.acted.Add(1)),
		Drained: n.drained.Load() || now.Life == n.life && now.Drained}
}

// Drain records that this node gives its background work to others, until the end of its life, if one of the others
// does such work: it has its name and is not drained. It reports whether it is recorded. The caller knows the others
// from gossip, which is late: they may be draining or leaving at the same moment. So each of them is looked up in the
// transaction that records it, and of nodes that drain at the same moment all but the last succeed.
//
// If there is an error, the node goes on working. It may be recorded nevertheless; then Hold takes it back.
func (n *NodeName) Drain(ctx context.Context, others []string) (drained bool, err error) {
	n.draining.Lock()
	defer n.draining.Unlock()
	drained, _, err = db.StoreTransact(ctx, n.store, func(tx kv.Transaction) (bool, error) {
		now, err := n.read(tx)
		if err != nil {
			return false, err
		}
		if now.Life != n.life {
			return false, &Error{Kind: Conflict, Reason: "the node does not have its name in the store"}
		}
		works, err := n.oneWorks(tx, others)
		if err != nil || !works || now.Drained {
			return works, err
		}
		now = n.acts(now)
		now.Drained = true
		return true, n.write(tx, now)
	})
	if err == nil && drained {
		n.drained.Store(true)
	}
	return drained, err
}

// oneWorks reports whether one of some nodes has its name and is not drained.
func (n *NodeName) oneWorks(tx kv.Transaction, names []string) (bool, error) {
	for _, name := range names {
		other, err := readNodeName(tx, nodeNameKey(n.store, name))
		if err != nil {
			return false, err
		}
		if other.Gossip != "" && !other.Drained {
			return true, nil
		}
	}
	return false, nil
}

// Ends records that this node is about to end, so that others that drain do not count on it.
func (n *NodeName) Ends(ctx context.Context) error {
	n.drained.Store(true)
	_, err := n.change(ctx, func(now nodeName) nodeName {
		if now.Life == n.life && !now.Drained {
			return n.acts(now)
		}
		return now
	})
	return err
}

// Release gives up the name if this node has it.
func (n *NodeName) Release(ctx context.Context) error {
	_, err := n.change(ctx, func(now nodeName) nodeName {
		if now.Life == n.life {
			return nodeName{}
		}
		return now
	})
	return err
}

// change replaces the value by f(value) and returns it. The zero value means that there is no row.
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
		return after, n.write(tx, after)
	})
	return after, err
}

// write is allowed in a full store, where a node must still be able to start.
func (n *NodeName) write(tx kv.Transaction, value nodeName) error {
	tx.MakesRoom()
	if value == (nodeName{}) {
		tx.Clear(n.key)
		return nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	tx.Set(n.key, text)
	return nil
}

// look reads the value. The watch becomes ready when the value changes. The caller cancels it.
func (n *NodeName) look(ctx context.Context) (now nodeName, w kv.Watch, err error) {
	now, _, err = db.StoreTransact(ctx, n.store, func(tx kv.Transaction) (nodeName, error) {
		if w != nil {
			w.Cancel() // left by an attempt that is retried
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

// maxNodeNames is how many names NodeNames returns at most. Nodes that are killed leave theirs, and names that contain
// a port that was chosen for a node are not taken again.
const maxNodeNames = 1000

// NodeNames returns the names that nodes have, at most maxNodeNames: of those that run, and of those that have ended
// without releasing them.
func (s *Store) NodeNames(ctx context.Context) ([]string, error) {
	prefix := s.Section(keyspace.Nodes)
	names, _, err := db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (names []string, err error) {
		it := tx.GetRange(db.PrefixRange(prefix), kv.RangeOptions{Mode: kv.ModeWantAll, Limit: maxNodeNames})
		defer it.Close()
		for it.Next() {
			name, _, err := tuple.TakeString(it.KeyValue().Key[len(prefix):])
			if err != nil {
				return nil, db.Corrupt("name of a node", err)
			}
			names = append(names, name)
		}
		return names, it.Err()
	})
	return names, err
}

func nodeNameKey(s *db.Store, name string) []byte {
	return tuple.AppendString(s.Section(keyspace.Nodes), name)
}

func (n *NodeName) read(tx kv.Transaction) (nodeName, error) { return readNodeName(tx, n.key) }

func readNodeName(tx kv.Transaction, key []byte) (nodeName, error) {
	var now nodeName
	value, err := tx.Get(key).Wait()
	if err != nil || value == nil {
		return now, err
	}
	if err := json.Unmarshal(value, &now); err != nil {
		return now, db.Corrupt("name of a node", err)
	}
	return now, nil
}
