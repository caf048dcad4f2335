package engine

// buffer is a growing, reusable piece of arena memory. The engine gets addresses in it: Go memory would not do, since
// a goroutine's stack moves when JavaScript recurses.
type buffer struct {
	addr uintptr
	size int
}

// room grows the buffer to at least n bytes and returns them; nil if the arena is full. The old content is lost.
func (b *buffer) room(a *arena, n int) []byte {
	if n > b.size {
		if b.addr != 0 {
			a.free(b.addr)
			b.addr, b.size = 0, 0
		}
		size := max(n+n/4, 4096)
		if b.addr = a.alloc(uint64(size)); b.addr == 0 {
			return nil
		}
		b.size = size
	}
	return a.bytes(b.addr, n)
}

// shrink frees a large buffer.
func (b *buffer) shrink(a *arena) {
	if b.size > 256<<10 {
		a.free(b.addr)
		b.addr, b.size = 0, 0
	}
}
