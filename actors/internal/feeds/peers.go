package feeds

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/layer"
)

// Peers are the other nodes, as Feeds needs them. Its methods do not block.
type Peers interface {
	// Owner returns the member that the actor of a kind and id currently belongs on, in this node's view, if it must
	// not be one of some members. It may be this node.
	Owner(kind, id string, except ...string) string
	// Send sends a message to a member's Feeds: at most once, perhaps late, perhaps never, without an error.
	Send(member string, message []byte)
	// Subscribe returns a channel that receives after each change of placement. Call cancel when done.
	Subscribe() (changed <-chan struct{}, cancel func())
}

// message is what the exchanges of two nodes send to each other. One node follows shards that the other one watches in
// the store. It is encoded as JSON, because nodes of different versions run together while a cluster is upgraded:
// unknown members are ignored.
type message struct {
	// Turn numbers the sender's messages with questions. The answer repeats it, which tells how old the question was.
	Turn int64 `json:"turn,omitempty"`
	// Follow: the sender wants to be woken for these shards. It repeats this every beat; otherwise it lapses.
	Follow []ask `json:"follow,omitempty"`
	// Unfollow: the sender no longer follows these.
	Unfollow []int64 `json:"unfollow,omitempty"`
	// Same stands for Follow if the recipient should know all that the sender follows: the sum of the keys.
	Same *digest `json:"same,omitempty"`

	// Answer is the Turn that Positions answers.
	Answer    int64      `json:"answer,omitempty"`
	Positions []position `json:"standing,omitempty"`
	// Rest, in an answer to Same, is the sum of the positions of all shards that are not in Positions. They are
	// watched, and have not changed for some beats.
	Rest *digest `json:"rest,omitempty"`
	// Digests, in an answer, means that the sender understands Same. Nodes of earlier versions do not.
	Digests bool `json:"digests,omitempty"`
	// Whole, in an answer to Same, means that the sender does not know what the recipient follows.
	Whole bool `json:"whole,omitempty"`
	// Wake lists shards whose listeners, any number of them, are to be woken.
	Wake []position `json:"wake,omitempty"`
}

// ask names a shard, and assigns it the number that answers and wakes use.
type ask struct {
	Key      int64         `json:"k"`
	Database string        `json:"d"`
	Number   int64         `json:"n"` // of the database, since a later one may have the same name
	Shard    layer.ShardID `json:"s"`
}

// position is the sender's state for a shard that the recipient follows.
type position struct {
	Key int64 `json:"k"`
	// Watched: the sender watches the shard in the store and will send a wake after every commit from now on.
	Watched bool `json:"w,omitempty"`
	// Tally changes with every wake. A recipient with a different tally has missed a wake.
	Tally string `json:"t,omitempty"`
	// Refused: the sender's actor of the shard fails too often, so the recipient should follow another member for a
	// while. Nodes of earlier versions watch for themselves instead.
	Refused bool `json:"r,omitempty"`
	// RefusedFor is for how many milliseconds more. Nodes of earlier versions do not say it.
	RefusedFor int64 `json:"m,omitempty"`

	changed time.Time // when either last changed, at the sender
}

// refusedFor returns for how long a member that refuses is left out.
func (p *position) refusedFor() time.Duration {
	left := time.Duration(p.RefusedFor) * time.Millisecond
	if left <= 0 || left > refusedFor {
		return refusedFor
	}
	return left
}

func (l *message) encode() []byte {
	b, err := json.Marshal(l)
	if err != nil {
		panic(err) // encoding numbers and strings never fails
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
