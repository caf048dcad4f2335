package remote

import (
	"bufio"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer/kv"
)

const (
	// maxUnsent bounds a session's unsent answers; beyond it, senders wait.
	maxUnsent = 4 << 20
	// maxUnread bounds the bytes of a client's requests that wait for their transactions; beyond it, no more are
	// read.
	maxUnread = 32 << 20
	// maxObjects bounds the transactions and snapshots of one client.
	maxObjects = 100_000
)

var errTooManyObjects = errors.New("remote: too many transactions")

// session is the server's side of one connection. Its goroutine reads requests; each transaction with queued requests
// has a worker that processes them in order; each watch has a goroutine that waits.
type session struct {
	server *Server
	nc     net.Conn
	out    *output
	name   clientName
	done   chan struct{} // closed when nothing of the session is left

	over    chan struct{} // closed when the connection has ended
	workers sync.WaitGroup
	idle    chan *object // hands objects to resting workers
	busy    atomic.Int64 // workers that are processing an object
	resting atomic.Int64 // workers that are waiting for one

	mu struct {
		sync.Mutex
		space   sync.Cond // signalled when queued shrinks
		queued  int       // bytes of requests that no worker has taken yet
		objects map[uint64]*object
		watches map[watchName]kv.Watch
		err     error // why the session ended, if not by the connection
	}
}

// watchName identifies a client's watch.
type watchName struct {
	object  uint64
	request uint32
}

func newSession(s *Server, nc net.Conn) *session {
	sess := &session{server: s, nc: nc, out: newOutput(nc, maxUnsent, patience(s.o)), done: make(chan struct{}),
		over: make(chan struct{}), idle: make(chan *object)}
	sess.mu.space.L = &sess.mu
	sess.mu.objects = make(map[uint64]*object)
	sess.mu.watches = make(map[watchName]kv.Watch)
	return sess
}

// patience returns how long a server tolerates a silent client: longer than the client tolerates a silent server.
func patience(o Options) time.Duration { return 2 * silentPings * o.ping }

// patient is a connection that fails when it is silent for too long.
type patient struct {
	net.Conn
	limit time.Duration
}

func (p patient) Read(b []byte) (int, error) {
	if err := p.SetReadDeadline(time.Now().Add(p.limit)); err != nil {
		return 0, err
	}
	return p.Conn.Read(b)
}

// run serves the connection until it ends, then ends everything that it began. It returns why it ended.
func (s *session) run() error {
	err := s.tell(ableToFollow)
	if err == nil {
		err = s.read()
	}
	_ = s.nc.Close() // it has ended, or ends here
	close(s.over)
	s.out.stop(net.ErrClosed)
	s.mu.Lock()
	objects := s.mu.objects
	s.mu.objects = nil
	if s.mu.err != nil {
		err = s.mu.err
	}
	s.mu.Unlock()
	for _, o := range objects {
		o.abandon()
	}
	s.workers.Wait()
	return err
}

// tell sends the server's abilities.
func (s *session) tell(abilities uint64) error {
	return s.out.send(false, encode(kindAbilities, 0, 0, func(dst []byte) []byte {
		return binary.AppendUvarint(dst, abilities)
	}))
}

// leave tells the client that the server stops, and ends the session. It waits for a client that does not read for
// leaveWithin.
func (s *session) leave() {
	late := time.AfterFunc(leaveWithin, func() { _ = s.nc.Close() })
	_ = s.tell(ableToFollow | stopping) // a client that is not told takes it for an outage
	late.Stop()
	_ = s.nc.Close() // the reader notices
}

const leaveWithin = 100 * time.Millisecond

func (s *session) read() error {
	in := bufio.NewReaderSize(patient{s.nc, patience(s.server.o)}, 64<<10)
	var idle []*object // those with requests but without a worker
	for {
		// Begin when all requests that came together are queued, so that their answers go out together too.
		if len(idle) > 0 && !complete(in) {
			for _, o := range idle {
				s.work(o)
			}
			idle = idle[:0]
		}
		f, err := readFrame(in)
		if err != nil {
			return err
		}
		if f.kind == kindPing {
			if err := s.answer(f, kindPong, s.appendDegraded); err != nil {
				return err
			}
			continue
		}
		o, err := s.dispatch(f)
		if err != nil {
			return err
		}
		if o != nil {
			idle = append(idle, o)
		}
	}
}

