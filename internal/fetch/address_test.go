package fetch

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/effort"
)

// TestForms: an IPv4 address is allowed in its mapped and NAT64 forms as it is itself, and in
// the forms of tunnels not at all.
func TestForms(t *testing.T) {
	random := effort.Rand(t)
	p := policy{}
	refused, total := 0, 20_000
	for range total {
		v4 := netip.AddrFrom4([4]byte{byte(random.UintN(256)), byte(random.UintN(256)), byte(random.UintN(256)), byte(random.UintN(256))})
		if random.UintN(2) == 0 { // around the borders of the ranges
			s := spans[random.IntN(len(spans))].prefix.Addr()
			if !s.Is4() {
				continue
			}
			if v4 = s; random.UintN(2) == 0 && s.Prev().IsValid() {
				v4 = s.Prev()
			}
		}
		kind := p.refuses(v4)
		if kind != "" {
			refused++
		}
		if kind == "" && (v4.IsPrivate() || v4.IsLoopback() || v4.IsLinkLocalUnicast() || v4.IsMulticast() || v4.IsUnspecified()) {
			t.Errorf("%s is allowed", v4)
		}
		b := v4.As4()
		form := func(prefix string, at int) netip.Addr {
			a := netip.MustParseAddr(prefix).As16()
			copy(a[at:], b[:])
			return netip.AddrFrom16(a)
		}
		if mapped := form("::ffff:0:0", 12); p.refuses(mapped) != kind {
			t.Errorf("%s is %q, %s is %q", v4, kind, mapped, p.refuses(mapped))
		}
		if nat := form("64:ff9b::", 12); p.refuses(nat) != kind {
			t.Errorf("%s is %q, %s is %q", v4, kind, nat, p.refuses(nat))
		}
		for _, tunnel := range []netip.Addr{form("::", 12), form("2002::", 2), form("2001::", 12), form("2001::", 4), form("64:ff9b:1::", 12)} {
			if p.refuses(tunnel) == "" {
				t.Errorf("%s is allowed", tunnel)
			}
		}
	}
	t.Logf("%d addresses, %d of them refused", total, refused)
}

// TestBorders checks the first and the last address of each range, and that its neighbours
// that belong to no range are allowed.
func TestBorders(t *testing.T) {
	p := policy{}
	listed := func(a netip.Addr) bool {
		for _, s := range spans {
			if s.prefix.Contains(a) {
				return true
			}
		}
		return a.Is6() && !globalUnicast.Contains(a) && !nat64.Contains(a)
	}
	for _, s := range spans {
		first := s.prefix.Masked().Addr()
		last := first.AsSlice()
		for bit := s.prefix.Bits(); bit < len(last)*8; bit++ {
			last[bit/8] |= 0x80 >> (bit % 8)
		}
		end, _ := netip.AddrFromSlice(last)
		for _, a := range []netip.Addr{first, end} {
			if p.refuses(a) == "" {
				t.Errorf("%s of %s is allowed", a, s.prefix)
			}
		}
		for _, a := range []netip.Addr{first.Prev(), end.Next()} {
			if a.IsValid() && !listed(a) && p.refuses(a) != "" {
				t.Errorf("%s next to %s is refused", a, s.prefix)
			}
		}
	}
}

func TestMessages(t *testing.T) {
	w := newWorld(t, nil)
	w.resolvePrivate()
	c := w.client(t, Options{})
	for _, tt := range []struct{ url, message, hint string }{
		{"http://intranet/wiki?api_key=abc&page=2",
			"GET http://intranet/wiki?api_key=xxxxx&page=2: the host intranet has the address 10.1.2.3, which is not public (private)",
			"allow the network 10.1.2.3/32 if this host is meant"},
		{"http://[::ffff:169.254.169.254]/",
			"GET http://[::ffff:169.254.169.254]/: ::ffff:169.254.169.254 is not a public address (link-local)",
			"allow the network 169.254.169.254/32 if this host is meant"},
		{"http://ana:secret@site.example/", "GET http://site.example/: the URL has a user or a password", "give credentials in a header"},
		{"http://ana:sec#ret@site.example/", "GET http://site.example/: the URL is malformed", ""},
		{"http://127.1/", "GET http://127.1/: the host 127.1 is not an IPv4 address of four decimal numbers", "write it as A.B.C.D"},
		{"site.example/a", "GET site.example/a: the URL has no scheme", "write it with http:// or https://"},
		{"ftp://site.example/a", "GET ftp://site.example/a: the scheme ftp is not http or https", ""},
		{"http://site.example/%zz", `GET http://site.example/%zz: the URL is malformed: invalid URL escape "%zz"`, ""},
		{"http://nowhere.example/", "GET http://nowhere.example/: the host nowhere.example does not resolve: lookup nowhere.example: no such host", ""},
		{"http://site.example/" + strings.Repeat("a", 500) + "?token=abc\n", "GET http://site.example/" + strings.Repeat("a", 280) + "…: the URL is malformed: net/url: invalid control character in URL", ""},
	} {
		_, err := c.Do(t.Context(), &Request{URL: tt.url})
		if err == nil || err.Error() != tt.message || onto.HintOf(err).Text != tt.hint {
			t.Errorf("%s:\n got %v (%s)\nwant %s (%s)", tt.url, err, onto.HintOf(err), tt.message, tt.hint)
		}
	}
}
