// Package node assembles a node: it turns a configuration into running parts, and starts and stops them in a fixed
// order. The parts themselves are implemented in the packages that it imports.
package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api"
	"github.com/divandb/divan/node/auth"
	"github.com/divandb/divan/node/config"
	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/console/history"
	"github.com/divandb/divan/node/globalchanges"
	"github.com/divandb/divan/node/machine"
	"github.com/divandb/divan/node/replicator"
	"github.com/divandb/divan/node/survey"
	"github.com/divandb/divan/node/systemd"
	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/exec/badvalues"
	"github.com/divandb/divan/query/work"
)

// Node is one running node. Start and Stop it once. Its other methods may be called only after Start.
type Node struct {
	cfg  *config.Config
	log  *slog.Logger
	name string

	httpListener, sqlListener net.Listener

	*storage
	claim     *layer.NodeName // to the node's name
	earlier   earlier
	auth      *auth.Authenticator
	cluster   *cluster.Cluster
	actors    *actors.System
	sql       *query.Server
	open      *openDatabases
	turns     *work.Turns                     // for long SQL statements; HTTP requests report their arrival here
	badValues *badvalues.Counts               // of declared relations, read over SQL
	running   atomic.Pointer[actors.System]   // actors, for goroutines of the cluster, which start before the actors do
	joined    atomic.Pointer[cluster.Cluster] // cluster, likewise, for the console
	happened  *reporter
	history   *history.History
	measuring measuring
	memory    *machine.MemoryWatch
	httpUse   func() (connections int, bodies int64) // set by serveHTTP
	console   *console.Console
	traces    traces
	draining  atomic.Bool // set by handOver, for good
	away      storeAway
	survey    *survey.Survey // set before running
	resuming  resuming
	learning  learning

	levels       levels        // of the log
	settings     *api.Settings // that clients can change
	everyPage    auth.EveryPage
	shared       *sharedOptions
	others       otherNodes
	replications *replicator.Replicator
	heeding      atomic.Pointer[replicator.Replicator] // replications, which start after settings can change

	parts *parts // the running parts
}

// New prepares a node. It starts and opens nothing.
func New(c *config.Config, log *slog.Logger) *Node {
	running := &parts{}
	n := &Node{
		cfg: c, log: log, levels: levels{log: log}, turns: work.NewTurns(nil), badValues: new(badvalues.Counts),
		parts:   running,
		storage: &storage{cfg: c, log: log, parts: running, changed: globalchanges.New(log)},
	}
	n.deleted = func(database string) {
		if r := n.heeding.Load(); r != nil {
			r.Deleted(database)
		}
	}
	n.memory = machine.NewMemoryWatch(func(short bool) {
		if running := n.running.Load(); running != nil {
			running.SetMemoryShort(short)
		}
	})
	return n
}

// Start starts every part and returns when every port answers. ctx bounds only the start. If a part fails to start,
// Start stops those before it.
//
// The order is:
//
//   - Ports are opened first, because they are what fails most often and cheapest to check. Nothing is served yet, so
//     an early client waits instead of failing. The node's name and what it tells the cluster depend on the ports
//     chosen.
//   - Tracing, if it is on, which sends the last spans after all else has stopped.
//   - The console, which keeps the events of all parts that follow.
//   - The engine, which also locks the data directory, then the JavaScript sandbox and the layer above them.
//   - The removal of backups left unfinished by a killed node, before another backup can be requested.
//   - What records changes of databases, for /_db_updates.
//   - Options that clients have changed, and with them logins.
//   - The watch for open databases, once it is known whether there are admins.
//   - What runs replications, before the actors, which take their jobs.
//   - The cluster before the actors, which ask it at once what belongs on this node.
//   - HTTP and SQL last: all that they serve must work by then.
//   - Warnings about the machine, which would hide the reason of a failure.
func (n *Node) Start(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Stop(context.WithoutCancel(ctx)))
		}
	}()
	for _, step := range []func(context.Context) error{
		n.makeData, n.openPorts, n.traces.start(n), n.startConsole, n.storage.open, n.sweepBackups, n.serve,
		n.recordChanges,
		n.readOptions, writeUserDesign(n), n.watchOpenDatabases, prepareReplications(n),
		n.joinCluster, n.serveSQL, n.serveHTTP, n.watchEvents, n.watchHistory,
		n.giveBackFirst, warn(n),
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// warn writes what is risky about the machine to the log.
func warn(n *Node) func(context.Context) error {
	return func(context.Context) error {
		for _, w := range machine.Precautions(n.cfg) {
			n.log.Warn("a risk of this machine", "risk", w)
		}
		return nil
	}
}

// SelfCheck returns a function that returns nil as long as the node answers.
func SelfCheck(n *Node) func(context.Context) error {
	return systemd.SelfCheck(n.httpListener.Addr().String(), n.cfg.HTTP.TLS.Cert != "")
}

// Stop stops every part in reverse order. It returns when all have ended or ctx has. It can be called after a failed
// Start, and twice.
//
//   - Changes shards and background jobs are given to other nodes first, so that these can continue them while requests
//     end here. Drain does only this.
//   - HTTP and SQL stop before the parts that they use.
//   - Actors stop before the cluster: an actor gives its work back while the other nodes still know this node.
//   - The store and its engine stop last. An engine that is not closed in time loses nothing: acknowledged writes are
//     on disk.
func (n *Node) Stop(ctx context.Context) error {
	return n.parts.stop(ctx)
}

// ReadyLine returns what the program prints once every port answers (docs/clauses.md, "Program").
func (n *Node) ReadyLine() string {
	return fmt.Sprintf("divan ready name=%s http=%s sql=%s gossip=%s data=%s engine=%s",
		printable(n.name), n.httpListener.Addr(), n.sqlListener.Addr(), n.cluster.Addr(), printable(n.cfg.Data),
		n.engine.Name())
}

func (n *Node) backups() backups { return backups{n.engine, backupRoot(n.cfg), n.log} }

func (n *Node) sweepBackups(ctx context.Context) error { return n.backups().sweep(ctx) }

func (n *Node) compaction() compaction { return compaction{n.cfg.Compaction.Auto, n.store, n.actors} }

// watchOpenDatabases starts the watch for databases that are open to everyone.
func (n *Node) watchOpenDatabases(context.Context) error {
	open, stop := watchDatabases(n.store, n.auth, n.log)
	n.open = open
	n.shared.watch(open)
	n.parts.add("watch for open databases", func(context.Context) error {
		stop()
		return nil
	})
	return nil
}
