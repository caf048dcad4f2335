package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/conns"
	"github.com/divandb/divan/node/api/internal/databases"
	"github.com/divandb/divan/node/api/internal/docs"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/feeds"
	"github.com/divandb/divan/node/api/internal/find"
	"github.com/divandb/divan/node/api/internal/functions"
	"github.com/divandb/divan/node/api/internal/intake"
	"github.com/divandb/divan/node/api/internal/replications"
	"github.com/divandb/divan/node/api/internal/rows"
	"github.com/divandb/divan/node/api/internal/server"
	"github.com/divandb/divan/node/api/internal/settings"
)

// Limits are the limits of requests. Zero means the default of node.yaml.
type Limits struct {
	// Request bounds every body except attachments and multipart documents, after decompression: 64 MiB.
	Request int64
	// Multipart bounds a document and its attachments in a multipart body: 4 GiB.
	Multipart int64
	// Document and Attachment bound one of each: 8,000,000 bytes and 1 GiB. The layer enforces them. Here they limit
	// bodies that carry both.
	Document, Attachment int64
	// Bodies is the memory for all current bodies and what is made of them: 512 MiB.
	Bodies int64
	// Bulk is how many documents one request may write or ask for: 100,000.
	Bulk int
	// Body is how long a client may pause while it sends a body. Rate is how many bytes per second it must send on
	// average over that time. The defaults are 30 seconds and 512.
	Body time.Duration
	Rate int64
}

// Options of New. Store, Auth, Feeds and Indexer are required. Others may be nil: what they would answer is then empty
// or 501.
type Options struct {
	Store   *layer.Store
	Auth    Authenticator
	Admins  Admins
	Users   Users
	Feeds   Feeds
	Indexer Indexer
	Scripts *script.Sandbox
	Members Members
	Others  Others
	Actors  Actors
	Tasks   Tasks
	Health  Health
	Backups Backups
	// Replicator runs replications, and ReplicationDocs are the rules of the documents that describe them.
	Replicator      Replicator
	ReplicationDocs ReplicationDocs

	// Metrics serves /metrics and /_node/_local/_prometheus. Dashboard serves everything under /_dashboard/, for
	// admins.
	Metrics, Dashboard http.Handler
	// MetricsToken, if set, lets a request with "Authorization: Bearer TOKEN" read Metrics, and nothing else.
	MetricsToken string
	Utils        fs.FS // files for /_utils/; nil: it leads to the dashboard
	// Profiles serves everything under /_debug/pprof/, for admins.
	Profiles http.Handler
	// Observe, if set, is called after every request. It must not block.
	Observe func(context.Context, Observed)

	// Counters returns what other parts of the node have counted, for /_node/{name}/_stats.
	Counters func() Counters

	// SettingChanged and Resharded, if set, are called after a client has changed a setting, or the number of a
	// database's changes shards. They must not block.
	SettingChanged func(section, key, user string)
	Resharded      func(database string, shards int, user string)

	// Imported, if set, is called after a database was imported. It must not block.
	Imported func()

	Settings *Settings // nil: NewSettings(nil)
	Limits   Limits
	Logger   *slog.Logger

	Node    string // this node's name
	Version string // Divan's version
	GitSHA  string
	UUID    string // of the installation; the same after a restart
	// Spool is a directory for data too large for memory, such as a database being imported. Empty means the system's
	// default.
	Spool string
	// DefaultShards is how many changes shards a new database gets without ?changes_shards=. 0 means 1.
	DefaultShards int
}

// Observed describes a finished request.
type Observed struct {
	Method string // as the client sent it
	// Route is the endpoint, such as /{db}/_changes. There are some eighty. Requests for no endpoint have "other".
	Route  string
	Status int // 0 if there was no answer
	Took   time.Duration
	// Waited reports whether the answer was a feed that waited for changes, or a stream of events.
	Waited bool
}

// Server is the handler of the HTTP port.
type Server struct {
	o      Options
	log    *slog.Logger
	budget *intake.Budget // for the bodies of all requests

	gate      *gate
	docs      *docs.Handlers
	bulk      *docs.Bulk
	forms     *docs.Forms
	rows      *rows.Handlers
	find      *find.Handlers
	feeds     *feeds.Handlers
	functions *functions.Handlers
	databases *databases.Handlers
	config    *settings.Handlers
	server    *server.Handlers
	setup     *server.Setup
	replicas  *replications.Handlers
	routes    *table

	closing chan struct{} // closed by Close: ends waiting feeds
	once    sync.Once
}

