package node

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api"
	"github.com/divandb/divan/node/config"
	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/machine"
	"github.com/divandb/divan/node/metrics"
	"github.com/divandb/divan/query/work"
)

const (
	// maxHeader bounds a request's line and headers, in bytes. The longest are URLs with lists of revisions.
	maxHeader = 64 << 10
	// drain is how long running requests get to finish once the node stops. Feeds end at once.
	drain = 2 * time.Second
)

// serveHTTP starts serving the HTTP port.
func (n *Node) serveHTTP(context.Context) error {
	secure, err := tlsConfig("http.tls", n.cfg.HTTP.TLS)
	if err != nil {
		return err
	}
	var handler *api.Server
	most, _ := machine.Connections(n.cfg)
	conns := api.NewListener(n.httpListener,
		api.ConnLimits{Max: most, Write: n.cfg.HTTP.AnswerTimeout})
	members, at := memberPorts{n.cluster}, actorPorts{n.actors}
	condition := n.health()
	published := metrics.New(metrics.Sources{
		Version: Version(), Actors: n.actors.Metrics, Members: members.count, Store: condition.StoreReady,
		Degraded: condition.counts, Indexes: indexes{n.store, n.actors}.lags, Compaction: n.compaction().metrics,
		Upkeep:       func() []layer.UpkeepMetrics { return append(n.store.Upkeep(), n.actors.Upkeep()...) },
		Replications: func() metrics.Replications { return metrics.Replications(n.replications.Counts()) },
		FreeBytes:    freeBytes(n.engine), Transactions: transactions(n.engine),
		Sessions: func() int { return len(n.sql.Sessions()) },
		SQLMemory: func() (held, limit int64) {
			held, _, limit = n.sql.Memory()
			return held, limit
		},
		SQLTemp: func() (now, limit, spilled int64) {
			now, _, limit = n.sql.TempFiles()
			return now, limit, n.sql.Spilled()
		},
		SQLBadValues: n.badValues.Total,
		Scripts:      n.scripts.Stats, Connections: conns.Open,
		Bodies: func() (held, refused int64) { return handler.Bodies() },
	})
	n.measuring.published.Store(published)
	handler = api.New(api.Options{
		Store: n.store, Auth: authenticator{n.auth}, Admins: n.auth,
		Imported: func() { n.open.again(); n.replications.Imported() }, Users: userRules{n.store, n.auth},
		Replicator: n.replications, ReplicationDocs: n.replications,
		Feeds: at, Indexer: at, Scripts: n.scripts, Members: members, Others: &n.others, Actors: at,
		Tasks: allTasks{n.console, n.replications.View()}, Health: condition,
		Backups: n.backups(), Metrics: published.Handler(), Observe: observe(&n.measuring, published, &n.traces),
		Dashboard:    n.page(),
		Utils:        utils(n.cfg.HTTP.Utils, n.log),
		MetricsToken: n.cfg.HTTP.MetricsToken, Profiles: profiles(),
		SettingChanged: n.happened.settingChanged, Resharded: n.happened.resharded,
		Settings: n.settings, Counters: counters(n),
		Limits: api.Limits{
			Request: int64(n.cfg.Limits.Request), Document: int64(n.cfg.Limits.Document),
			Attachment: int64(n.cfg.Limits.Attachment), Multipart: int64(n.cfg.Limits.Multipart),
			Bodies: int64(n.cfg.HTTP.Bodies), Bulk: n.cfg.Limits.Bulk, Body: n.cfg.HTTP.BodyTimeout,
			Rate: int64(n.cfg.HTTP.MinRate),
		},
		Logger: n.log, Node: n.name, Version: version, GitSHA: Commit(), UUID: n.store.UUID(),
		DefaultShards: n.cfg.Changes.DefaultShards, Spool: n.cfg.Data,
	})
	n.httpUse = func() (int, int64) {
		held, _ := handler.Bodies()
		return conns.Open(), held
	}
	n.others.cluster = n.cluster
	n.others.handler.Store(handler)
	n.replications.Serve(handler)
	n.parts.add("turns of replications", n.replications.Turns())
	// Requests end with their connection or with the node, whichever comes first.
	base, cut := context.WithCancel(context.Background())
	serving := n.traces.http(console.Guard(n.console, pageCouch, console.Audit(n.console, pageAPI,
		arrival(n.turns, handler))))
	server := &http.Server{
		Handler:        console.Soften(pageAt, serving),
		MaxHeaderBytes: maxHeader, ReadHeaderTimeout: n.cfg.HTTP.HeaderTimeout,
		IdleTimeout: n.cfg.HTTP.IdleTimeout,
		BaseContext: func(net.Listener) context.Context { return base }, ConnContext: conns.ConnContext,
		ConnState: conns.ConnState,
		ErrorLog:  slog.NewLogLogger(n.log.Handler(), slog.LevelDebug), // client errors below HTTP
	}
	listener := net.Listener(conns)
	if secure != nil {
		secure.NextProtos = []string{"http/1.1"}
		listener = tls.NewListener(listener, secure)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer n.parts.add("console", func(context.Context) error { // ends streams to pages first
		n.console.Close()
		return nil
	})
	n.parts.add("http", func(ctx context.Context) error {
		_ = handler.Close() // ends feeds; returns no other errors
		defer cut()
		patience, cancel := context.WithTimeout(ctx, drain)
		defer cancel()
		err := server.Shutdown(patience)
		if errors.Is(err, context.DeadlineExceeded) { // cut off the remaining requests
			cut()
			err = server.Close()
		}
		if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
			err = errors.Join(err, serveErr)
		}
		return err
	})
	return nil
}

