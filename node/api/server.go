package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/script"
)

// Limits refuse what is larger or slower. Zero means the default of node.yaml.
type Limits struct {
	// Request bounds a body that is not an attachment, after decompression: 64 MiB.
	Request int64
	// Document and Attachment bound one of each: 8,000,000 bytes and 1 GiB. The layer holds them; they are here for bodies that carry both.
	Document, Attachment int64
	// Bodies is the memory for all bodies under way and what is made of them: 512 MiB.
	Bodies int64
	// Bulk is how many documents one request may write or ask for: 100,000.
	Bulk int
	// Body is how long a client may send nothing of a body, Rate how many bytes a second it has to send on average over that time: 30 seconds and 512.
	Body time.Duration
	Rate int64
}

// Options of New. Store, Auth, Feeds and Indexer are needed; the others may be nil, and what they would answer is then empty or 501.
type Options struct {
	Store   *layer.Store
	Auth    Authenticator
	Admins  Admins
	Users   Users
	Feeds   Feeds
	Indexer Indexer
	Scripts *script.Sandbox
	Members Members
	Actors  Actors
	Tasks   Tasks
	Health  Health
	Backups Backups

	// Metrics serves /metrics and /_node/_local/_prometheus; Dashboard everything under /_dashboard/, to admins.
	Metrics, Dashboard http.Handler
	// Observe, where set, is told of every finished request. It must not block.
	Observe func(method string, status int, took time.Duration)

	// Imported, where set, is told of a database that was imported. It must not block.
	Imported func()

	Settings *Settings // nil: NewSettings(nil)
	Limits   Limits
	Logger   *slog.Logger

	Node    string // this node's name
	Version string // Divan's version
	GitSHA  string
	UUID    string // of the installation, stable over restarts
	// Spool is a directory for what is too large for memory, such as a database being imported; empty is the system's.
	Spool string
	// DefaultShards is how many changes shards a database gets where ?changes_shards= is not given; 0 means 1.
	DefaultShards int
}

// Server is the handler of the HTTP port.
type Server struct {
	o       Options
	log     *slog.Logger
	uuids   uuids
	stats   stats
	tails   feedTails
	budget  *budget
	began   time.Time
	closing chan struct{} // closed by Close: feeds that wait end
	once    sync.Once
}

// New makes the handler. Call Close before the HTTP server is shut down, so that waiting feeds end.
func New(o Options) *Server {
	if o.Settings == nil {
		o.Settings = NewSettings(nil)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Limits.Request == 0 {
		o.Limits.Request = 64 << 20
	}
	if o.Limits.Document == 0 {
		o.Limits.Document = 8_000_000
	}
	if o.Limits.Attachment == 0 {
		o.Limits.Attachment = 1 << 30
	}
	if o.Limits.Bodies == 0 {
		o.Limits.Bodies = 512 << 20
	}
	if o.Limits.Bulk == 0 {
		o.Limits.Bulk = 100_000
	}
	if o.Limits.Body == 0 {
		o.Limits.Body = 30 * time.Second
	}
	if o.Limits.Rate == 0 {
		o.Limits.Rate = 512
	}
	if o.DefaultShards == 0 {
		o.DefaultShards = 1
	}
	s := &Server{o: o, log: o.Logger, budget: newBudget(o.Limits.Bodies), began: time.Now(), closing: make(chan struct{})}
	return s
}

// Close ends the feeds that wait. Requests under way go on (the HTTP server waits for them); new feeds end at the first
// wait.
func (s *Server) Close() error {
	s.once.Do(func() { close(s.closing) })
	return nil
}

// ServeHTTP answers one request. Nothing a handler does brings the server down: a panic is a 500, or a cut connection where the answer had begun.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := newClientBody(w, r, &s.o.Limits)
	r = r.WithContext(r.Context()) // a copy: net/http looks at the body of its own to see how much of it has come
	r.Body = body
	q := &request{srv: s, r: r, method: r.Method, began: time.Now(), body: body}
	q.answer = &answer{ResponseWriter: w, body: body}
	q.w = q.answer
	defer q.release()
	s.answer(q)
	q.release()
	q.settle()
}

