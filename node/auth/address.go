package auth

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ParseProxies parses addresses and networks, such as 10.0.0.2 and 192.168.0.0/16.
func ParseProxies(list []string) ([]netip.Prefix, error) {
	var read []netip.Prefix
	for _, text := range list {
		if addr, err := netip.ParseAddr(text); err == nil {
			read = append(read, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q is neither an IP address nor a network such as 10.0.0.0/8", text)
		}
		read = append(read, p.Masked())
	}
	return read, nil
}

// ClientAddr returns the address that a request comes from, as events name it.
func ClientAddr(a *Authenticator, r *http.Request) netip.Addr { return a.proxies.clientAddr(r) }

// proxies are the reverse proxies whose X-Forwarded-For is trusted.
type proxies []netip.Prefix

// clientAddr returns the address that a request comes from, as lockout and turns see it. Behind a trusted proxy it is
// the last address in X-Forwarded-For that is not itself a trusted proxy.
func (p proxies) clientAddr(r *http.Request) netip.Addr {
	from := hostAddr(r.RemoteAddr)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !slices.ContainsFunc(p, func(net netip.Prefix) bool { return net.Contains(from) }) {
			break
		}
		before, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		from = before.Unmap().WithZone("")
	}
	return network(from)
}

// remoteAddr is clientAddr for a connection to the SQL port.
func remoteAddr(remote net.Addr) netip.Addr {
	if remote == nil {
		return netip.Addr{}
	}
	return network(hostAddr(remote.String()))
}

// hostAddr returns the address in HOST:PORT, or the zero address if there is none.
func hostAddr(hostport string) netip.Addr {
	ap, err := netip.ParseAddrPort(hostport)
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap().WithZone("")
}

// network returns the network that is treated as one client: a single IPv4 address, or the /64 of an IPv6 address,
// within which a client can choose any address.
func network(addr netip.Addr) netip.Addr {
	if !addr.Is6() {
		return addr
	}
	p, err := addr.Prefix(64)
	if err != nil {
		return addr
	}
	return p.Addr()
}