// New returns the handler. Call Close before the HTTP server is shut down, so that waiting feeds end.
func New(o Options) *Server {
	if o.Settings == nil {
		o.Settings = settings.New(nil)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Limits.Request == 0 {
		o.Limits.Request = 64 << 20
	}
	if o.Limits.Multipart == 0 {
		o.Limits.Multipart = 4 << 30
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
	if o.Store != nil { // tests of the routes have none
		o.Store.LimitPartitions(func() int64 { return int64(o.Settings.Int("couchdb", "max_partition_size", 0)) })
	}
	s := &Server{o: o, log: o.Logger, closing: make(chan struct{})}
	s.equip()
	s.routes = s.table()
	return s
}

// equip creates the handlers of all endpoints.
func (s *Server) equip() {
	o, l := &s.o, &s.o.Limits
	s.budget = intake.NewBudget(intake.Limits{Request: l.Request, Memory: l.Bodies, Wait: l.Body, Rate: l.Rate,
		Spool: o.Spool}, s.log)
	s.docs = &docs.Handlers{
		Users: o.Users, Replications: o.ReplicationDocs, Settings: o.Settings, Log: s.log,
		IDs: docs.NewIDs(o.Settings),
		Limits: docs.Limits{Request: l.Request, Multipart: l.Multipart, Document: l.Document,
			Attachment: l.Attachment, Bulk: l.Bulk},
	}
	s.bulk = &docs.Bulk{Docs: s.docs}
	s.forms = &docs.Forms{Docs: s.docs}
	s.rows = &rows.Handlers{Indexer: o.Indexer, Settings: o.Settings}
	s.find = &find.Handlers{Indexer: o.Indexer, Settings: o.Settings}
	s.feeds = &feeds.Handlers{Feeds: o.Feeds, Scripts: o.Scripts, Settings: o.Settings, Closing: s.closing,
		Resharded: o.Resharded}
	s.functions = &functions.Handlers{Scripts: o.Scripts, Docs: s.docs, Rows: s.rows, Again: s.again}
	s.databases = &databases.Handlers{
		Store: o.Store, Settings: o.Settings, Closed: func() bool { return o.Auth.HasAdmins() },
		Shards: o.DefaultShards, Spool: o.Spool, Imported: o.Imported, Log: o.Logger,
	}
	s.gate = &gate{store: o.Store, settings: o.Settings, create: s.databases.CreateSystem}
	s.replicas = &replications.Handlers{Store: o.Store, Replicator: o.Replicator}
	s.config = &settings.Handlers{Settings: o.Settings, Admins: o.Admins, Changed: o.SettingChanged}
	s.server = &server.Handlers{
		Store: o.Store, Sessions: o.Auth, Members: o.Members, Others: o.Others, Actors: o.Actors, Tasks: o.Tasks,
		Health:  o.Health,
		Backups: o.Backups, Metrics: o.Metrics, Dashboard: o.Dashboard, Profiles: o.Profiles, Files: o.Utils,
		Node: o.Node, Version: o.Version, GitSHA: o.GitSHA, UUID: o.UUID, Began: time.Now(), Log: s.log,
		JavaScript: script.EngineVersion(), Counters: o.Counters, Feeds: s.feeds.Waiting.Load,
	}
	s.setup = &server.Setup{Node: s.server, Admins: o.Admins, Create: s.databases.Create,
		Closed: s.databases.Closed}
}

// DashboardUser returns the name of the user in the context of a request to Options.Dashboard, or "".
func DashboardUser(ctx context.Context) string { return server.DashboardUser(ctx) }

// Bodies returns how much memory requests hold for their bodies, in bytes, and how many requests were refused for lack
// of it.
func (s *Server) Bodies() (held, refused int64) { return s.budget.Use() }

// Close ends waiting feeds. Other running requests continue, and the HTTP server waits for them. New feeds end at their
// first wait.
func (s *Server) Close() error {
	s.once.Do(func() { close(s.closing) })
	return nil
}

// ServeHTTP answers one request. A panic in a handler becomes a 500, or cuts the connection if the response has begun.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	q := call.New(w, r, s.budget)
	defer q.Body.Release()
	s.answer(q, began)
	q.Body.Release()
	q.Settle(s.closing)
}

// answer runs the request and answers its error.
func (s *Server) answer(q *call.Request, began time.Time) {
	h := q.W.Header()
	id := requestID(q.R.Header.Get("X-Couch-Request-ID"))
	q.Setting = s.o.Settings.Get
	h["Server"] = []string{"Divan"}
	if s.o.Settings.IsTrue("chttpd", "server_header_versions") {
		h["Server"] = []string{"Divan/" + s.o.Version}
	}
	call.FrameOptions(q)
	h["X-Couch-Request-Id"] = []string{id}
	h["X-Couchdb-Body-Time"] = []string{"0"}
	defer s.observe(q, began)
	defer func() {
		if p := recover(); p != nil {
			s.recovered(q, p, id)
		}
	}()
	if err := s.serve(q); err != nil {
		s.failed(q, err, id)
	}
	call.CloseCallback(q)
}

// wrap makes the answer a call of the function that the client names, if that is allowed: scripts of other sites can
// then read what the user may read.
func (s *Server) wrap(q *call.Request) error {
	name := q.Params.Get("callback", "")
	if name == "" || !s.o.Settings.IsTrue("chttpd", "allow_jsonp") {
		return nil
	}
	if strings.Trim(name, callbackCharacters) != "" {
		return fault.BadRequest("invalid_callback")
	}
	call.Callback(q, name)
	return nil
}

// callbackCharacters may be in the name of a function.
const callbackCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.[]$"

// serve finds the handler and runs it.
func (s *Server) serve(q *call.Request) error {
	if q.Method == http.MethodPost {
		q.Method = overridden(q.R.Header.Get("X-HTTP-Method-Override"))
	}
	if c := conns.Of(q.R); c != nil && c.Surplus {
		return conns.ErrConnections
	}
	if most := s.o.Settings.Int("chttpd", "max_uri_length", 0); most > 0 && len(q.R.RequestURI) > most {
		return errURITooLong
	}
	var ok bool
	plus := s.o.Settings.IsTrue("chttpd", "decode_plus_to_space")
	if q.Path, ok = call.SplitPath(q.R.URL.EscapedPath(), plus); !ok {
		return fault.BadRequest("invalid_url_encoding")
	}
	if q.Params, ok = call.ParseQuery(q.R.URL.RawQuery); !ok {
		return fault.BadRequest("invalid_url_encoding")
	}
	if s.o.Settings.CORS(q.R, q.Method, q.W.Header()) {
		q.W.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err := s.wrap(q); err != nil {
		return err
	}
	e := s.routes.find(q.Path)
	q.Route = e.route
	if e.scrape && s.scrapes(q.R) {
		q.User = User{Roles: []string{metricsRole}}
		return s.reach(q, e)
	}
	if err := refuseForeignLogins(q, e); err != nil {
		return err
	}
	var err error
	if q.User, err = s.o.Auth.Authenticate(q.R, q.W.Header()); err != nil {
		if !e.login || e.tells && (q.Method == http.MethodGet || q.Method == http.MethodHead) {
			return err
		}
		q.User = User{} // a client with a stale cookie must be able to log in again
	}
	if !e.login {
		if err := refuseWebsites(q); err != nil {
			return err
		}
	}
	q.Body.Client = clientOf(q.User, q.R)
	if err := s.o.Auth.Admit(q.R, q.User); err != nil && !e.probe {
		return err
	}
	return s.reach(q, e)
}

// scrapes reports whether a request has the token for metrics. The name of the scheme may be in any case (RFC 9110,
// section 11.1).
func (s *Server) scrapes(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && s.o.MetricsToken != "" &&
		subtle.ConstantTimeCompare([]byte(token), []byte(s.o.MetricsToken)) == 1
}

// reach runs an endpoint if the user may use it.
func (s *Server) reach(q *call.Request, e *endpoint) error {
	if err := e.access(q); err != nil {
		return err
	}
	handler := e.handler(q.Method)
	if handler == nil {
		return fault.MethodNotAllowed(e.allow)
	}
	if err := s.bound(q, e); err != nil {
		return err
	}
	err := handler(q)
	for again := 0; again < readAgain && repeatable(q, err); again++ {
		err = handler(q)
	}
	return err
}

// readAgain is how often a request is run again. Each time it waits for the store.
const readAgain = 3

// repeatable reports whether a request that failed can be run again, without its client: the connection to the store
// broke while it was reading, and nothing has been sent.
func repeatable(q *call.Request, err error) bool {
	status, _ := q.Sent()
	return errors.Is(err, kv.ErrConnectionLost) && status == 0 && q.Rewrites == 0 &&
		(q.Method == http.MethodGet || q.IsHead()) && q.Ctx().Err() == nil
}

// again answers a request that was rewritten.
func (s *Server) again(q *call.Request) error {
	e := s.routes.find(q.Path)
	q.Route = e.route
	return s.reach(q, e)
}

// overridden returns the method of a POST request, which a header can override for clients that know no other method.
func overridden(method string) string {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "CONNECT", "COPY":
		return method
	}
	return http.MethodPost
}

// failed answers with an error, or cuts the connection if the response has begun.
func (s *Server) failed(q *call.Request, err error, id string) {
	if errors.Is(err, call.ErrHeadDone) {
		return
	}
	// net/http takes an expired deadline for the end of the connection.
	if clientGone(q.R, err) && !errors.Is(err, intake.ErrSlowBody) {
		if status, _ := q.Sent(); status == 0 {
			// Returning would send 200 to a client that has closed only its sending side.
			panic(http.ErrAbortHandler)
		}
		return
	}
	f := fault.Of(err)
	if mustBeLogged(f, err) {
		s.log.Error("request failed", "id", id, "method", q.R.Method, "path", q.R.URL.Path, "status", f.Status, "error",
			err)
	}
	if status, _ := q.Sent(); status != 0 {
		panic(http.ErrAbortHandler)
	}
	q.SendFault(f)
}

// mustBeLogged reports whether the log shows a failure. The engine itself logs once when its disk is full, and the node
// when the store does not answer.
func mustBeLogged(f *fault.Fault, err error) bool {
	switch {
	case f.Status < 500, f.Status == http.StatusNotImplemented, f.Status == http.StatusInsufficientStorage,
		kv.IsCode(err, kv.CodeUnreachable), errors.Is(err, kv.ErrConnectionLost),
		f == intake.ErrBusy, f == intake.ErrFeedsHold, f == conns.ErrConnections:
		return false
	}
	return true
}

// recovered turns a panic into a 500.
func (s *Server) recovered(q *call.Request, p any, id string) {
	if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
		panic(p)
	}
	s.log.Error("request panicked", "id", id, "method", q.R.Method, "path", q.R.URL.Path, "panic", fmt.Sprint(p),
		"stack", string(debug.Stack()))
	if status, _ := q.Sent(); status != 0 {
		panic(http.ErrAbortHandler)
	}
	q.SendFault(fault.Of(errPanicked))
}

