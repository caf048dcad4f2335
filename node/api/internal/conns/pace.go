package conns

import "time"

// Pace checks how fast a client sends a body. It counts only time spent waiting for the client, not the time that the
// store takes.
type Pace struct {
	Window time.Duration // how long the client may pause
	Rate   int64         // bytes per second that it must send on average over a window
	waited time.Duration
	got    int64
}

// Left returns how long the client may still take for its next byte; 0 if its time is used up.
func (p *Pace) Left() time.Duration { return max(0, p.Window-p.waited) }

// Took records that n bytes came after a wait. When enough bytes have come for a window, a new window begins.
func (p *Pace) Took(n int, waited time.Duration) {
	p.got += int64(n)
	p.waited += waited
	if p.got > 0 && p.got >= p.Rate*int64(p.Window/time.Second) {
		p.got, p.waited = 0, 0
	}
}

// HolderPace is the minimum pace for sending and reading while a request holds memory that others wait for.
var HolderPace = Pace{Window: 15 * time.Second, Rate: 64 << 10}
