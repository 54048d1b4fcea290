package fetch

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
)

// hostile are URLs that must lead to no connection, with the code of the error.
var hostile = []struct {
	url  string
	code onto.Code
}{
	// Addresses that are not public, as they are usually written.
	{"http://127.0.0.1/", onto.Refused},
	{"http://127.8.9.10:8080/admin", onto.Refused},
	{"http://10.0.0.1/", onto.Refused},
	{"http://172.31.255.255/", onto.Refused},
	{"http://192.168.1.1/", onto.Refused},
	{"http://169.254.169.254/latest/meta-data/", onto.Refused},
	{"http://168.63.129.16/machine", onto.Refused},
	{"http://100.100.100.200/latest/meta-data", onto.Refused},
	{"http://100.64.0.1/", onto.Refused},
	{"http://0.0.0.0/", onto.Refused},
	{"http://224.0.0.1/", onto.Refused},
	{"http://255.255.255.255/", onto.Refused},
	{"http://192.0.2.1/", onto.Refused},
	{"http://198.18.0.1/", onto.Refused},
	{"http://240.0.0.1/", onto.Refused},

	// IPv4 as C libraries read it.
	{"http://2130706433/", onto.Refused},
	{"http://0x7f000001/", onto.Refused},
	{"http://017700000001/", onto.Refused},
	{"http://0177.0.0.1/", onto.Refused},
	{"http://0x7f.1/", onto.Refused},
	{"http://0X7F.1/", onto.Refused},
	{"http://127.1/", onto.Refused},
	{"http://127.0.1/", onto.Refused},
	{"http://0/", onto.Refused},
	{"http://0x/", onto.Refused},
	{"http://127.000.000.001/", onto.Refused},
	{"http://127.0.0.1./", onto.Refused},
	{"http://127.0.0.1../", onto.Invalid},
	{"http://256.256.256.256/", onto.Refused},
	{"http://1.2.3.4.5/", onto.Refused},
	{"http://site.example.0x7f/", onto.Refused},

	// IPv6, and IPv4 inside it.
	{"http://[::1]/", onto.Refused},
	{"http://[0:0:0:0:0:0:0:1]/", onto.Refused},
	{"http://[::]/", onto.Refused},
	{"http://[::ffff:127.0.0.1]/", onto.Refused},
	{"http://[::FFFF:7f00:1]/", onto.Refused},
	{"http://[0:0:0:0:0:ffff:a9fe:a9fe]/", onto.Refused},
	{"http://[::127.0.0.1]/", onto.Refused},
	{"http://[64:ff9b::7f00:1]/", onto.Refused},
	{"http://[64:ff9b::169.254.169.254]/", onto.Refused},
	{"http://[64:ff9b:1::1]/", onto.Refused},
	{"http://[2002:7f00:1::]/", onto.Refused},
	{"http://[2001:0:5ef5:79fd:0:0:f5ff:fffe]/", onto.Refused},
	{"http://[fc00::1]/", onto.Refused},
	{"http://[fd00:ec2::254]/", onto.Refused},
	{"http://[fe80::1]/", onto.Refused},
	{"http://[fe80::1%25eth0]/", onto.Refused},
	{"http://[2606:2800:220:1::1%25eth0]/", onto.Refused},
	{"http://[fec0::1]/", onto.Refused},
	{"http://[ff02::1]/", onto.Refused},
	{"http://[2001:db8::1]/", onto.Refused},
	{"http://[3fff::1]/", onto.Refused},
	{"http://[::1/", onto.Invalid},
	{"http://[site.example]/", onto.Invalid},

	// Names for this machine.
	{"http://localhost/", onto.Refused},
	{"http://LocalHost:8080/", onto.Refused},
	{"http://localhost./", onto.Refused},
	{"http://a.b.localhost/", onto.Refused},

	// Other characters that stand for the same.
	{"http://１２７.0.0.1/", onto.Refused},
	{"http://１２７．１/", onto.Refused},
	{"http://①②⑦.0.0.1/", onto.Refused},
	{"http://127。0。0。1/", onto.Refused},
	{"http://127.0.0.1\u200b/", onto.Refused},
	{"http://ｌocalhost/", onto.Refused},
	{"http://local\u00adhost/", onto.Refused},
	{"http://localhost。/", onto.Refused},
	{"http://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1/", onto.Refused},
	{"http://%31%32%37.0.0.1/", onto.Invalid},
	{"http://a\xff.example/", onto.Invalid},

	// Names that resolve to such addresses.
	{"http://metadata.google.internal/computeMetadata/v1/", onto.Refused},
	{"http://intranet/", onto.Refused},
	{"http://mixed.example/", onto.Refused},
	{"http://mapped.example/", onto.Refused},
	{"https://zoned.example/", onto.Refused},

	// URLs that are read in two ways.
	{"http://site.example@127.0.0.1/", onto.Refused},
	{"http://127.0.0.1:80@site.example/", onto.Refused},
	{"http://user:password@site.example/", onto.Refused},
	{"http://:@site.example/", onto.Refused},
	{`http://site.example\@127.0.0.1/`, onto.Invalid},
	{`http://127.0.0.1\.site.example/`, onto.Invalid},
	{"http://127.0.0.1 .site.example/", onto.Invalid},
	{"http://site.example:80:81/", onto.Invalid},
	{"http://site.example\r\nHost: 127.0.0.1/", onto.Invalid},
	{"http://site.example%0d%0aHost:127.0.0.1/", onto.Invalid},
	{"http://site.example\x00.internal/", onto.Invalid},
	{"http://exa$mple/", onto.Invalid},
	{"http://./", onto.Invalid},
	{"http://a..example/", onto.Invalid},
	{"http://" + strings.Repeat("a", 64) + ".example/", onto.Invalid},
	{"http://" + strings.Repeat("a.", 127) + "example/", onto.Invalid},
	{"http://site.example/" + strings.Repeat("a", maxURL), onto.Invalid},

	// Ports.
	{"http://site.example:0/", onto.Invalid},
	{"http://site.example:65536/", onto.Invalid},
	{"http://site.example:-1/", onto.Invalid},
	{"http://site.example:http/", onto.Invalid},
	{"http://site.example:22/", onto.Refused},
	{"http://site.example:25/", onto.Refused},
	{"https://site.example:6379/", onto.Refused},
	{"http://site.example:11211/", onto.Refused},

	// Schemes.
	{"file:///etc/passwd", onto.Refused},
	{"ftp://site.example/", onto.Refused},
	{"gopher://127.0.0.1:6379/_FLUSHALL", onto.Refused},
	{"javascript:alert(1)", onto.Refused},
	{"data:text/plain,hello", onto.Refused},
	{"unix:///run/docker.sock", onto.Refused},
	{"HTTPX://site.example/", onto.Refused},
	{"http:127.0.0.1", onto.Invalid},
	{"http:///etc/passwd", onto.Invalid},
	{"http:", onto.Invalid},
}

