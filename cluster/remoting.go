package cluster

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

const (
	// connectWithin bounds the beginning of a connection: TCP, TLS, and the settings of HTTP/2.
	connectWithin = 10 * time.Second
	// A side that has heard nothing on a connection for askAfter asks the other one, and closes the connection if it
	// does not answer within answerWithin. A connection without a stream is closed after the sum.
	askAfter, answerWithin = 10 * time.Second, 5 * time.Second
)

// remoting is protoactor's remoting: the connections for messages to other members.
type remoting struct {
	o      *Options
	remote *remote.Remote
	ended  func() // ends remoting over Options.Network; nil without one
}

// listenRemote starts actor remoting, which others reach at an address. By default it listens on the port after
// gossip's. If that port is taken it uses another one, since the address is in the metadata.
func listenRemote(o *Options, advertise net.IP, gossip *net.TCPAddr) (*remoting, error) {
	r := &remoting{o: o}
	if o.Network != nil {
		var err error
		r.ended, err = o.Network.OpenRemoting(o.System)
		return r, err
	}
	if o.Remote != "" {
		at, err := resolve(o.Remote)
		if err != nil {
			return nil, fmt.Errorf("cluster: remoting address %q: %w", o.Remote, err)
		}
		return r, r.listen(advertise, at)
	}
	if gossip.Port < 65535 {
		if err := r.listen(advertise, &net.TCPAddr{IP: gossip.IP, Port: gossip.Port + 1}); err == nil {
			return r, nil
		}
	}
	return r, r.listen(advertise, &net.TCPAddr{IP: gossip.IP})
}

func (r *remoting) listen(advertise net.IP, at *net.TCPAddr) error {
	options, err := r.options()
	if err != nil {
		return err
	}
	if at.IP.IsUnspecified() {
		// protoactor needs the complete advertised address, so a free port must be known before it listens.
		if at.Port == 0 {
			if at.Port, err = freePort(at.IP); err != nil {
				return err
			}
		}
		options = append(options,
			remote.WithAdvertisedHost(net.JoinHostPort(advertise.String(), strconv.Itoa(at.Port))))
	}
	host := at.IP.String()
	if at.IP.To4() == nil {
		host = "[" + host + "]"
	}
	if err := r.start(remote.Configure(host, at.Port, options...)); err != nil {
		return fmt.Errorf("cluster: actor remoting on %s: %w", at, err)
	}
	return nil
}

func (r *remoting) options() ([]remote.ConfigOption, error) {
	creds, serverCreds := insecure.NewCredentials(), insecure.NewCredentials()
	if r.o.Secret != "" {
		config, err := remotingTLS(r.o.Secret, r.o.AcceptSecrets...)
		if err != nil {
			return nil, fmt.Errorf("cluster: %w", err)
		}
		creds, serverCreds = credentials.NewTLS(config), credentials.NewTLS(config.Clone())
	}
	one := func(config *remote.Config) {
		// With more than one attempt, a failed one sleeps 2 s and leaks its connection. So there is one, and the sender
		// retries.
		config.MaxRetryCount = 1
	}
	return []remote.ConfigOption{
		remote.WithDialOptions(grpc.WithTransportCredentials(creds),
			grpc.WithConnectParams(
				grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: connectWithin}),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: askAfter, Timeout: answerWithin})),
		// Nothing may be left running after Stop.
		remote.WithServerOptions(
			grpc.Creds(serverCreds),
			grpc.WaitForHandlers(true),
			grpc.ConnectionTimeout(connectWithin),
			grpc.KeepaliveParams(keepalive.ServerParameters{
				MaxConnectionIdle: askAfter + answerWithin, Time: askAfter, Timeout: answerWithin,
			}),
			grpc.KeepaliveEnforcementPolicy(
				keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true},
			),
		),
		one,
	}, nil
}

// start is remote.Start with errors: protoactor panics if it cannot listen.
func (r *remoting) start(config *remote.Config) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	started := remote.NewRemote(r.o.System, config)
	started.Start()
	r.remote = started
	return nil
}

// close closes the connection to a member.
func (r *remoting) close(m Member) {
	r.o.System.EventStream.Publish(&remote.EndpointTerminatedEvent{Address: m.Remote})
}

// stop closes the connections to the other members and the server. protoactor's graceful way waits up to 10 s for
// streams that peers keep open, and clears fields that its goroutines still read. Peers that send to a leaving member
// see a broken connection either way.
func (r *remoting) stop(members []Member) {
	for _, m := range members {
		if !m.Self && m.Remote != "" {
			r.close(m)
		}
	}
	r.shutdown()
}

// shutdown ends the server.
func (r *remoting) shutdown() {
	if r.ended != nil {
		r.ended()
		return
	}
	r.remote.Shutdown(false)
}

func freePort(ip net.IP) (int, error) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: ip})
	if err != nil {
		return 0, fmt.Errorf("cluster: find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
