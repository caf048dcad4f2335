package relocate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/relocate"
)

const (
	silence = 300 * time.Millisecond
	silent  = "nothing has answered there for"
)

// requests are what commands ask of a node.
func requests(c *relocate.Client) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"verify": func(ctx context.Context) error {
			_, err := c.Verify(ctx, layer.VerifyOptions{Progress: func(layer.VerifyProgress) error { return nil }})
			return err
		},
		"export": func(ctx context.Context) error { return c.Export(ctx, "db", io.Discard, nil) },
		"import": func(ctx context.Context) error { return c.Import(ctx, "db", strings.NewReader("divan")) },
		"import-couchdb": func(ctx context.Context) error {
			_, err := (&relocate.CouchDBImport{From: c, To: c, Out: &relocate.Progress{Out: io.Discard}}).Run(ctx)
			return err
		},
	}
}

func client(t *testing.T, address string) *relocate.Client {
	t.Helper()
	c, err := relocate.NewClient(address)
	if err != nil {
		t.Fatal(err)
	}
	c.SetSilence(silence)
	return c
}

// A server that accepts connections and says nothing, or stops in the middle, does not hold a command up for ever.
func TestClient_silentServer(t *testing.T) {
	mute, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mute.Close() }) // the kernel accepts the connections
	end := make(chan struct{})
	stuck := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/livez" {
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
		}
		<-end
	}))
	t.Cleanup(func() { close(end); stuck.Close() })
	for kind, address := range map[string]string{"mute": "http://" + mute.Addr().String(), "stuck": stuck.URL} {
		for name, request := range requests(client(t, address)) {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				defer cancel()
				err := request(ctx)
				if kind == "stuck" && name == "import" { // its answer is never 201
					if err == nil || ctx.Err() != nil {
						t.Errorf("%v, %v", err, ctx.Err())
					}
					return
				}
				if err == nil || !strings.Contains(err.Error(), silent) {
					t.Errorf("%v, want %q", err, silent)
				}
			})
		}
	}
}

// A node that works for long before it answers is not given up while it answers other requests.
func TestClient_slowNode(t *testing.T) {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/livez" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-time.After(5 * silence):
		case <-r.Context().Done():
		}
		http.Error(w, "after a long time", http.StatusTeapot)
	}))
	defer node.Close()
	for name, request := range requests(client(t, node.URL)) {
		if err := request(t.Context()); err == nil || !strings.Contains(fmt.Sprint(err), "418") {
			t.Errorf("%s: %v, want the node's answer", name, err)
		}
	}
}

// An interrupted command ends at once, and does not say that the node was silent.
func TestClient_interrupted(t *testing.T) {
	node := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer node.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(silence/10, cancel)
	if err := client(t, node.URL).Export(ctx, "db", io.Discard, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