// resolvePrivate gives the world names of private addresses.
func (w *world) resolvePrivate() {
	w.resolve("metadata.google.internal", "169.254.169.254")
	w.resolve("intranet", "10.1.2.3")
	w.resolve("mixed.example", publicAddr+" 10.1.2.3")
	w.resolve("mapped.example", "::ffff:10.1.2.3")
	w.resolve("zoned.example", "2606:2800:220:1::1%eth0")
}

func TestHostileURLs(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) { t.Errorf("a request arrived: %s %s", r.Host, r.URL) })
	w.resolvePrivate()
	c := w.client(t, Options{})
	for _, tt := range hostile {
		err := wantFailure(t, c, Request{URL: tt.url}, tt.code, Class(tt.code), false)
		if strings.ContainsAny(err.Error(), "\r\n\x00") || strings.Contains(err.Error(), "password@") || len(err.Error()) > 1000 {
			t.Errorf("%q: the error is not fit for a log: %q", tt.url, err)
		}
	}
	for _, at := range []string{"", "/", "site.example", "//site.example/", "?", "*"} {
		wantFailure(t, c, Request{URL: at}, onto.Invalid, Invalid, false)
	}
	if len(w.dialed) > 0 {
		t.Errorf("connected to %v", w.dialed)
	}
	t.Logf("%d hostile URLs", len(hostile))
}