// answer has a request answered.
func (s *Server) answer(q *request) {
	h := q.w.Header()
	id := requestID(q.r.Header.Get("X-Couch-Request-ID"))
	h["Server"] = []string{"Divan/" + s.o.Version}
	h["X-Couch-Request-Id"] = []string{id}
	h["X-Couchdb-Body-Time"] = []string{"0"}
	defer s.observe(q)
	defer func() {
		if p := recover(); p != nil {
			s.recovered(q, p, id)
		}
	}()
	if err := s.serve(q); err != nil {
		s.failed(q, err, id)
	}
}

// serve finds the handler and runs it.
func (s *Server) serve(q *request) error {
	if q.method == http.MethodPost {
		q.method = overridden(q.r.Header.Get("X-HTTP-Method-Override"))
	}
	if c := q.conn(); c != nil && c.surplus {
		return errConnections
	}
	var ok bool
	if q.path, ok = splitPath(q.r.URL.EscapedPath()); !ok {
		return badRequest("invalid_url_encoding")
	}
	if q.params, ok = parseQuery(q.r.URL.RawQuery); !ok {
		return badRequest("invalid_url_encoding")
	}
	if q.cors() {
		return nil
	}
	e := route(q.path)
	var err error
	if q.user, err = s.o.Auth.Authenticate(q.r, q.w.Header()); err != nil {
		if !e.login || e.tells && (q.method == http.MethodGet || q.method == http.MethodHead) {
			return err
		}
		q.user = User{} // whoever holds a stale cookie may log in anew
	}
	if s.o.Settings.IsTrue("chttpd", "require_valid_user") && q.user.Name == "" && !q.user.IsAdmin() && !e.login {
		return unauthorized("Authentication required.")
	}
	return q.reach(e)
}

// reach has an endpoint answer, where the user may use it.
func (q *request) reach(e *endpoint) error {
	if err := e.access(q); err != nil {
		return err
	}
	handler := e.handler(q.method)
	if handler == nil {
		return methodNotAllowed(e.allow)
	}
	if err := q.bound(e); err != nil {
		return err
	}
	return handler(q)
}

// overridden is the method of a POST, which clients that know no other may replace by a header.
func overridden(method string) string {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "CONNECT", "COPY":
		return method
	}
	return http.MethodPost
}

// failed answers an error, or cuts the connection where the answer has begun.
func (s *Server) failed(q *request, err error, id string) {
	if errors.Is(err, errHeadDone) {
		return
	}
	if clientGone(q.r, err) && !errors.Is(err, errSlowBody) { // net/http takes a deadline that has passed for the end of the connection
		if q.answer.status == 0 {
			panic(http.ErrAbortHandler) // returning would answer 200, to a client that has closed one half of the connection alone
		}
		return
	}
	f := faultOf(err)
	// The engine itself logs once that its disk is full.
	if f.status >= 500 && f != errBusy && f != errFeedsHold && f != errConnections &&
		f.status != http.StatusNotImplemented &&
		f.status != http.StatusInsufficientStorage {
		s.log.Error("request failed", "id", id, "method", q.r.Method, "path", q.r.URL.Path, "status", f.status, "error", err)
	}
	if q.answer.status != 0 {
		panic(http.ErrAbortHandler)
	}
	q.sendFault(f)
}

// recovered turns a panic into a 500.
func (s *Server) recovered(q *request, p any, id string) {
	if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
		panic(p)
	}
	s.log.Error("request panicked", "id", id, "method", q.r.Method, "path", q.r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	if q.answer.status != 0 {
		panic(http.ErrAbortHandler)
	}
	internal := kinds[layer.Internal]
	q.sendFault(&internal)
}

// observe counts a finished request. It runs also where the connection is cut.
func (s *Server) observe(q *request) {
	took := time.Since(q.began)
	s.stats.count(q.r.Method, q.answer.status)
	if s.o.Observe != nil {
		s.o.Observe(q.r.Method, q.answer.status, took)
	}
	if s.log.Enabled(context.Background(), slog.LevelDebug) {
		s.log.Debug("request", "method", q.r.Method, "path", q.r.URL.Path, "user", q.user.Name, "status", q.answer.status, "bytes", q.answer.bytes, "took", took)
	}
}

// requestID is the client's, where it is short and harmless, or a new one.
func requestID(given string) string {
	if given != "" && len(given) <= 36 {
		valid := true
		for _, c := range []byte(given) {
			valid = valid && ('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '_')
		}
		if valid {
			return given
		}
	}
	var b [5]byte
	_, _ = rand.Read(b[:]) // it cannot fail
	return hex.EncodeToString(b[:])
}
