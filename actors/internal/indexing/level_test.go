package indexing_test

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/divandb/divan/actors/internal/indexing"
	"github.com/divandb/divan/layer/kv"
)

// An outage of the store is one line of the log, however many builds fail because of it.
func TestFailureLevel(t *testing.T) {
	for err, want := range map[error]slog.Level{
		kv.NewError(kv.CodeTooOld, "lost", kv.ErrConnectionLost):                    slog.LevelDebug,
		fmt.Errorf("a step: %w", kv.NewError(kv.CodeUnreachable, "no answer", nil)): slog.LevelDebug,
		kv.NewError(kv.CodeTooOld, "too slow", nil):                                 slog.LevelWarn,
		kv.NewError(kv.CodeFileCorrupt, "damaged", nil):                             slog.LevelError,
		errors.New("another"): slog.LevelError,
	} {
		if got := indexing.FailureLevel(err); got != want {
			t.Errorf("%v is logged at %s", err, got)
		}
	}
}
