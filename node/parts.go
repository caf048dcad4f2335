package node

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/node/api"
	"github.com/divandb/divan/node/auth"
	"github.com/divandb/divan/node/config"
	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/peers"
	"github.com/divandb/divan/node/replicator"
	"github.com/divandb/divan/node/survey"
)

// openPorts opens the HTTP and SQL ports. It also sets the node's name, which may contain the port chosen.
func (n *Node) openPorts(ctx context.Context) error {
	var err error
	if n.httpListener, err = listen(ctx, "http", n.cfg.HTTP.Listen); err != nil {
		return err
	}
	n.parts.add("http port", closing(n.httpListener))
	if n.sqlListener, err = listen(ctx, "sql", n.cfg.SQL.Listen); err != nil {
		return err
	}
	n.parts.add("sql port", closing(n.sqlListener))
	n.name = n.cfg.Name
	if n.name == "" {
		n.name = "divan@" + reachable(n.httpListener.Addr().String())
	}
	return nil
}

// closing returns a stop function that closes c, which may already have been closed by the part that uses it.
func closing(c io.Closer) func(context.Context) error {
	return func(context.Context) error {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

// reachable replaces a wildcard address by the machine's name.
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

// readOptions prepares logins, and reads the options that clients have changed. Later changes by any node are followed
// until the node stops.
func (n *Node) readOptions(ctx context.Context) error {
	a := n.cfg.Auth
	proxies, err := auth.ParseProxies(n.cfg.HTTP.Proxies)
	if err != nil {
		return err
	}
	secret := []byte(a.Secret)
	if len(secret) == 0 {
		secret = n.store.Secret()
	}
	n.settings = api.NewSettings(couchSettings(n.cfg))
	fixedOptions(n)
	rules, err := auth.ParseRules(auth.Rules{Timeout: a.Timeout}, n.settings.Values())
	if err != nil {
		return err
	}
	n.shared = &sharedOptions{store: n.store, settings: n.settings, dir: n.cfg.Data, log: n.log}
	n.auth, err = auth.New(auth.Options{
		Admins: n.cfg.Admins, AdminPasswords: n.cfg.AdminPassword, Keep: n.shared, Exposed: n.cfg.Exposed(),
		Users: userDocuments{n.store, func() *auth.Authenticator { return n.auth }}, Secret: secret, Rules: rules,
		SQLIterations: a.SQLIterations, Logger: n.log, Proxies: proxies, Refused: n.happened.loginRefused,
	})
	if err != nil {
		return err
	}
	n.parts.add("logins", closing(n.auth))
	n.shared.auth = n.auth
	n.settings.Keep(n.shared)
	n.settings.Heed(func(sections map[string]bool) { n.heed(sections) })
	stop, err := n.shared.start(ctx)
	if err != nil {
		return err
	}
	n.parts.add("options", stop)
	n.everyPage.Heed(n.settings.Values(), n.log)
	if n.cfg.Exposed() && len(n.auth.Admins()) == 0 {
		return errNoAdmins
	}
	return nil
}

// prepareReplications creates what runs replications. The actors give it jobs once they have started.
func prepareReplications(n *Node) func(context.Context) error {
	return func(context.Context) error {
		replications := replicator.New(replicator.Options{Store: n.store, Node: n.name, Version: version,
			Settings: n.settings, Log: n.log, Notify: n.happened.replicationFailed,
			StoreAway: func(ctx context.Context) bool { return n.away.lately(ctx, n.health().StoreReady) },
			Outlast:   func(ctx context.Context) bool { return n.away.outlast(ctx, n.health().StoreReady) }})
		n.replications = replications
		n.heeding.Store(replications)
		n.parts.add("own requests", replications.Start())
		return nil
	}
}

// joinCluster starts the cluster and the actors. Remoting must exist before the first actor, and actors need the
// cluster from the start.
func (n *Node) joinCluster(ctx context.Context) error {
	c := n.cfg.Cluster
	system := actors.NewActorSystem(n.log)
	n.claim = n.store.NodeName(n.name)
	names, err := n.store.NodeNames(ctx)
	if err != nil {
		n.log.Debug("could not read the names of nodes", "error", err)
	}
	n.earlier = earlier{names: names, at: time.Now()}
	var roles []string
	if n.cfg.Storage.Engine == config.EngineEmbedded {
		roles = []string{storeRole}
	}
	n.cluster, err = cluster.Start(ctx, cluster.Options{
		System: system, Name: n.name, Gossip: c.Gossip, Remote: c.Remoting, Advertise: c.Advertise, Join: c.Join,
		Secret: c.Secret, AcceptSecrets: c.AcceptSecrets,
		Store: n.store.UUID(), Claim: n.claim,
		HTTP: n.httpListener.Addr().String(), SQL: n.sqlListener.Addr().String(), Version: Version(),
		Roles: roles, Began: n.happened.began,
		Receive: n.receive, Answer: n.others.answering(n.console.Answer), Notify: membersChanged(n),
		Placed: n.happened.placed,
		Logger: n.log,
	})
	if err != nil {
		return err
	}
	n.joined.Store(n.cluster)
	n.parts.add("cluster", func(context.Context) error { return n.cluster.Stop() })
	n.actors, err = actors.Start(actors.Options{
		System: system, Store: actors.FromLayer(n.store), Peers: peers.Of(n.cluster), Node: n.name, Logger: n.log,
		MaxIndexers: n.cfg.Views.Workers, Batch: n.cfg.Views.Batch,
		CompactionShare: n.cfg.Compaction.Share, Notify: n.happened.actorEvent, Replications: n.replications.Manager,
	})
	if err != nil {
		return err
	}
	n.resuming.begin()
	n.survey = survey.New(survey.Of(n.store), n.resuming.watch(n))
	n.running.Store(n.actors)
	n.parts.add("actors", n.actors.Stop)
	return nil
}

// giveBackFirst adds the part that is stopped first.
func (n *Node) giveBackFirst(context.Context) error {
	n.parts.add("jobs", func(ctx context.Context) error {
		n.handOver(ctx, n.cluster.AnnounceLeave)
		n.actors.Ending()
		return nil
	})
	return nil
}

// Drain prepares a running node for its end: /_up and /readyz answer 503 from now on, and other nodes take over its
// changes shards and jobs at once. It continues to serve requests. Drain returns after http.drain, or when ctx ends.
// There is no way back but a restart.
func (n *Node) Drain(ctx context.Context) {
	n.handOver(ctx, n.cluster.AnnounceLeave)
	wait := time.NewTimer(n.cfg.HTTP.Drain)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	}
}

// handOver is Drain without its pause. It takes little time, so that a store that does not answer leaves time for
// stopping the other parts. announce is a method of cluster.Cluster: AnnounceLeave if the node ends soon, or Drain if
// it stays, so that it has failed if it does not answer any more. Calls after the first do no more than to announce.
func (n *Node) handOver(ctx context.Context, announce func()) {
	announce()
	if n.draining.Swap(true) {
		return
	}
	n.happened.Record(state.Event{Kind: state.Draining})
	ctx, cancel := context.WithTimeout(ctx, giveBackWithin)
	defer cancel()
	var recording sync.WaitGroup
	defer recording.Wait()
	recording.Go(func() {
		if err := n.claim.Ends(ctx); err != nil {
			n.log.Debug("could not record in the store that the node does not work any more", "error", err)
		}
	})
	recording.Go(func() { console.Tell(ctx, n.console) })
	n.actors.Drain(ctx)
}

const giveBackWithin = 300 * time.Millisecond

// receive passes other members' messages to the actors. Messages that arrive before the actors start are dropped, which
// senders must expect anyway.
func (n *Node) receive(from string, message []byte) {
	if s := n.running.Load(); s != nil {
		s.Receive(from, message)
	}
}