// errURITooLong is CouchDB's error for a path with parameters that is longer than chttpd/max_uri_length.
var errURITooLong = &fault.Fault{Status: http.StatusRequestURITooLong, Name: "too_long",
	Reason: "the request uri is too long"}

var errPanicked = errors.New("a handler panicked")

// observe counts a finished request. It also runs if the connection is cut.
func (s *Server) observe(q *call.Request, began time.Time) {
	took := time.Since(began)
	if q.Waited {
		s.feeds.Waiting.Add(-1)
	}
	status, bytes := q.Sent()
	s.server.Stats.Count(&server.Answered{Method: q.R.Method, Route: q.Route, Status: status, Took: took, Path: q.Path,
		Did: q.Did})
	if s.o.Observe != nil {
		s.o.Observe(q.R.Context(), Observed{Method: q.R.Method, Route: cmp.Or(q.Route, otherRoute), Status: status,
			Took:   took,
			Waited: q.Waited || strings.HasPrefix(q.W.Header().Get("Content-Type"), "text/event-stream")})
	}
	if s.log.Enabled(context.Background(), slog.LevelDebug) {
		s.log.Debug("request", "method", q.R.Method, "path", q.R.URL.Path, "user", q.User.Name, "status", status,
			"bytes", bytes, "took", took)
	}
}

// requestID returns the client's request id if it is short and harmless, else a new one.
func requestID(given string) string {
	if given != "" && len(given) <= 36 {
		valid := true
		for _, c := range []byte(given) {
			valid = valid &&
				('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '_')
		}
		if valid {
			return given
		}
	}
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// clientOf returns the client that a request's memory is charged to: the user, or the address of an anonymous client.
func clientOf(u User, r *http.Request) string {
	if u.Name != "" {
		return "user " + u.Name
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr) // empty if it is not an address
	return "from " + host
}

// clientGone reports whether err is the end of the request's own context, so that there is no one to answer.
func clientGone(r *http.Request, err error) bool {
	return err != nil && r.Context().Err() != nil && errors.Is(r.Context().Err(), context.Canceled)
}
