// Package fetch makes one HTTP request for a crawler, whatever the URL and the server: only
// to addresses that are allowed, within limits of time and size, and with errors that say
// whether to try again.
//
//	c := fetch.New(&fetch.Options{UserAgent: "docs-crawler/1.0 (+https://example.com/bot)"})
//	r, err := c.Do(ctx, &fetch.Request{URL: "https://example.com/", ETag: known})
//
// # Addresses
//
// URLs have the scheme http or https and no user or password: credentials go into a header.
// The client resolves the host itself, checks every address, and connects to one of those
// it checked; a name is refused if one of its addresses is. The same happens at every
// redirect and for every new connection. A connection that is used again leads to an address
// that was checked when it was made, so an answer of DNS that changes later has no effect
// on it. Proxies of the environment (HTTP_PROXY) are not used: behind a proxy nothing could
// be checked.
//
// Refused are all addresses that are not public: loopback, private, link-local, shared
// (CGNAT), multicast, broadcast, unspecified, documentation, benchmark and reserved ranges,
// metadata services of clouds, and the IPv6 forms of such IPv4 addresses.
// [Options].AllowPrivate allows loopback, private and shared ranges; any other range, and
// metadata services, only [Options].AllowNets. The name localhost and names under it
// are refused unless loopback is allowed. IPv4 addresses are written as four decimal
// numbers; 127.1, 0x7f.1, 0177.0.0.1 and 2130706433 are refused. Addresses with a zone are
// refused.
//
// Of the ports below 1024 only 80 and 443 are allowed, and none above that belongs to a
// well-known service other than HTTP (the list of the Fetch standard, Redis and memcached);
// [Options].AllowPorts adds to them.
//
// # Redirects
//
// Up to 10 redirects are followed, loops are found. One that leads from https to http is
// refused, and so is one that would send a request body to another origin. At another
// origin (scheme, host or port; an upgrade to https on the standard ports is none) only the
// headers Accept, Accept-Language and User-Agent are sent on.
//
// # Bodies
//
// The client asks for gzip; it decodes gzip and deflate. The size of a body is limited
// (16 MiB), and so is the ratio of its decoded to its transferred size (100, from 64 KiB
// on). The whole request, with redirects and body, ends after a timeout (30 s). A body that
// ends early or is damaged is an error: no part of it is returned.
//
// # Errors
//
// Every error but that of the caller's context is an *onto.Error, with a [Failure] in its
// chain that gives the class of the failure and whether a retry can help. Texts name the
// URL without user, password and the values of query parameters that look like secrets. Any
// status is a [Response]; [Response.Err] makes an error of those that are no success.
package fetch
