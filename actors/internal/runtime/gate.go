package runtime

import (
	"sync"
	"sync/atomic"
)

// gate lets actors work until their tree ends. It has no queue and no lock, because every message passes it.
type gate struct {
	state    atomic.Int64 // how many are inside, and gateShut once it is shut
	shutting sync.Once
	emptied  sync.Once
	empty    chan struct{} // closed when it is shut and nobody is inside
}

// gateShut is more than can ever be inside.
const gateShut = 1 << 40

func newGate() *gate { return &gate{empty: make(chan struct{})} }

// enter reports whether the caller may work. Then it must leave.
func (g *gate) enter() bool {
	if g.state.Add(1) < gateShut {
		return true
	}
	g.leave()
	return false
}

func (g *gate) leave() {
	if g.state.Add(-1) == gateShut {
		g.emptied.Do(func() { close(g.empty) })
	}
}

// shut lets nobody in any more and waits until those inside have left. It can be called several times.
func (g *gate) shut() {
	g.shutting.Do(func() {
		g.state.Add(gateShut + 1) // itself inside, so that leave notices if nobody else is
		g.leave()
	})
	<-g.empty
}
