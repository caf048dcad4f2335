package engine

// Arena exports arena for its test.
type Arena = arena

// NewArena is newArena.
func NewArena(size int) (*Arena, error) { return newArena(size) }

// Exported forms of the arena's methods.
func (a *arena) Alloc(n uint64) uintptr              { return a.alloc(n) }
func (a *arena) Free(p uintptr)                      { a.free(p) }
func (a *arena) Realloc(p uintptr, n uint64) uintptr { return a.realloc(p, n) }
func (a *arena) Bytes(p uintptr, n int) []byte       { return a.bytes(p, n) }
func (a *arena) Used() int                           { return a.used * unit }
func (a *arena) Close() error                        { return a.close() }
