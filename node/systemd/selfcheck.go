package systemd

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
)

// SelfCheck returns a function that asks a node at its own HTTP port whether it is alive, as a client does: whether
// connections are accepted and requests get any answer. The store is not part of it, since a restart of the node does
// not help if the store is gone.
func SelfCheck(address string, secure bool) func(context.Context) error {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,                                  // each check accepts a connection
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the node itself
	}}
	url := scheme + "://" + onLoopback(address) + "/livez"
	return func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		return answer.Body.Close()
	}
}

// onLoopback replaces a wildcard address by the loopback address of its kind.
func onLoopback(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	switch {
	case err != nil || ip == nil || !ip.IsUnspecified():
		return addr
	case ip.To4() != nil:
		return net.JoinHostPort("127.0.0.1", port)
	}
	return net.JoinHostPort("::1", port)
}
