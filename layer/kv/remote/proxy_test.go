package remote_test

import (
	"net"
	"sync"
	"testing"
)

// proxy stands between client and server and can cut connections, refuse them, and stop forwarding.
type proxy struct {
	listener net.Listener
	to       string
	running  sync.WaitGroup

	mu struct {
		sync.Mutex
		refusing bool
		silent   bool
		chunks   int // pieces that the clients sent
		conns    map[net.Conn]struct{}
		heard    sync.Cond // signalled when silent ends
	}
}

func mustProxy(tb testing.TB, to string) *proxy {
	p := &proxy{listener: mustListen(tb), to: to}
	p.mu.conns = make(map[net.Conn]struct{})
	p.mu.heard.L = &p.mu
	p.running.Go(p.accept)
	tb.Cleanup(func() {
		_ = p.listener.Close()
		p.setSilent(false)
		p.cut()
		p.running.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		refusing, to := p.mu.refusing, p.to
		p.mu.Unlock()
		if refusing {
			_ = in.Close()
			continue
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.mu.Lock()
		p.mu.conns[in], p.mu.conns[out] = struct{}{}, struct{}{}
		p.mu.Unlock()
		p.running.Go(func() { p.pipe(in, out, 1) })
		p.running.Go(func() { p.pipe(out, in, 0) })
	}
}

// pipe forwards, and adds count to the chunks for each piece.
func (p *proxy) pipe(from, to net.Conn, count int) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buf := make([]byte, 8<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		p.mu.chunks += count
		for p.mu.silent {
			p.mu.heard.Wait()
		}
		p.mu.Unlock()
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// sent returns the number of pieces that the clients have sent.
func (p *proxy) sent() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.chunks
}

// cut breaks all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.mu.conns {
		_ = c.Close()
		delete(p.mu.conns, c)
	}
}

func (p *proxy) setRefusing(on bool) {
	p.mu.Lock()
	p.mu.refusing = on
	p.mu.Unlock()
}

func (p *proxy) setSilent(on bool) {
	p.mu.Lock()
	p.mu.silent = on
	p.mu.heard.Broadcast()
	p.mu.Unlock()
}

// redirect makes later connections go elsewhere.
func (p *proxy) redirect(to string) {
	p.mu.Lock()
	p.to = to
	p.mu.Unlock()
}
