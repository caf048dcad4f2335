package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/node/api"
	"github.com/divandb/divan/node/replicator"
)

// otherNodes passes requests for /_node/{name}/... on to other members, over the connections between nodes. It
// implements api.Others.
type otherNodes struct {
	cluster *cluster.Cluster
	handler atomic.Pointer[api.Server] // of this node; nil until it serves HTTP
}

const (
	// nodeAsk begins a request, before its JSON. What console asks is JSON, and begins with a brace.
	nodeAsk = "NODE "
	// nodeAskTime bounds how long another node may take.
	nodeAskTime = 5 * time.Second
)

// Ask implements api.Others.
func (o *otherNodes) Ask(ctx context.Context, member string, r api.NodeRequest) (a api.NodeAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, nodeAskTime)
	defer cancel()
	request, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	text, err := o.cluster.Request(ctx, member, append([]byte(nodeAsk), request...))
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(text, &a)
}

// answering answers such requests of other members, and leaves all others to next.
func (o *otherNodes) answering(next func(context.Context, string, []byte) ([]byte, error)) func(context.Context,
	string, []byte) ([]byte, error) {
	return func(ctx context.Context, from string, request []byte) ([]byte, error) {
		text, ok := bytes.CutPrefix(request, []byte(nodeAsk))
		if !ok {
			return next(ctx, from, request)
		}
		return o.answer(ctx, text)
	}
}

var (
	errStarting = errors.New("the node is starting")
	errGivenUp  = errors.New("the answer was given up")
)

// answer has this node's API answer a request as if its user had sent it here.
func (o *otherNodes) answer(ctx context.Context, request []byte) (text []byte, err error) {
	defer func() {
		if p := recover(); p != nil { // the handler gives up so on an answer that nobody waits for
			err = errGivenUp
		}
	}()
	handler := o.handler.Load()
	if handler == nil {
		return nil, errStarting
	}
	var asked api.NodeRequest
	if err := json.Unmarshal(request, &asked); err != nil {
		return nil, err
	}
	path := "/_node/_local"
	for _, name := range asked.Path {
		path += "/" + url.PathEscape(name)
	}
	ctx = replicator.As(ctx, asked.User)
	r, err := http.NewRequestWithContext(ctx, asked.Method, path, bytes.NewReader(asked.Body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	w := &heldAnswer{header: http.Header{}, status: http.StatusOK}
	handler.ServeHTTP(w, r)
	return json.Marshal(api.NodeAnswer{Status: w.status, Type: w.header.Get("Content-Type"), Body: w.body.Bytes()})
}

// heldAnswer holds the answer to a request of another node. Such answers are short.
type heldAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *heldAnswer) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *heldAnswer) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter.
func (w *heldAnswer) Write(p []byte) (int, error) { return w.body.Write(p) }
