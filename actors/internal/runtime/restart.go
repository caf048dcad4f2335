package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// ErrNoActor reports that no actor has an id.
var ErrNoActor = errors.New("there is no such actor any more")

// restartLook is how often Restart looks whether the actor has begun its new life.
const restartLook = 5 * time.Millisecond

// Restart ends the life of an actor and of all below it, and lets it begin a new one, as after a failure. It is counted
// in the actor's record, but not in the metrics, which count failures. It waits for the new life. It returns ErrNoActor
// if there is no actor with the id, and another error if the actor is busy until ctx ends: an actor ends no life in the
// middle of a message.
func (t *Tree) Restart(ctx context.Context, id string) error {
	var found *Record
	t.top.walk(func(r *Record) {
		if r.ID == id {
			found = r
		}
	})
	if found == nil {
		return ErrNoActor
	}
	pid, lives := found.process.Load(), found.lives.Load()
	if pid == nil {
		return ErrNoActor // it has not begun yet
	}
	process, ok := t.proto.ProcessRegistry.Get(pid)
	if !ok {
		return ErrNoActor
	}
	process.SendSystemMessage(pid, &actor.Restart{})
	look := time.NewTicker(restartLook)
	defer look.Stop()
	for found.lives.Load() == lives {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the actor has been busy with one message for %v and cannot be restarted: restart "+
				"the node", found.busy(t.Now()).Truncate(time.Second))
		case <-look.C:
		}
	}
	return nil
}
