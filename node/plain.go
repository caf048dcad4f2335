package node

import (
	"errors"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// ofStore returns an error of health.StoreReady without what the engine's client says.
func ofStore(err error) string {
	var e *layer.Error
	if errors.As(err, &e) && e.Reason != "" {
		return e.Reason
	}
	if text := plainly(err); text != "" {
		return text
	}
	return err.Error()
}

// plainly says what an error of the store means to somebody who looks at the console, and what to do. It returns "" for
// errors that are not the store's.
func plainly(err error) string {
	var failed *kv.Error
	if !errors.As(err, &failed) {
		return ""
	}
	if errors.Is(err, kv.ErrConnectionLost) {
		return "the connection to the store broke. If it does not answer again soon, the view Storage says more."
	}
	switch failed.Code {
	case kv.CodeUnreachable:
		return failed.Message + ". See whether it runs and can be reached from this node; the view Storage says more."
	case kv.CodeTimedOut, kv.CodeCancelled:
		return "the store takes too long to answer. If this lasts, see the view Storage."
	case kv.CodeKeyTooLarge:
		return "a name is too long for the store. Use a shorter one."
	case kv.CodeTooOld, kv.CodeFutureVersion, kv.CodeProcessBehind:
		return "the store is too slow now. If this lasts, see the view Storage."
	case kv.CodeDatabaseLocked:
		return "the store is locked, as during a restore. It answers when it is unlocked."
	case kv.CodeIOError, kv.CodeDiskFull, kv.CodeUnwritable, kv.CodeFileCorrupt:
		return failed.Message + ". The view Storage says more."
	}
	return failed.Message
}
