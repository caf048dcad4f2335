package cluster

import (
	"context"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// postName is the process that takes other members' messages.
const postName = "divan-post"

// postQueue is how many messages may wait for remoting to take them, which is quick unless this process is starved.
const postQueue = 4096

// letter is a message on its way out.
type letter struct {
	to      string // remoting address
	message []byte
}

// Send sends a message to another member, which gets it by Options.Receive: at most once, in order while the connection holds, and perhaps never; nobody is
// told. It does not block and owns the message from then on. A member that is unknown, or is this one, gets nothing.
func (c *Cluster) Send(member string, message []byte) {
	if c.post == nil {
		return
	}
	for _, m := range *c.placed.Load() {
		if m.Name != member || m.Self {
			continue
		}
		select {
		case c.letters <- letter{m.Remote, message}:
		default: // as good as lost on the way
		}
		return
	}
}

// startPost takes messages from other members.
func (c *Cluster) startPost() error {
	if c.o.Receive == nil {
		return nil
	}
	props := actor.PropsFromFunc(func(ctx actor.Context) {
		m, ok := ctx.Message().(*wrapperspb.BytesValue)
		if !ok || ctx.Sender() == nil {
			return
		}
		if from, ok := c.memberAt(ctx.Sender().Address); ok {
			c.o.Receive(from, m.Value)
		}
	})
	pid, err := c.o.System.Root.SpawnNamed(props, postName)
	if err != nil {
		return fmt.Errorf("cluster: start the post: %w", err)
	}
	c.post = pid
	return nil
}

// deliver hands letters to remoting, until ctx ends. Its first message to a member waits for remoting to make an endpoint, hence not in Send.
func (c *Cluster) deliver(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case l := <-c.letters:
			c.o.System.Root.RequestWithCustomSender(actor.NewPID(l.to, postName), wrapperspb.Bytes(l.message), c.post)
		}
	}
}

// memberAt is the member with a remoting address.
func (c *Cluster) memberAt(remote string) (name string, ok bool) {
	for _, m := range *c.placed.Load() {
		if m.Remote == remote {
			return m.Name, true
		}
	}
	return "", false
}
