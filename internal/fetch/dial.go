package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"time"
)

// Resolver finds the addresses of a host; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// maxTries is to how many addresses of a host a connection is tried.
const maxTries = 4

// dial makes a connection: it resolves the host, checks each of its addresses, and connects
// to one of these. net/http calls it for each new connection, with the host in ASCII and
// with a context that has lost the deadline of the request. The URL is added to its failures
// later.
func (c *Client) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	if err := c.policy.checkPort("", port); err != nil {
		return nil, err
	}
	addrs, err := c.resolve(ctx, strings.ToLower(strings.TrimSuffix(host, ".")))
	if err != nil {
		return nil, err
	}
	return c.connect(ctx, network, port, addrs)
}

// resolve returns the addresses of a host, all of them checked.
func (c *Client) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if err := c.policy.checkHost("", host); err != nil {
		return nil, err
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	// A resolver that is offline may claim that a name does not exist, so that is
	// temporary too.
	addrs, err := c.resolver.LookupNetIP(ctx, "ip", host)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fail(DNS, "", "the host %s does not resolve", host).because(err).temporary()
	}
	if len(addrs) == 0 {
		return nil, fail(DNS, "", "the host %s has no address", host).temporary()
	}
	for _, addr := range addrs {
		if err := c.policy.checkAddr("", host, addr); err != nil {
			return nil, err
		}
	}
	return addrs, nil
}

// connect tries addresses in turn. Each gets an equal share of the time that is left.
func (c *Client) connect(ctx context.Context, network, port string, addrs []netip.Addr) (net.Conn, error) {
	addrs = addrs[:min(len(addrs), maxTries)]
	end, _ := ctx.Deadline()
	var failed []error
	class := Connect
	for i, addr := range addrs {
		share := time.Until(end) / time.Duration(len(addrs)-i)
		conn, err := c.dialShare(ctx, share, network, net.JoinHostPort(addr.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		failed = append(failed, err)
		if isTimeout(err) {
			class = Timeout
		}
	}
	return nil, fail(class, "", "no connection").because(errors.Join(failed...)).temporary()
}

func (c *Client) dialShare(ctx context.Context, share time.Duration, network, addrPort string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, share)
	defer cancel()
	return c.dialAddr(ctx, network, addrPort)
}