// counters returns what /_node/{name}/_stats shows of what the API itself does not count.
func counters(n *Node) func() api.Counters {
	return func() api.Counters {
		r, a := n.replications.Counts(), n.actors.Metrics()
		return api.Counters{
			ReplicationsRunning: r.Running, ReplicationStarts: r.Starts, ReplicationCrashes: r.Crashes,
			ReplicationStops: r.Stops, ReplicationsCompleted: r.Completed, ReplicationsFailed: r.Failed,
			Mapped: a.Indexed, Emitted: a.IndexRows, OpenFiles: machine.FilesOpen(),
		}
	}
}

// observe returns what counts finished requests.
func observe(c *measuring, m *metrics.Metrics, t *traces) func(context.Context, api.Observed) {
	return func(ctx context.Context, r api.Observed) {
		c.request(r.Status)
		m.Observe(metrics.Request(r))
		t.answered(ctx, r)
	}
}

// couchSettings returns the initial values, from node.yaml, of the options that CouchDB clients can read and change at
// run time.
func couchSettings(c *config.Config) map[string]map[string]string {
	values := c.Auth.CouchOptions()
	for section, texts := range corsSettings(c.HTTP.CORS) {
		if values[section] == nil {
			values[section] = map[string]string{}
		}
		maps.Copy(values[section], texts)
	}
	values["replicator"] = couchReplicator(&c.Replicator)
	values["log"] = map[string]string{"level": c.Log.Level}
	return values
}

// arrival tells long SQL statements that an HTTP request needs a processor, so that they yield.
func arrival(turns *work.Turns, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turns.Arrive()
		next.ServeHTTP(w, r)
	})
}

// profilesAt is where Go's profiles are served. Package pprof expects pprofAt.
const profilesAt, pprofAt = "/_debug/pprof/", "/debug/pprof/"

// profiles returns the handler of Go's profiles.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(pprofAt, pprof.Index)
	mux.HandleFunc(pprofAt+"cmdline", func(w http.ResponseWriter, r *http.Request) {
		http.NotFound(w, r) // a password may be among the arguments
	})
	mux.HandleFunc(pprofAt+"profile", pprof.Profile)
	mux.HandleFunc(pprofAt+"symbol", pprof.Symbol)
	mux.HandleFunc(pprofAt+"trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
			http.Error(w, "The request comes from another site.", http.StatusForbidden)
			return
		}
		inner := r.Clone(r.Context())
		inner.URL.Path = pprofAt + strings.TrimPrefix(r.URL.Path, profilesAt)
		mux.ServeHTTP(w, inner)
	})
}