// complete reports whether a reader has a whole frame in memory.
func complete(r *bufio.Reader) bool {
	if r.Buffered() < headerSize {
		return false
	}
	size, err := r.Peek(4)
	return err == nil && int64(r.Buffered()) >= 4+int64(binary.BigEndian.Uint32(size))
}

// appendDegraded appends the reasons why the engine needs an operator, so that the client's node can report them too.
func (s *session) appendDegraded(dst []byte) []byte {
	if d, ok := s.server.e.(kv.Degrader); ok {
		for _, reason := range d.Degraded() {
			dst = appendBytes(dst, []byte(reason))
		}
	}
	return dst
}

// dispatch passes a request to its transaction, and returns the transaction if it needs a worker. The first request
// begins the transaction.
func (s *session) dispatch(f frame) (idle *object, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.mu.queued > maxUnread {
		s.mu.space.Wait()
	}
	if f.kind == kindWatchCancel {
		// Not queued behind the transaction's requests: the watch outlives it.
		if w := s.mu.watches[watchName{f.object, f.request}]; w != nil {
			w.Cancel()
		}
		return nil, nil
	}
	o := s.mu.objects[f.object]
	switch begins := f.kind&beginFlag != 0; {
	case begins && o == nil && len(s.mu.objects) < maxObjects:
		o = &object{s: s, id: f.object}
		s.mu.objects[f.object] = o
		f.kind &^= beginFlag
	case begins && o == nil:
		return nil, errTooManyObjects
	case begins:
		return nil, errFrame
	case o == nil:
		return nil, s.late(f)
	}
	s.mu.queued += len(f.payload)
	if o.push(f) {
		return o, nil
	}
	return nil, nil
}

// late answers a request for an object that has ended, as transactions do with their commit.
func (s *session) late(f frame) error {
	switch f.kind {
	case kindWrites, kindRangeClose, kindEnd:
		return nil
	}
	// not here: sending may have to wait for the client to read
	s.workers.Go(func() { s.answerError(f, errUsedCommit) })
	return nil
}

// maxResting bounds the workers of a session that wait for more work: a new goroutine per request would grow its
// stack each time.
const maxResting = 64

// work assigns the object's queue to a worker.
func (s *session) work(o *object) {
	s.busy.Add(1)
	select {
	case s.idle <- o:
	default:
		s.workers.Go(func() { s.worker(o) })
	}
}

func (s *session) worker(o *object) {
	for {
		o.work()
		s.busy.Add(-1)
		if s.resting.Add(1) > maxResting {
			s.resting.Add(-1)
			return
		}
		select {
		case o = <-s.idle:
			s.resting.Add(-1)
		case <-s.over:
			return
		}
	}
}

// taken records that a worker has taken a request of n bytes.
func (s *session) taken(n int) {
	if n == 0 {
		return
	}
	s.mu.Lock()
	s.mu.queued -= n
	s.mu.space.Signal()
	s.mu.Unlock()
}

// forget removes an object that has ended.
func (s *session) forget(o *object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.objects[o.id] == o {
		delete(s.mu.objects, o.id)
	}
}

// fail ends the session because of what the client sent.
func (s *session) fail(err error) {
	s.mu.Lock()
	if s.mu.err == nil {
		s.mu.err = err
	}
	s.mu.Unlock()
	_ = s.nc.Close() // the reader notices
}

// answer sends an answer to f. build, which may be nil, appends the payload.
func (s *session) answer(f frame, k kind, build func(dst []byte) []byte) error {
	return s.out.send(s.others(), encode(k, f.object, f.request, build))
}

// others reports whether other workers are likely to send too.
func (s *session) others() bool { return s.busy.Load() > 1 }

// answerError sends an error as the answer to f.
func (s *session) answerError(f frame, err error) {
	// if sending fails, nobody waits for the answer
	_ = s.answer(f, kindError, func(dst []byte) []byte { return appendError(dst, err) })
}

// addWatch starts a goroutine that waits for w and tells the client.
func (s *session) addWatch(f frame, w kv.Watch) {
	name := watchName{f.object, f.request}
	s.mu.Lock()
	s.mu.watches[name] = w
	s.mu.Unlock()
	s.workers.Go(func() {
		select {
		case <-w.Done():
		case <-s.over:
			w.Cancel()
			<-w.Done()
		}
		s.mu.Lock()
		delete(s.mu.watches, name)
		s.mu.Unlock()
		if err := w.Err(); err != nil {
			s.answerError(f, err)
			return
		}
		_ = s.answer(f, kindWatchFired, nil) // if sending fails, nobody waits for the answer
	})
}
