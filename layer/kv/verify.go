package kv

import "context"

// Verifier is the optional ability of an engine to read everything its store has on disk and to report damage.
type Verifier interface {
	// Verify reads every block of every file of the store from disk, not from caches, and compares it with its
	// checksum. It reports damage through o and continues; the returned error says why it could not read on. The
	// store stays in use meanwhile.
	Verify(ctx context.Context, o VerifyOptions) (Verified, error)
}

// VerifyOptions are the options of Verify. The functions are called one at a time by the goroutine that called
// Verify.
type VerifyOptions struct {
	// Progress, if set, is called now and then with the bytes read so far and the total.
	Progress func(read, total int64)
	// Keys, if it has an End, restricts Verify to tables with a key in this range.
	Keys KeyRange
	// Fault is called for each damaged piece of the store. If it returns an error, Verify ends and returns that
	// error.
	Fault func(Fault) error
}

// Fault is a damaged piece of a store.
type Fault struct {
	// File is the name of the damaged file in the store's directory.
	File string
	// What is the damaged piece, such as "the block at 8192".
	What string
	// Keys is the range of keys that the damaged piece may hold. Some of them may still be readable because they were
	// written again later. It is empty if the piece holds no keys or the range is unknown.
	Keys KeyRange
	// Harmless reports that no data is lost with the piece.
	Harmless bool
	// LeftOut reports that the store is read without the file, which is possible when it is open for reading only:
	// rows may be missing or outdated.
	LeftOut bool
}

func (f Fault) String() string { return f.File + ": " + f.What }

// Verified is how much Verify has read.
type Verified struct {
	Files, Blocks int
	Bytes         int64
}
