package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/node/auth"
	"github.com/divandb/divan/node/config"
)

// makeData makes the data directory and tries whether it can be used: an engine's own error would come later and say less. A store that is there already
// is opened also where nothing can be written, to be read.
func (n *Node) makeData(context.Context) error {
	if err := os.MkdirAll(n.cfg.Data, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if _, err := os.ReadDir(n.cfg.Data); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	probe, err := os.CreateTemp(n.cfg.Data, ".writable-")
	if err == nil {
		return errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if n.cfg.Storage.Engine == config.EngineEmbedded {
		if there, lookErr := embedded.Exists(filepath.Join(n.cfg.Data, storeDir)); there && lookErr == nil {
			return nil
		}
	}
	return fmt.Errorf("data directory: %w", err)
}

// openPorts also settles the node's name, which may depend on the port that was picked.
func (n *Node) openPorts(ctx context.Context) error {
	var err error
	if n.httpListener, err = listen(ctx, "http", n.cfg.HTTP.Listen); err != nil {
		return err
	}
	n.started("http port", closing(n.httpListener))
	if n.sqlListener, err = listen(ctx, "sql", n.cfg.SQL.Listen); err != nil {
		return err
	}
	n.started("sql port", closing(n.sqlListener))
	n.name = n.cfg.Name
	if n.name == "" {
		n.name = "divan@" + reachable(n.httpListener.Addr().String())
	}
	return nil
}

// closing is the stop of something that what uses it may have closed already.
func closing(c io.Closer) func(context.Context) error {
	return func(context.Context) error {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

// reachable puts the machine's name in the place of a wildcard address.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsUnspecified() {
		return addr
	}
	name, err := os.Hostname()
	if err != nil {
		return addr
	}
	return net.JoinHostPort(name, port)
}

// OpenStore opens the store of a configuration for a command that works on it without a node. Closing it releases the data directory. An embedded store
// that is not there is made.
func OpenStore(ctx context.Context, c *config.Config, log *slog.Logger) (store *layer.Store,
	closeStore func(context.Context) error, err error) {
	n := New(c, log)
	for _, step := range []func(context.Context) error{n.makeData, n.openStore} {
		if err := step(ctx); err != nil {
			return nil, nil, errors.Join(err, n.Stop(context.WithoutCancel(ctx)))
		}
	}
	return n.store, n.Stop, nil
}

// OpenStoreToRead is OpenStore for a command that only reads. An embedded store is not changed in any way, may be on a
// file system that is mounted read-only, and has to be there. With salvage it is opened in spite of damage, as far as
// there is a way on.
func OpenStoreToRead(ctx context.Context, c *config.Config, salvage bool, log *slog.Logger) (
	store *layer.Store, closeStore func(context.Context) error, err error,
) {
	n := New(c, log)
	n.reading, n.salvage = true, salvage
	if err := n.openStore(ctx); err != nil {
		return nil, nil, errors.Join(err, n.Stop(context.WithoutCancel(ctx)))
	}
	return n.store, n.Stop, nil
}

func (n *Node) openStore(ctx context.Context) error {
	var err error
	switch {
	case n.reading && n.cfg.Storage.Engine == config.EngineEmbedded:
		n.engine, err = embedded.OpenReadOnly(
			filepath.Join(n.cfg.Data, storeDir),
			embedded.Options{CacheBytes: int64(n.cfg.Storage.Cache), Logger: n.log}, n.salvage)
	default:
		n.engine, err = openEngine(ctx, n.cfg, n.log)
	}
	if err != nil {
		return err
	}
	n.started("engine", closing(n.engine))
	v := n.cfg.Views
	n.scripts = script.New(script.Options{
		Limits: script.Limits{Time: v.MapTimeout, Memory: int64(v.MapMemory)},
		Log:    func(message string) { n.log.Info("a design document's function logs", "message", message) },
	})
	n.started("scripts", closing(n.scripts))
	root, err := n.root(ctx)
	if err != nil {
		return err
	}
	n.store, err = layer.Open(ctx, n.engine, layer.Options{
		Root:          root,
		MaxShards:     n.cfg.Changes.MaxShards,
		MaxDocument:   int(n.cfg.Limits.Document),
		MaxAttachment: int64(n.cfg.Limits.Attachment),
		Logger:        n.log,
		Scripts:       n.scripts,
		Validator:     layer.NewValidator(n.scripts),
		ReduceTime:    v.ReduceTimeout,
		CleanupAfter:  v.CleanupAfter,
		Compaction: layer.Compaction{
			Auto: n.cfg.Compaction.Auto, Age: n.cfg.Compaction.Age, Latest: n.cfg.Compaction.Latest,
			Bodies: int64(n.cfg.Compaction.Bodies), Bytes: int64(n.cfg.Compaction.Bytes),
		},
		Owner:    n.cfg.Storage.Engine == config.EngineEmbedded,
		ReadOnly: n.reading,
		Salvage:  n.salvage,
	})
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	n.started("store", closing(n.store))
	return nil
}

func (n *Node) readAdmins(context.Context) error {
	a := n.cfg.Auth
	secret := []byte(a.Secret)
	if len(secret) == 0 {
		secret = n.store.Secret()
	}
	proxies, err := auth.ParseProxies(n.cfg.HTTP.Proxies)
	if err != nil {
		return err
	}
	n.auth, err = auth.New(auth.Options{
		Admins: n.cfg.Admins, AdminPasswords: n.cfg.AdminPassword, Dir: n.cfg.Data, Exposed: n.cfg.Exposed(),
		Users: userDocuments{n.store}, Secret: secret, Timeout: a.Timeout, PersistentCookies: a.PersistentCookies, SameSite: a.SameSite,
		RequireUser: a.RequireUser, Iterations: a.Iterations, SQLIterations: a.SQLIterations, Logger: n.log,
		Lockout: auth.Lockout(a.Lockout), Proxies: proxies,
	})
	return err
}

// joinCluster starts the actors too: remoting has to be there before the first actor, and actors ask the cluster from the first moment on.
func (n *Node) joinCluster(ctx context.Context) error {
	c := n.cfg.Cluster
	system := actors.NewActorSystem(n.log)
	var err error
	n.cluster, err = cluster.Start(ctx, cluster.Options{
		System: system, Name: n.name, Gossip: c.Gossip, Remote: c.Remoting, Advertise: c.Advertise, Join: c.Join,
		Secret: c.Secret, AcceptSecrets: c.AcceptSecrets,
		Store: n.store.UUID(), Claim: n.store.NodeName(n.name),
		HTTP: n.httpListener.Addr().String(), SQL: n.sqlListener.Addr().String(), Version: Version(),
		Receive: n.receive, Logger: n.log,
	})
	if err != nil {
		return err
	}
	n.started("cluster", func(context.Context) error { return n.cluster.Stop() })
	n.actors, err = actors.Start(actors.Options{
		System: system, Store: actors.FromLayer(n.store), Peers: peers{n.cluster}, Node: n.name, Logger: n.log,
		MaxIndexers: n.cfg.Views.Workers, Batch: n.cfg.Views.Batch,
		CompactionShare: n.cfg.Compaction.Share,
	})
	if err != nil {
		return err
	}
	n.running.Store(n.actors)
	n.started("actors", n.actors.Stop)
	return nil
}

// giveBackFirst is the last part to start and the first to stop. A store that does not answer must not take the time of
// the others.
func (n *Node) giveBackFirst(context.Context) error {
	n.started("jobs", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, giveBackWithin)
		defer cancel()
		n.actors.Drain(ctx)
		return nil
	})
	return nil
}

const giveBackWithin = 300 * time.Millisecond

// receive passes other members' messages to the actors; before there are any, they are as good as lost on the way.
func (n *Node) receive(from string, message []byte) {
	if s := n.running.Load(); s != nil {
		s.Receive(from, message)
	}
}

// peers shows the cluster to actors.
type peers struct{ *cluster.Cluster }

// Owner implements actors.Peers.
func (p peers) Owner(kind, id string) string { return p.Cluster.Owner(kind, id).Name }

// Left implements actors.Peers.
func (p peers) Left(member string) bool {
	for _, m := range p.Members() {
		if m.Name == member {
			return m.Status == cluster.Left
		}
	}
	return false
}

// Company implements actors.Peers.
func (p peers) Company() bool {
	alive := 0
	for _, m := range p.Members() {
		if m.Status == cluster.Alive {
			alive++
		}
	}
	return alive > 1
}
