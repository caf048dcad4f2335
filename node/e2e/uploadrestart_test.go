package e2e_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"
)

// An attachment that is being sent to a node without the store is stored although the store's node is restarted
// meanwhile.
func TestUpload_storeRestarts(t *testing.T) {
	needEmbedded(t)
	mostlyWaits(t)
	c := startCluster(t, 2)
	other := c.nodes[1].client()
	other.ok("PUT", "/db", "")
	begun := bytes.Repeat([]byte("begun "), 500_000) // more than one transaction stores
	body, send := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, c.nodes[1].http()+"/db/doc/file", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	type outcome struct {
		status int
		text   string
	}
	answered := make(chan outcome, 1)
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			answered <- outcome{text: err.Error()}
			return
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		answered <- outcome{response.StatusCode, string(text)}
	}()
	if _, err := send.Write(begun); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		time.Sleep(time.Second) // long enough to store what was sent, and for what the node does at its start
		c.nodes[0].kill()
		c.start(0)
	}
	time.Sleep(time.Second)
	if _, err := send.Write([]byte("and ended")); err != nil {
		t.Fatal(err)
	}
	if err := send.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-answered; got.status != http.StatusCreated {
		t.Fatalf("%d %s", got.status, got.text)
	}
	for _, n := range c.nodes {
		if got := n.client().do("GET", "/db/doc/file", "").body; string(got) != string(begun)+"and ended" {
			t.Errorf("%d bytes are stored, want %d", len(got), len(begun)+9)
		}
	}
}
