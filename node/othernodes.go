package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api"
	"github.com/divandb/divan/node/auth"
	"github.com/divandb/divan/node/replicator"
)

// otherNodes fetches measurements of other members, such as /_node/{name}/_stats, over the connections between nodes.
// It implements api.Others.
type otherNodes struct {
	cluster *cluster.Cluster
	handler atomic.Pointer[api.Server] // of this node; nil until it serves HTTP
}

const (
	// nodeGet begins a request for a path. What console asks is JSON, and begins with a brace.
	nodeGet = "GET "
	// nodeGetTime bounds how long another node may take.
	nodeGetTime = 5 * time.Second
)

// measuredPaths are the paths below /_node/_local/ that other nodes may ask for, with everything below them.
var measuredPaths = []string{"_stats", "_system", "_versions", "_prometheus"}

// nodeAnswer is the answer to such a request.
type nodeAnswer struct {
	Status int    `json:"status"`
	Type   string `json:"type"`
	Body   []byte `json:"body"`
}

// Get implements api.Others.
func (o *otherNodes) Get(ctx context.Context, member, path string) (status int, contentType string, body []byte,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, nodeGetTime)
	defer cancel()
	text, err := o.cluster.Request(ctx, member, []byte(nodeGet+path))
	if err != nil {
		return 0, "", nil, err
	}
	var a nodeAnswer
	if err := json.Unmarshal(text, &a); err != nil {
		return 0, "", nil, err
	}
	return a.Status, a.Type, a.Body, nil
}

// answering answers such requests of other members, and leaves all others to next.
func (o *otherNodes) answering(next func(context.Context, string, []byte) ([]byte, error)) func(context.Context,
	string, []byte) ([]byte, error) {
	return func(ctx context.Context, from string, request []byte) ([]byte, error) {
		path, ok := strings.CutPrefix(string(request), nodeGet)
		if !ok {
			return next(ctx, from, request)
		}
		return o.answer(ctx, path)
	}
}

var (
	errNotAsked = errors.New("other nodes cannot ask for this")
	errGivenUp  = errors.New("the answer was given up")
)

func (o *otherNodes) answer(ctx context.Context, path string) (text []byte, err error) {
	defer func() {
		if p := recover(); p != nil { // the handler gives up so on an answer that nobody waits for
			err = errGivenUp
		}
	}()
	handler := o.handler.Load()
	names := strings.Split(path, "/")
	asked := false
	for _, known := range measuredPaths {
		asked = asked || names[0] == known
	}
	if handler == nil || !asked {
		return nil, errNotAsked
	}
	for i := range names {
		names[i] = url.PathEscape(names[i])
	}
	ctx = replicator.As(ctx, layer.UserCtx{Roles: []string{auth.AdminRole}})
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/_node/_local/"+strings.Join(names, "/"), http.NoBody)
	if err != nil {
		return nil, err
	}
	w := &heldAnswer{header: http.Header{}, status: http.StatusOK}
	handler.ServeHTTP(w, r)
	return json.Marshal(nodeAnswer{w.status, w.header.Get("Content-Type"), w.body.Bytes()})
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
