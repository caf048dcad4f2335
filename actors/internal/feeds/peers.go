package feeds

import (
	"encoding/json"
	"fmt"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/layer"
)

// Peers is the other nodes, as feeds needs them. Its methods do not block.
type Peers interface {
	// Owner names the member that the actor of a kind and id belongs on, at the moment and in this node's view: this
	// node's name where it is this one.
	Owner(kind, id string) string
	// Send sends a message to a member's feeds: at most once, perhaps late, perhaps never, and nobody is told.
	Send(member string, message []byte)
	// Subscribe returns a channel that receives after each change of placement. Call cancel when done.
	Subscribe() (changed <-chan struct{}, cancel func())
}

// message is what two nodes' exchanges write to each other: one node follows shards that the other one watches in the
// store. JSON, since nodes of different versions run together while a cluster is upgraded: what is not known is passed
// over.
type message struct {
	// Turn numbers the sender's messages that ask. An answer repeats it, so that it is known how old the question was.
	Turn int64 `json:"turn,omitempty"`
	// Follow: the sender wants to be woken for these shards. Said again every beat; what is not, lapses.
	Follow []ask `json:"follow,omitempty"`
	// Unfollow: no longer for these.
	Unfollow []int64 `json:"unfollow,omitempty"`

	// Answer is the Turn that Positions answers.
	Answer    int64      `json:"answer,omitempty"`
	Positions []position `json:"standing,omitempty"`
	// Wake: one message wakes any number of listeners.
	Wake []position `json:"wake,omitempty"`
}

// ask names a shard, and gives it the number that answers and wakes use.
type ask struct {
	Key      int64         `json:"k"`
	Database string        `json:"d"`
	Number   int64         `json:"n"` // of the database: one of the same name may have come after it
	Shard    layer.ShardID `json:"s"`
}

// position is how the writer stands to a shard that the reader follows.
type position struct {
	Key int64 `json:"k"`
	// Watched: the writer watches it in the store and will send a wake after every commit from now on.
	Watched bool `json:"w,omitempty"`
	// Tally is different after every wake. A reader with another one has missed a wake.
	Tally string `json:"t,omitempty"`
}

func (l *message) encode() []byte {
	b, err := json.Marshal(l)
	if err != nil {
		panic(err) // numbers and strings
	}
	return b
}

func decodeMessage(b []byte) (*message, error) {
	l := new(message)
	if err := json.Unmarshal(b, l); err != nil {
		return nil, fmt.Errorf("read a message: %w", err)
	}
	return l, nil
}

// ShardKind is the kind under which changes shards are placed.
const ShardKind = "shard"

func shardPlace(db ports.Database, shard layer.ShardID) string {
	return db.Name() + "/" + string(shard)
}
