package fault

import (
	"context"
	"errors"

	"github.com/divandb/divan/layer/kv"
)

// engineKind classifies an error that is not an Error.
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

// Plain returns the text of an error; that of the engine's errors without their numbers and where they came from.
func Plain(err error) string {
	var failed *kv.Error
	if errors.As(err, &failed) {
		return failed.Message
	}
	return err.Error()
}

// Local reports whether an error concerns only the requested data, which is damaged on disk or too much for a
// transaction, and not the whole store. Work on many databases then continues with the next one.
func Local(err error) bool {
	return kv.IsCode(err, kv.CodeFileCorrupt) || kv.IsCode(err, kv.CodeIOError) || kv.TooMuch(err)
}
