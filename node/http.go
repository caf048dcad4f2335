package node

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api"
	"github.com/divandb/divan/node/config"
	"github.com/divandb/divan/node/metrics"
	"github.com/divandb/divan/query/work"
)

const (
	// maxHeader bounds what a client says before a body, in bytes: addresses with lists of revisions are the longest.
	maxHeader = 64 << 10
	// spareFiles are kept from connections, for the store and other ports.
	spareFiles = 256
	// drain is how long requests under way may take to end once the node stops; feeds end at once.
	drain = 2 * time.Second
)

// serveHTTP starts answering on the HTTP port.
func (n *Node) serveHTTP(context.Context) error {
	secure, err := tlsConfig("http.tls", n.cfg.HTTP.TLS)
	if err != nil {
		return err
	}
	var handler *api.Server
	conns := api.NewListener(n.httpListener,
		api.ConnLimits{Max: maxConnections(n.cfg, n.log), Write: n.cfg.HTTP.AnswerTimeout})
	members, at := memberPorts{n.cluster}, actorPorts{n.actors}
	condition := health{engine: n.engine, store: n.store, cluster: n.cluster, actors: n.actors, open: n.open}
	published := metrics.New(metrics.Sources{
		Version: Version(), Actors: n.actors.Metrics, Members: members.count, Store: condition.Ready,
		Degraded: condition.counts, Indexes: indexes{n.store, n.actors}.lags, Compaction: n.compaction().metrics,
		Upkeep:    func() []layer.UpkeepMetrics { return append(n.store.Upkeep(), n.actors.Upkeep()...) },
		FreeBytes: freeBytes(n.engine),
		Sessions:  func() int { return len(n.sql.Sessions()) },
		SQLMemory: func() (held, limit int64) {
			held, _, limit = n.sql.Memory()
			return held, limit
		},
		Scripts: n.scripts.Stats, Connections: conns.Open,
		Bodies: func() (held, refused int64) { return handler.Bodies() },
	})
	handler = api.New(api.Options{
		Store: n.store, Auth: authenticator{n.auth}, Admins: admins{n.auth,
			n.open}, Imported: n.open.again, Users: userRules{n.store, n.auth},
		Feeds: at, Indexer: at, Scripts: n.scripts, Members: members, Actors: at, Tasks: n.actors, Health: condition,
		Backups: n.backups(), Metrics: published.Handler(), Observe: published.Observe, Dashboard: n.page(condition),
		Settings: api.NewSettings(couchSettings(n.cfg)),
		Limits: api.Limits{
			Request: int64(n.cfg.Limits.Request), Document: int64(n.cfg.Limits.Document),
			Attachment: int64(n.cfg.Limits.Attachment),
			Bodies:     int64(n.cfg.HTTP.Bodies), Bulk: n.cfg.Limits.Bulk, Body: n.cfg.HTTP.BodyTimeout,
			Rate: int64(n.cfg.HTTP.MinRate),
		},
		Logger: n.log, Node: n.name, Version: version, GitSHA: Commit(), UUID: n.store.UUID(),
		DefaultShards: n.cfg.Changes.DefaultShards, Spool: n.cfg.Data,
	})
	// A request ends with its connection or with the node, whichever is first.
	base, cut := context.WithCancel(context.Background())
	server := &http.Server{
		Handler: arrival(n.turns, handler), MaxHeaderBytes: maxHeader, ReadHeaderTimeout: n.cfg.HTTP.HeaderTimeout,
		IdleTimeout: n.cfg.HTTP.IdleTimeout,
		BaseContext: func(net.Listener) context.Context { return base }, ConnContext: conns.ConnContext,
		ConnState: conns.ConnState,
		ErrorLog:  slog.NewLogLogger(n.log.Handler(), slog.LevelDebug), // what clients do wrong below HTTP
	}
	listener := net.Listener(conns)
	if secure != nil {
		secure.NextProtos = []string{"http/1.1"}
		listener = tls.NewListener(listener, secure)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	n.parts.add("http", func(ctx context.Context) error {
		_ = handler.Close() // feeds end; it has no other errors
		defer cut()
		patience, cancel := context.WithTimeout(ctx, drain)
		defer cancel()
		err := server.Shutdown(patience)
		if errors.Is(err, context.DeadlineExceeded) { // requests that do not end are cut off
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

// maxConnections is the setting, or what the system's limit of open files leaves.
func maxConnections(c *config.Config, log *slog.Logger) int {
	most := c.HTTP.MaxConnections
	files, ok := openFiles()
	if ok && files < uint64(most)+spareFiles {
		fewer := max(64, int(files)-spareFiles)
		log.Warn("fewer connections than http.max_connections, since the system limits open files", "connections",
			fewer, "files", files)
		return fewer
	}
	return most
}

// couchSettings are the options that CouchDB's clients read and change while the node runs, as node.yaml begins them.
func couchSettings(c *config.Config) map[string]map[string]string {
	return corsSettings(c.HTTP.CORS)
}

// arrival tells long SQL statements that somebody has come who wants a processor.
func arrival(turns *work.Turns, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turns.Arrive()
		next.ServeHTTP(w, r)
	})
}
