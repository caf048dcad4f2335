package node

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/divandb/divan/layer/kv"
)

// Of an outage of the store the log has its beginning and its end, and not what fails because of it.
func TestStoreLevel(t *testing.T) {
	for err, want := range map[error]slog.Level{
		kv.NewError(kv.CodeTooOld, "lost", kv.ErrConnectionLost): slog.LevelDebug,
		kv.NewError(kv.CodeUnreachable, "no", nil):               slog.LevelDebug,
		kv.NewError(kv.CodeFileCorrupt, "damaged", nil):          slog.LevelWarn,
		errors.New("another"):                                    slog.LevelWarn,
	} {
		if got := storeLevel(err); got != want {
			t.Errorf("%v is logged at %s", err, got)
		}
	}
}