// TestHostileRedirects has a public server redirect to each of the hostile URLs.
func TestHostileRedirects(t *testing.T) {
	location := ""
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/start" {
			t.Errorf("a request arrived: %s %s", r.Host, r.URL)
		}
		w.Header()["Location"] = []string{location}
		w.WriteHeader(http.StatusFound)
	})
	w.resolvePrivate()
	c := w.client(t, Options{})
	redirects := 0
	for _, tt := range hostile {
		if strings.ContainsAny(tt.url, "\r\n\x00") || tt.url == "http:127.0.0.1" || tt.url == "http:" {
			continue // no server can send it, or it is relative to http
		}
		location = tt.url
		wantFailure(t, c, Request{URL: "http://site.example/start"}, tt.code, Class(tt.code), false)
		redirects++
	}
	if i := slices.IndexFunc(w.dialed, func(at string) bool { return at != publicAddr+":80" }); i >= 0 {
		t.Errorf("connected to %s", w.dialed[i])
	}
	t.Logf("%d hostile redirects", redirects)
}

// TestRebinding has a name resolve to a public address first and to a private one next.
func TestRebinding(t *testing.T) {
	keep := true
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if !keep {
			w.Header().Set("Connection", "close")
		}
	})
	w.resolve("rebind.example", publicAddr, "127.0.0.1")
	c := w.client(t, Options{})
	rebind := Request{URL: "http://rebind.example/"}

	get(t, c, rebind) // one question, one answer: the address that was checked is dialled
	keep = false
	get(t, c, rebind) // on the connection that is there
	wantFailure(t, c, rebind, onto.Refused, Refused, false)
	wantFailure(t, c, Request{URL: "http://rebind.example:8080/"}, onto.Refused, Refused, false)
	if want := []string{publicAddr + ":80"}; !slices.Equal(w.dialed, want) {
		t.Errorf("connected to %v, want %v", w.dialed, want)
	}
}

// TestMain names a proxy in the environment of all tests. None gets a request. net/http reads
// the environment once, so one test could not set it.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		os.Setenv(name, "http://proxy.example:3128")
	}
	os.Exit(m.Run())
}

func TestProxy(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {})
	w.resolve("proxy.example", "93.184.216.99")
	get(t, w.client(t, Options{}), page)
	if want := []string{publicAddr + ":80"}; !slices.Equal(w.dialed, want) {
		t.Errorf("connected to %v, want %v", w.dialed, want)
	}
}

