package runtime

import (
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// A message at which an actor fails is not delivered again, since the actor would probably fail again. It is parked:
// the tree keeps what it was, for an operator. Actors do not depend on single messages (package actors), so the actor's
// next life does what the message was about.

// mostParked is how many messages are kept. The oldest are dropped when there are more.
const mostParked = 20

// ParkedMessage is a message at which an actor failed.
type ParkedMessage struct {
	At      time.Time `json:"at"`
	Actor   string    `json:"actor"`
	Message string    `json:"message"` // its kind
	Reason  string    `json:"reason"`  // why the actor failed
}

// park keeps what an actor failed at, unless that was no message but the actor's start or its I/O.
func (t *Tree) park(r *Record, message any, reason string) {
	message = content(message)
	switch message.(type) {
	case actor.SystemMessage, actor.AutoReceiveMessage, crash:
		return
	}
	k := t.kinds
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := len(k.mu.parked) - mostParked + 1; n > 0 {
		k.mu.parked = slices.Delete(k.mu.parked, 0, n)
	}
	k.mu.parked = append(k.mu.parked, ParkedMessage{t.Now(), r.ID, fmt.Sprintf("%T", message), reason})
}

// content returns a message without its envelopes.
func content(message any) any {
	message = actor.UnwrapEnvelopeMessage(message)
	if own, ok := message.(fromLife); ok {
		return own.message
	}
	return message
}
