package kv

import "context"

// Verifier is the optional ability of an engine to read everything that its store has on disk, and to say what of it is
// damaged.
type Verifier interface {
	// Verify reads every block of every file of the store and compares it with its checksum, past what is known in
	// memory. It reports what is damaged through o, and goes on; the error is why it could not read on. The store stays
	// in use meanwhile.
	Verify(ctx context.Context, o VerifyOptions) (Verified, error)
}

// VerifyOptions of Verify. The functions are called by the goroutine that called Verify, one at a time.
type VerifyOptions struct {
	// Progress, where set, is told now and then how many bytes of how many have been read.
	Progress func(read, total int64)
	// Keys, where it has an end, leaves out tables without a key in this range.
	Keys KeyRange
	// Fault is told of each damaged piece of the store. An error of it ends Verify, which returns it.
	Fault func(Fault) error
}

// Fault is a damaged piece of a store.
type Fault struct {
	// File is the name of the damaged file in the store's directory.
	File string
	// What is damaged in it, such as "the block at 8192".
	What string
	// Keys is what the damaged piece may hold keys of. Some of them may be readable all the same, because they were
	// written again since. Empty where the piece holds no keys of its own, or nobody knows which.
	Keys KeyRange
	// Harmless is whether nothing is lost with the piece.
	Harmless bool
	// LeftOut is whether the store is read without the file, as it can be where it is open for reading only: rows may
	// be missing, or older than they were.
	LeftOut bool
}

func (f Fault) String() string { return f.File + ": " + f.What }

// Verified is how much Verify has read.
type Verified struct {
	Files, Blocks int
	Bytes         int64
}
