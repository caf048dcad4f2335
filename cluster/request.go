package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	// requestsName is the process that receives other members' requests and answers. Members of versions without it
	// drop them.
	requestsName = "divan-requests"
	// MaxMessage bounds a request and an answer, in bytes. A message of remoting is at most 4 MB.
	MaxMessage = 1 << 20
	// maxAnswering is how many requests a member processes at once. Others are refused.
	maxAnswering = 32
	// maxAnswerTime bounds how long a request may be processed.
	maxAnswerTime = 30 * time.Second
)

// ErrNotMember reports that there is no such member, or that it is this one.
var ErrNotMember = errors.New("cluster: no such member")

// ErrBusy reports that too much waits to be sent.
var ErrBusy = errors.New("cluster: too many messages wait to be sent")

// RequestError is the other member's reason for not answering a request.
type RequestError struct{ Member, Reason string }

func (e *RequestError) Error() string {
	return fmt.Sprintf("cluster: member %s: %s", e.Member, e.Reason)
}

// The kinds of messages. A message is its kind, the number of the request (8 bytes), for a request the time that the
// other member waits (8 bytes, in milliseconds), and the content.
const (
	askMessage    = 1
	answerMessage = 2
	refuseMessage = 3
)

// requests sends requests and answers those of other members. A nil requests refuses all.
type requests struct {
	o       *Options
	post    *post
	pid     *actor.PID
	running context.Context // ends with the Cluster
	busy    chan struct{}   // has an element for each request being processed
	working sync.WaitGroup  // goroutines that process requests

	mu struct {
		sync.Mutex
		stopped bool // no further goroutines
		last    uint64
		waiting map[uint64]waiting
	}
}

// waiting is a request that waits for its answer.
type waiting struct {
	to     string      // remoting address
	result chan answer // capacity 1; never closed
}

type answer struct {
	body   []byte
	reason string // why it was refused
	ok     bool
}

func newRequests(running context.Context, o *Options, p *post) (*requests, error) {
	if p == nil {
		return nil, nil
	}
	r := &requests{o: o, post: p, running: running, busy: make(chan struct{}, maxAnswering)}
	r.mu.waiting = map[uint64]waiting{}
	props := actor.PropsFromFunc(func(ctx actor.Context) {
		b, ok := ctx.Message().(*wrapperspb.BytesValue)
		if ok && ctx.Sender() != nil {
			r.receive(ctx.Sender().Address, b.Value)
		}
	})
	var err error
	if r.pid, err = o.System.Root.SpawnNamed(props, requestsName); err != nil {
		return nil, fmt.Errorf("cluster: start requests: %w", err)
	}
	return r, nil
}

// stop stops receiving, and waits for the requests being processed, whose context has ended.
func (r *requests) stop() {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.mu.stopped = true
	r.mu.Unlock()
	r.working.Wait()
	r.o.System.Root.Stop(r.pid)
}

// request implements Cluster.Request.
func (r *requests) request(ctx context.Context, member string, body []byte) ([]byte, error) {
	if len(body) > MaxMessage {
		return nil, fmt.Errorf("cluster: a request of %d bytes is too large", len(body))
	}
	if r == nil {
		return nil, ErrNotMember
	}
	to, ok := r.post.addressOf(member)
	if !ok {
		return nil, ErrNotMember
	}
	limit := maxAnswerTime
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(0, min(limit, time.Until(deadline)))
	}
	w := waiting{to, make(chan answer, 1)}
	r.mu.Lock()
	r.mu.last++
	id := r.mu.last
	r.mu.waiting[id] = w
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.mu.waiting, id)
	}()
	message := header(askMessage, id)
	message = binary.BigEndian.AppendUint64(message, uint64(limit.Milliseconds()))
	if !r.send(to, append(message, body...)) {
		return nil, ErrBusy
	}
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("cluster: member %s has not answered: %w", member, ctx.Err())
	case <-r.running.Done():
		return nil, fmt.Errorf("cluster: this member stops: %w", context.Canceled)
	case a := <-w.result:
		if !a.ok {
			return nil, &RequestError{member, a.reason}
		}
		return a.body, nil
	}
}

func header(kind byte, id uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{kind}, id)
}

func (r *requests) send(to string, message []byte) bool {
	return r.post.put(outgoing{to, requestsName, message, r.pid})
}

// receive processes a message from a remoting address. Messages that are not understood are dropped.
func (r *requests) receive(from string, message []byte) {
	member, known := r.post.memberAt(from)
	if !known || len(message) < 9 {
		return
	}
	kind, id, rest := message[0], binary.BigEndian.Uint64(message[1:]), message[9:]
	switch kind {
	case askMessage:
		if len(rest) >= 8 {
			millis := min(binary.BigEndian.Uint64(rest), uint64(maxAnswerTime.Milliseconds()))
			r.process(from, member, id, time.Duration(millis)*time.Millisecond, rest[8:])
		}
	case answerMessage, refuseMessage:
		r.mu.Lock()
		defer r.mu.Unlock()
		if w, ok := r.mu.waiting[id]; ok && w.to == from {
			delete(r.mu.waiting, id)
			w.result <- answer{body: rest, reason: string(rest), ok: kind == answerMessage}
		}
	}
}

// process answers a request in a goroutine, unless there are too many.
func (r *requests) process(from, member string, id uint64, wait time.Duration, body []byte) {
	refuse := func(reason string) { r.send(from, append(header(refuseMessage, id), reason...)) }
	if r.o.Answer == nil {
		refuse("it answers no requests")
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.stopped {
		return
	}
	select {
	case r.busy <- struct{}{}:
	default:
		refuse("it has too many requests")
		return
	}
	r.working.Go(func() {
		defer func() { <-r.busy }()
		ctx, cancel := context.WithTimeout(r.running, wait)
		defer cancel()
		result, err := r.answer(ctx, member, body)
		switch {
		case err != nil:
			refuse(err.Error())
		case len(result) > MaxMessage:
			refuse(fmt.Sprintf("its answer of %d bytes is too large", len(result)))
		default:
			r.send(from, append(header(answerMessage, id), result...))
		}
	})
}

// answer calls Options.Answer. A panic there is an error of this request only.
func (r *requests) answer(ctx context.Context, member string, body []byte) (result []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.o.Logger.Error("a request of another member failed", "member", member, "error", fmt.Sprint(p))
			err = fmt.Errorf("it failed: %v", p)
		}
	}()
	return r.o.Answer(ctx, member, body)
}
