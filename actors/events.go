package actors

import (
	"time"

	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
)

// Event is something that happened to the actors of this node. One of its pointers is set.
type Event struct {
	At     time.Time
	Failed *ActorFailure // also logged
	Took   *JobTaken
}

// ActorFailure is a failure of an actor, which is then restarted.
type ActorFailure = runtime.ActorFailure

// JobTaken is a job that this node has taken over from another one, which has given it back or was silent for too long.
type JobTaken struct {
	Type, ID, From string
	Token          int64 // the new fencing token
}

// Listened calls visit for each changes shard with listeners on this node. kind and id are what the shard's actor is
// placed by.
func (s *System) Listened(visit func(kind, id string)) {
	for _, db := range s.feeds.Databases() {
		s.feeds.Places(db, func(shard layer.ShardID, id string) { visit(ShardKind, id) })
	}
}
