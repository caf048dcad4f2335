package runtime_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/divandb/divan/actors/internal/runtime"
)

// What protoactor says of connections to a node that is gone is for debugging. Its other errors are warnings.
func TestNewActorSystem_logs(t *testing.T) {
	for level, want := range map[slog.Level]string{
		slog.LevelWarn:  "WARN other",
		slog.LevelDebug: "DEBUG EndpointWriter lost connection, DEBUG EndpointWriter failed to connect, WARN other",
	} {
		var text bytes.Buffer
		log := slog.New(slog.NewJSONHandler(&text, &slog.HandlerOptions{Level: level,
			ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.LevelKey || a.Key == slog.MessageKey {
					return a
				}
				return slog.Attr{}
			}}))
		l := runtime.NewActorSystem(log).Logger()
		l.Error("EndpointWriter lost connection")
		l.Error("EndpointWriter failed to connect", "retry", 1)
		l.Error("other")
		got := strings.NewReplacer(`{"level":"`, "", `","msg":"`, " ", `"}`, "", "\n", ", ").Replace(text.String())
		if !strings.Contains(got+" ", want+", ") || strings.Contains(got, "WARN Endpoint") {
			t.Errorf("%v: %q, want %q", level, got, want)
		}
	}
}
