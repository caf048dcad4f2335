package db

import "sync/atomic"

// slot is a place in every Store where one package keeps its state: options, caches and queues. The package declares
// its slot in a variable, fills it when a Store is opened, and reads it from any handle of that Store. So the Store
// does not depend on the packages above it, and every state has one owner.
type slot[T any] struct{ number int32 }

// slots is the maximum number of slots.
const slots = 16

var slotsTaken atomic.Int32

// NewSlot reserves a slot. It is called when packages are initialized.
func NewSlot[T any]() slot[T] { return slot[T]{slotsTaken.Add(1) - 1} }

// Fill sets the package's state. It is called before anything else uses the Store.
func (n slot[T]) Fill(s *Store, state *T) { s.slots[n.number] = state }

// Of returns the package's state in a Store.
func (n slot[T]) Of(s *Store) *T { return s.slots[n.number].(*T) }
