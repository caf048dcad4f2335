package cluster

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// listenRemote starts actor remoting and returns its advertised address. It listens next to gossip where nothing else was asked for: a
// neighbouring port that is taken is no reason not to start, since the address travels in the metadata.
func (c *Cluster) listenRemote(gossip *net.TCPAddr) error {
	if c.o.Remote != "" {
		at, err := resolve(c.o.Remote)
		if err != nil {
			return fmt.Errorf("cluster: remoting address %q: %w", c.o.Remote, err)
		}
		return c.tryRemote(at)
	}
	if gossip.Port < 65535 {
		if err := c.tryRemote(&net.TCPAddr{IP: gossip.IP, Port: gossip.Port + 1}); err == nil {
			return nil
		}
	}
	return c.tryRemote(&net.TCPAddr{IP: gossip.IP})
}

func (c *Cluster) tryRemote(at *net.TCPAddr) error {
	options, err := c.remoteOptions()
	if err != nil {
		return err
	}
	if at.IP.IsUnspecified() {
		// protoactor takes the advertised address whole, so a free port has to be known before it listens.
		if at.Port == 0 {
			if at.Port, err = freePort(at.IP); err != nil {
				return err
			}
		}
		options = append(options, remote.WithAdvertisedHost(net.JoinHostPort(c.advertise.String(), strconv.Itoa(at.Port))))
	}
	host := at.IP.String()
	if at.IP.To4() == nil {
		host = "[" + host + "]"
	}
	r, err := startRemote(c, remote.Configure(host, at.Port, options...))
	if err != nil {
		return fmt.Errorf("cluster: actor remoting on %s: %w", at, err)
	}
	c.remote = r
	return nil
}

func (c *Cluster) remoteOptions() ([]remote.ConfigOption, error) {
	creds, serverCreds := insecure.NewCredentials(), insecure.NewCredentials()
	if c.o.Secret != "" {
		config, err := remotingTLS(c.o.Secret, c.o.AcceptSecrets...)
		if err != nil {
			return nil, fmt.Errorf("cluster: %w", err)
		}
		creds, serverCreds = credentials.NewTLS(config), credentials.NewTLS(config.Clone())
	}
	one := func(config *remote.Config) {
		// A failed attempt sleeps 2 s and leaks its connection when there is another: one attempt, and the sender tries again.
		config.MaxRetryCount = 1
	}
	return []remote.ConfigOption{
		remote.WithDialOptions(grpc.WithTransportCredentials(creds),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second})),
		// Stop is to leave nothing running.
		remote.WithServerOptions(grpc.Creds(serverCreds), grpc.WaitForHandlers(true),
			grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true})),
		one,
	}, nil
}

// startRemote is remote.Start with errors: protoactor panics where it cannot listen.
func startRemote(c *Cluster, config *remote.Config) (r *remote.Remote, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, fmt.Errorf("%v", p)
		}
	}()
	r = remote.NewRemote(c.o.System, config)
	r.Start()
	return r, nil
}

// stopRemote closes the connections to the other members and the server. protoactor's graceful way waits up to 10 s for streams that peers keep
// open, and clears fields that its goroutines still read; who sends to a member that leaves sees a broken connection either way.
func (c *Cluster) stopRemote() {
	for _, m := range c.Members() {
		if !m.Self && m.Remote != "" {
			c.o.System.EventStream.Publish(&remote.EndpointTerminatedEvent{Address: m.Remote})
		}
	}
	c.remote.Shutdown(false)
}

func freePort(ip net.IP) (int, error) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: ip})
	if err != nil {
		return 0, fmt.Errorf("cluster: find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
