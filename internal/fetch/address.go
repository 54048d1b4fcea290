package fetch

import (
	"net/netip"
	"slices"
)

// policy tells which addresses and ports may be connected to.
type policy struct {
	private bool // loopback, private and shared ranges are allowed
	nets    []netip.Prefix
	ports   []uint16
}

// span is a range of addresses that are not public.
type span struct {
	prefix  netip.Prefix
	kind    string
	private bool // allowed by Options.AllowPrivate
}

// spans follows the registries of special-purpose addresses at IANA. The first that contains
// an address tells its kind.
var spans = []span{
	// Metadata services outside 169.254.0.0/16: Azure, Alibaba Cloud, AWS.
	{netip.MustParsePrefix("168.63.129.16/32"), "cloud metadata", false},
	{netip.MustParsePrefix("100.100.100.200/32"), "cloud metadata", false},
	{netip.MustParsePrefix("fd00:ec2::/32"), "cloud metadata", false},

	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified", false},
	{netip.MustParsePrefix("10.0.0.0/8"), "private", true},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared", true},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback", true},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local", false},
	{netip.MustParsePrefix("172.16.0.0/12"), "private", true},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved", false},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation", false},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relay", false},
	{netip.MustParsePrefix("192.168.0.0/16"), "private", true},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmark", false},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation", false},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation", false},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast", false},
	{netip.MustParsePrefix("255.255.255.255/32"), "broadcast", false},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved", false},

	{netip.MustParsePrefix("::/128"), "unspecified", false},
	{netip.MustParsePrefix("::1/128"), "loopback", true},
	{netip.MustParsePrefix("::/96"), "IPv4-compatible", false},
	{netip.MustParsePrefix("2001::/32"), "Teredo", false},
	{netip.MustParsePrefix("2001::/23"), "reserved", false}, // benchmark and ORCHID too
	{netip.MustParsePrefix("2001:db8::/32"), "documentation", false},
	{netip.MustParsePrefix("2002::/16"), "6to4", false},
	{netip.MustParsePrefix("3fff::/20"), "documentation", false},
	{netip.MustParsePrefix("fc00::/7"), "private", true},
	{netip.MustParsePrefix("fe80::/10"), "link-local", false},
	{netip.MustParsePrefix("ff00::/8"), "multicast", false},
}

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96") // the last 32 bits are an IPv4 address
)

// refuses returns the kind of an address that must not be connected to, "" for one that may.
func (p *policy) refuses(a netip.Addr) string {
	if a.Zone() != "" {
		return "zoned"
	}
	a = a.Unmap()
	if slices.ContainsFunc(p.nets, func(n netip.Prefix) bool { return n.Contains(a) }) {
		return ""
	}
	if nat64.Contains(a) {
		b := a.As16()
		return p.refuses(netip.AddrFrom4([4]byte(b[12:])))
	}
	for _, s := range spans {
		if s.prefix.Contains(a) {
			if s.private && p.private {
				return ""
			}
			return s.kind
		}
	}
	if a.Is6() && !globalUnicast.Contains(a) {
		return "reserved"
	}
	return ""
}

// otherServices are ports above 1023 of services that are not HTTP: those of the Fetch
// standard, Redis and memcached.
var otherServices = []uint16{
	1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668,
	6669, 6679, 6697, 10080, 11211,
}

func (p *policy) refusesPort(port uint16) bool {
	switch {
	case slices.Contains(p.ports, port):
		return false
	case port < 1024:
		return port != 80 && port != 443
	}
	return slices.Contains(otherServices, port)
}
