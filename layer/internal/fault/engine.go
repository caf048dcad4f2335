package fault

import (
	"context"
	"errors"

	"github.com/divandb/divan/layer/kv"
)

// engineKind classifies an error that no domain code has classified.
func engineKind(err error) Kind {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case kv.IsCode(err, kv.CodeDiskFull), kv.IsCode(err, kv.CodeUnwritable):
		return Full
	case kv.IsCode(err, kv.CodeTransactionTooLarge), kv.IsCode(err, kv.CodeKeyTooLarge),
		kv.IsCode(err, kv.CodeValueTooLarge):
		return TooLarge
	case kv.IsCode(err, kv.CodeUnreachable), kv.IsCode(err, kv.CodeIOError), kv.IsCode(err, kv.CodeFileCorrupt),
		kv.Retryable(err), kv.TooMuch(err):
		return Unavailable
	}
	return Internal
}

// Local reports whether an error says nothing about the rest of the store: what was asked for is damaged on disk, or is
// too much for a transaction. Work on many databases goes on with the next one.
func Local(err error) bool {
	return kv.IsCode(err, kv.CodeFileCorrupt) || kv.IsCode(err, kv.CodeIOError) || kv.TooMuch(err)
}
