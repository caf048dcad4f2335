// Package node assembles a node: it turns a configuration into running parts, started and stopped in an order that has
// reasons. How any part works is not its business.
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
	"github.com/divandb/divan/node/auth"
	"github.com/divandb/divan/node/config"
	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/work"
)

// Node is one running node. Start it once, Stop it once; other methods are for after Start.
type Node struct {
	cfg  *config.Config
	log  *slog.Logger
	name string

	httpListener, sqlListener net.Listener

	*storage
	auth    *auth.Authenticator
	cluster *cluster.Cluster
	actors  *actors.System
	sql     *query.Server
	open    *openDatabases
	turns   *work.Turns                   // of long SQL statements; HTTP requests are told to it too
	running atomic.Pointer[actors.System] // actors, for the cluster, whose goroutines may ask before there are any

	parts *parts // that run
}

// New prepares a node. Nothing runs and nothing is opened yet.
func New(c *config.Config, log *slog.Logger) *Node {
	running := &parts{}
	return &Node{
		cfg: c, log: log, turns: work.NewTurns(nil), parts: running,
		storage: &storage{cfg: c, log: log, parts: running},
	}
}

// Start opens and starts everything, and returns when every port answers. ctx bounds the start alone. When a part
// fails, those before it are stopped again.
//
// The order, with its reasons:
//
//   - Ports first: they are what fails most often, and cheapest to find out. They are open but nobody answers yet, so
//     that a client that is early waits instead of failing; and the node's name and what the cluster tells of it need
//     the ports that were picked.
//   - The engine, which also locks the data directory, then the JavaScript sandbox and the layer on top of both.
//   - Backups that a killed node left unfinished are removed before one can be asked for.
//   - The watch over open databases when it is known whether there are admins.
//   - The cluster before the actors, which ask it at once what belongs on this node.
//   - HTTP and SQL last: what they hand out must work.
func (n *Node) Start(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Stop(context.WithoutCancel(ctx)))
		}
	}()
	for _, step := range []func(context.Context) error{
		n.makeData, n.openPorts, n.storage.open, n.sweepBackups, n.serve, n.readAdmins, n.watchOpenDatabases,
		n.joinCluster, n.serveSQL, n.serveHTTP,
		n.giveBackFirst,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends everything in the reverse order and returns when all has ended, or was cut off because ctx ended. It can be
// called after a failed Start and twice.
//
// - Before anything else, background jobs are given back: another node can go on with them while requests under way
// come to their end here.
//   - HTTP and SQL go first: what comes from outside has to end before what it uses.
//   - Actors before the cluster: an actor that gives its work back does so while the others still know this node.
//   - The store, and below it the engine, last. An engine that is not closed in time loses nothing: what was
//     acknowledged is on disk.
func (n *Node) Stop(ctx context.Context) error {
	return n.parts.stop(ctx)
}

// ReadyLine is what the program prints when every port answers (docs/clauses.md, "Program").
func (n *Node) ReadyLine() string {
	return fmt.Sprintf("divan ready name=%s http=%s sql=%s gossip=%s data=%s engine=%s",
		n.name, n.httpListener.Addr(), n.sqlListener.Addr(), n.cluster.Addr(), n.cfg.Data, n.engine.Name())
}

// backups are copies of this node's store.
func (n *Node) backups() backups { return backups{n.engine, backupRoot(n.cfg), n.log} }

func (n *Node) sweepBackups(ctx context.Context) error { return n.backups().sweep(ctx) }

// compaction is that of this node's store.
func (n *Node) compaction() compaction { return compaction{n.cfg.Compaction.Auto, n.store, n.actors} }

// watchOpenDatabases starts the watch over databases that are open to everyone.
func (n *Node) watchOpenDatabases(context.Context) error {
	open, stop := watchDatabases(n.store, n.auth, n.log)
	n.open = open
	n.parts.add("watch over open databases", func(context.Context) error {
		stop()
		return nil
	})
	return nil
}
