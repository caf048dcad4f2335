package conns

import "time"

// Pace judges how fast a client sends a body. Time counts only while the server waits for the client: what the store
// takes is not the client's fault.
type Pace struct {
	Window time.Duration // how long the client may send nothing
	Rate   int64         // bytes a second that it has to send on average over a window
	waited time.Duration
	got    int64
}

// Left is how long the client may still take for its next byte; 0 where it has used up its time.
func (p *Pace) Left() time.Duration { return max(0, p.Window-p.waited) }

// Took notes that n bytes came after a wait. A full measure begins a new window.
func (p *Pace) Took(n int, waited time.Duration) {
	p.got += int64(n)
	p.waited += waited
	if p.got > 0 && p.got >= p.Rate*int64(p.Window/time.Second) {
		p.got, p.waited = 0, 0
	}
}

// HolderPace is the least at which clients have to send or to read while their request holds memory that others wait
// for.
var HolderPace = Pace{Window: 15 * time.Second, Rate: 64 << 10}
