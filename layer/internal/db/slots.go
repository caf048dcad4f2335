package db

import "sync/atomic"

// slot is a place in every Store for what one part of the layer remembers of it: its options, caches and queues. The
// part declares its slot in a variable, fills it when a Store is opened, and finds it again from every handle of that
// Store. So the Store knows nothing of the parts above it, and a part's state has one owner.
type slot[T any] struct{ number int32 }

// slots is how many slots there can be.
const slots = 16

var slotsTaken atomic.Int32

func NewSlot[T any]() slot[T] { return slot[T]{slotsTaken.Add(1) - 1} }

// Fill is called before anything else uses the Store.
func (n slot[T]) Fill(s *Store, state *T) { s.slots[n.number] = state }

// Of returns the part's state of a Store.
func (n slot[T]) Of(s *Store) *T { return s.slots[n.number].(*T) }
