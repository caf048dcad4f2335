package cluster

import (
	"context"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// postName is the process that receives other members' messages.
const postName = "divan-post"

// postQueue is how many messages may wait for remoting, which takes them quickly unless this process is starved of CPU.
const postQueue = 4096

// outgoing is a message to be sent.
type outgoing struct {
	to      string // remoting address
	name    string // of the process that receives it
	message []byte
	answers *actor.PID // the sender
}

// post sends messages to other members, and receives theirs. A nil post does nothing.
type post struct {
	o       *Options
	members *members
	queue   chan outgoing // read by deliver; never closed
	pid     *actor.PID
}

// newPost starts to receive messages from other members.
func newPost(o *Options, m *members) (*post, error) {
	if o.Receive == nil && o.Answer == nil {
		return nil, nil
	}
	p := &post{o: o, members: m, queue: make(chan outgoing, postQueue)}
	props := actor.PropsFromFunc(func(ctx actor.Context) {
		b, ok := ctx.Message().(*wrapperspb.BytesValue)
		if !ok || ctx.Sender() == nil {
			return
		}
		if from, ok := p.memberAt(ctx.Sender().Address); ok && o.Receive != nil {
			o.Receive(from, b.Value)
		}
	})
	var err error
	if p.pid, err = o.System.Root.SpawnNamed(props, postName); err != nil {
		return nil, fmt.Errorf("cluster: start the post: %w", err)
	}
	return p, nil
}

// send implements Cluster.Send.
func (p *post) send(member string, message []byte) {
	if p == nil {
		return
	}
	if to, ok := p.addressOf(member); ok {
		p.put(outgoing{to, postName, message, p.pid})
	}
}

// addressOf returns the remoting address of another member.
func (p *post) addressOf(member string) (string, bool) {
	for _, m := range *p.members.reached.Load() {
		if m.Name == member && !m.Self {
			return m.Remote, true
		}
	}
	return "", false
}

// put queues a message. It reports whether there was room.
func (p *post) put(m outgoing) bool {
	select {
	case p.queue <- m:
		return true
	default: // dropped, as if lost on the way
		return false
	}
}

// deliver passes messages to remoting until ctx ends. It runs in a goroutine of its own because the first message to a
// member waits until remoting has created an endpoint.
func (p *post) deliver(ctx context.Context) {
	if p == nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case l := <-p.queue:
			p.o.System.Root.RequestWithCustomSender(actor.NewPID(l.to, l.name), wrapperspb.Bytes(l.message), l.answers)
		}
	}
}

// stop stops receiving messages.
func (p *post) stop() {
	if p != nil {
		p.o.System.Root.Stop(p.pid)
	}
}

// memberAt returns the member with a remoting address.
func (p *post) memberAt(remote string) (name string, ok bool) {
	for _, m := range *p.members.reached.Load() {
		if m.Remote == remote {
			return m.Name, true
		}
	}
	return "", false
}
