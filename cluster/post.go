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

// post sends messages to other members, and takes theirs. nil takes and sends nothing.
type post struct {
	o       *Options
	members *members
	letters chan letter // for deliver; never closed
	pid     *actor.PID
}

// newPost begins to take messages from other members.
func newPost(o *Options, m *members) (*post, error) {
	if o.Receive == nil {
		return nil, nil
	}
	p := &post{o: o, members: m, letters: make(chan letter, postQueue)}
	props := actor.PropsFromFunc(func(ctx actor.Context) {
		b, ok := ctx.Message().(*wrapperspb.BytesValue)
		if !ok || ctx.Sender() == nil {
			return
		}
		if from, ok := p.memberAt(ctx.Sender().Address); ok {
			o.Receive(from, b.Value)
		}
	})
	var err error
	if p.pid, err = o.System.Root.SpawnNamed(props, postName); err != nil {
		return nil, fmt.Errorf("cluster: start the post: %w", err)
	}
	return p, nil
}

// send is Cluster.Send.
func (p *post) send(member string, message []byte) {
	if p == nil {
		return
	}
	for _, m := range *p.members.placed.Load() {
		if m.Name != member || m.Self {
			continue
		}
		select {
		case p.letters <- letter{m.Remote, message}:
		default: // as good as lost on the way
		}
		return
	}
}

// deliver hands letters to remoting, until ctx ends. Its first message to a member waits for remoting to make an
// endpoint, hence not in send.
func (p *post) deliver(ctx context.Context) {
	if p == nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case l := <-p.letters:
			p.o.System.Root.RequestWithCustomSender(actor.NewPID(l.to, postName), wrapperspb.Bytes(l.message), p.pid)
		}
	}
}

// stop takes no more messages.
func (p *post) stop() {
	if p != nil {
		p.o.System.Root.Stop(p.pid)
	}
}

// memberAt is the member with a remoting address.
func (p *post) memberAt(remote string) (name string, ok bool) {
	for _, m := range *p.members.placed.Load() {
		if m.Remote == remote {
			return m.Name, true
		}
	}
	return "", false
}