func TestAllowed(t *testing.T) {
	nets := func(list ...string) (o Options) {
		for _, n := range list {
			o.AllowNets = append(o.AllowNets, netip.MustParsePrefix(n))
		}
		return o
	}
	private := Options{AllowPrivate: true}
	for _, tt := range []struct {
		o    Options
		url  string
		want bool
	}{
		{private, "http://127.0.0.1/", true},
		{private, "http://[::1]/", true},
		{private, "http://[::ffff:10.0.0.1]/", true},
		{private, "http://[64:ff9b::10.0.0.1]/", true},
		{private, "http://100.64.0.1/", true},
		{private, "http://[fd00::1]/", true},
		{private, "http://intranet/", true},
		{private, "http://localhost/", true},
		{private, "http://127.1/", false},
		{private, "http://169.254.169.254/", false}, // link-local and metadata are no private network
		{private, "http://[fd00:ec2::254]/", false},
		{private, "http://100.100.100.200/", false},
		{private, "http://[fe80::1]/", false},
		{private, "http://0.0.0.0/", false},
		{private, "http://224.0.0.1/", false},
		{private, "http://site.example:22/", false},
		{nets("127.0.0.0/8"), "http://127.0.0.1/", true},
		{nets("127.0.0.0/8"), "http://localhost/", true},
		{nets("127.0.0.0/8"), "http://x.localhost/", false}, // has another address
		{nets("127.0.0.0/8"), "http://[::ffff:127.0.0.1]/", true},
		{nets("127.0.0.0/8"), "http://[::1]/", false},
		{nets("127.0.0.0/8"), "http://10.0.0.1/", false},
		{nets("10.1.0.0/16", "169.254.169.254/32"), "http://intranet/", true},
		{nets("10.1.0.0/16", "169.254.169.254/32"), "http://mixed.example/", true},
		{nets("10.1.0.0/16", "169.254.169.254/32"), "http://metadata.google.internal/", true},
		{nets("10.1.0.0/16", "169.254.169.254/32"), "http://10.2.0.1/", false},
		{Options{AllowPorts: []uint16{22}}, "http://site.example:22/", true},
		{Options{AllowPorts: []uint16{22}}, "http://site.example:23/", false},
		{Options{}, "http://93.184.216.34/", true},
		{Options{}, "http://[2606:2800:220:1::1]/", true},
		{Options{}, "http://[64:ff9b::93.184.216.34]/", true}, // how IPv6-only networks see it
		{Options{}, "http://a_b.site.example/", true},
		{Options{}, "http://site.example:8080/", true},
		{Options{}, "http://bücher.example/", true},
		{Options{}, "http://xn--bcher-kva.example/", true},
		{Options{}, "http://0x7g.example/", true},
	} {
		w := newWorld(t, func(http.ResponseWriter, *http.Request) {})
		w.resolvePrivate()
		w.resolve("localhost", "127.0.0.1")
		w.resolve("x.localhost", "10.0.0.1")
		for _, name := range []string{"a_b.site.example", "xn--bcher-kva.example", "0x7g.example"} {
			w.resolve(name, publicAddr)
		}
		c := w.client(t, tt.o)
		if !tt.want {
			wantFailure(t, c, Request{URL: tt.url}, onto.Refused, Refused, false)
			continue
		}
		get(t, c, Request{URL: tt.url})
	}
}

// FuzzURL: no URL makes the client connect to an address that is not public.
func FuzzURL(f *testing.F) {
	for _, tt := range hostile {
		f.Add(tt.url)
	}
	f.Add("http://site.example/?a=b")
	f.Fuzz(func(t *testing.T, raw string) {
		p := policy{}
		u, err := p.parse(nil, raw)
		if err != nil {
			return
		}
		again, err := p.parse(nil, u.String())
		if err != nil || again.String() != u.String() {
			t.Errorf("%q was read as %s, and that as %v, %v", raw, u, again, err)
		}
		addrs, err := New(&Options{Resolver: &world{}}).resolve(context.Background(), u.Hostname())
		if err != nil {
			return
		}
		for _, a := range addrs {
			if a = a.Unmap(); a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() || a.Zone() != "" {
				t.Errorf("%q leads to %s", raw, a)
			}
		}
	})
}

// FuzzShown: what is shown of a URL has no password.
func FuzzShown(f *testing.F) {
	f.Add("http", "user", "pa#ss", "site.example/path?q=1")
	f.Add("https", "", "p/a?s@s", "site.example")
	f.Add("", "a:b", "c//d", "x")
	f.Add("0", "@", "#", "0")
	f.Fuzz(func(t *testing.T, scheme, user, password, rest string) {
		secret := "S3CR3T" + password + "S3CR3T"
		raw := fmt.Sprintf("%s://%s:%s@%s", scheme, user, secret, rest)
		if _, err := url.Parse(raw); err == nil && strings.ContainsAny(user+password+scheme, "/?#") {
			return // by the rules of URLs this is no password
		}
		if got := shown(raw); strings.Contains(got, "S3CR3T") && !strings.Contains(rest, "S3CR3T") {
			t.Errorf("%q is shown as %q", raw, got)
		}
	})
}
