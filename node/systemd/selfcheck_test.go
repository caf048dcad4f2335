package systemd

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestOnLoopback(t *testing.T) {
	for addr, want := range map[string]string{
		"0.0.0.0:1": "127.0.0.1:1", "[::]:1": "[::1]:1", "127.0.0.2:1": "127.0.0.2:1", "192.0.2.1:1": "192.0.2.1:1",
	} {
		if got := onLoopback(addr); got != want {
			t.Errorf("%s is %s, want %s", addr, got, want)
		}
	}
}

// Any answer will do, over TLS too, and no answer will not.
func TestSelfCheck(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/livez" {
			t.Errorf("%s was asked for", r.URL)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	plain, secure := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	defer secure.Close()
	address := func(s *httptest.Server) string { return s.URL[strings.LastIndex(s.URL, "/")+1:] }
	if err := SelfCheck(address(plain), false)(t.Context()); err != nil {
		t.Error(err)
	}
	if err := SelfCheck(address(secure), true)(t.Context()); err != nil {
		t.Error(err)
	}
	plain.Close()
	if SelfCheck(address(plain), false)(t.Context()) == nil {
		t.Error("a server that is gone answers")
	}
}
