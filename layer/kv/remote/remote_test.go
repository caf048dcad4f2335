package remote_test

import (
	"log/slog"
	"net"
	"testing"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/kvtest"
	"github.com/divandb/divan/layer/kv/remote"
)

const secret = "a secret of the tests"

func quiet(tb testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
}

func mustListen(tb testing.TB) net.Listener {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func mustEmbed(tb testing.TB) *embedded.Engine {
	tb.Helper()
	e, err := embedded.Open(tb.TempDir(), embedded.Options{Logger: quiet(tb)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Errorf("close the store: %v", err)
		}
	})
	return e
}

func mustServe(tb testing.TB, e kv.Engine) *remote.Server {
	tb.Helper()
	s, err := remote.Serve(mustListen(tb), e, remote.Options{Secret: secret, Logger: quiet(tb)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close the server: %v", err)
		}
	})
	return s
}

func mustOpen(tb testing.TB, addr string) *remote.Engine {
	tb.Helper()
	e, err := remote.Open(tb.Context(), addr, remote.Options{Secret: secret, Logger: quiet(tb)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return e
}

func TestConformance(t *testing.T) {
	kvtest.Run(t, func(tb testing.TB) kv.Engine {
		return mustOpen(tb, mustServe(tb, mustEmbed(tb)).Addr().String())
	})
}
