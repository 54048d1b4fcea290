package links

import (
	"net/url"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"pgregory.net/rapid"

	"github.com/ontologia/onto/internal/effort"
)

func TestNormalize(t *testing.T) {
	for _, c := range []struct{ name, url, want string }{
		{"scheme and host in lower case", "HTTP://Example.ORG/Path", "http://example.org/Path"},
		{"default port of http", "http://example.org:80/", "http://example.org/"},
		{"default port of https", "https://example.org:443/", "https://example.org/"},
		{"a port of the other scheme stays", "http://example.org:443/", "http://example.org:443/"},
		{"empty port", "http://example.org:/", "http://example.org/"},
		{"port with zeros", "http://example.org:0080/", "http://example.org/"},
		{"no path", "http://example.org", "http://example.org/"},
		{"no path, a query", "http://example.org?a=1", "http://example.org/?a=1"},
		{"dot segments", "http://h/a/./b/../c", "http://h/a/c"},
		{"dot segment at the end", "http://h/a/b/..", "http://h/a/"},
		{"single dot at the end", "http://h/a/.", "http://h/a/"},
		{"dot segments beyond the root", "http://h/../../a", "http://h/a"},
		{"escaped dot segments", "http://h/a/%2E%2e/b", "http://h/b"},
		{"dots in names stay", "http://h/a/.b/c../...", "http://h/a/.b/c../..."},
		{"empty segments stay", "http://h//a//b", "http://h//a//b"},
		{"dot segment removes an empty segment", "http://h/a//../b", "http://h/a/b"},
		{"escapes in upper case", "http://h/%c3%a9%2f", "http://h/%C3%A9%2F"},
		{"needless escapes", "http://h/%7Euser/%41%2D%2e%5F", "http://h/~user/A-._"},
		{"an escaped slash is no slash", "http://h/a%2Fb^", "http://h/a%2Fb%5E"},
		{"escaped delimiters stay escaped", "http://h/a%3Bb;c", "http://h/a%3Bb;c"},
		{"a percent sign alone", "http://h/100%/%zz/%4", "http://h/100%25/%25zz/%254"},
		{"spaces and quotes", "http://h/a b\"<>`{|}^", "http://h/a%20b%22%3C%3E%60%7B%7C%7D%5E"},
		{"brackets", "http://h/[a]?b[]=1", "http://h/%5Ba%5D?b%5B%5D=1"},
		{"beyond ASCII", "http://h/é?ü=日", "http://h/%C3%A9?%C3%BC=%E6%97%A5"},
		{"bytes that are not UTF-8", "http://h/\xe9", "http://h/%E9"},
		{"fragment", "http://h/a#b?c", "http://h/a"},
		{"fragment with a slash", "http://h#/a", "http://h/"},
		{"query keeps its order", "http://h/?b=2&a=1&b=1", "http://h/?b=2&a=1&b=1"},
		{"question marks and slashes in the query", "http://h/?a=/?b", "http://h/?a=/?b"},
		{"plus in the query stays", "http://h/?q=a+b%20c%2B", "http://h/?q=a+b%20c%2B"},
		{"empty query stays", "http://h/a?", "http://h/a?"},
		{"user information", "http://user:secret@h/", "http://h/"},
		{"user information with @", "http://a@b@h/", "http://h/"},
		{"dot at the end of a host", "http://example.org./a", "http://example.org/a"},
		{"underscore in a host", "http://a_b.example.org/", "http://a_b.example.org/"},
		{"escapes in a host", "http://ex%61mple.org/", "http://example.org/"},
		{"name beyond ASCII", "http://Bücher.example/", "http://xn--bcher-kva.example/"},
		{"name beyond ASCII, escaped", "http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/"},
		{"name in Punycode", "http://XN--BCHER-KVA.example/", "http://xn--bcher-kva.example/"},
		{"sharp s is its own letter", "http://straße.example/", "http://xn--strae-oqa.example/"},
		{"ideographic dots", "http://example。org/", "http://example.org/"},
		{"wide digits are digits", "http://１２７.0.0.1/", "http://127.0.0.1/"},
		{"IPv4", "http://192.0.2.1:8080/", "http://192.0.2.1:8080/"},
		{"IPv6", "http://[2001:DB8:0:0::1]:80/", "http://[2001:db8::1]/"},
		{"IPv6 with a port", "https://[::1]:8443/", "https://[::1]:8443/"},
		{"IPv4 in IPv6", "http://[::FFFF:127.0.0.1]/", "http://[::ffff:127.0.0.1]/"},
		{"backslashes", `http:\\example.org\a\..\b?c\d`, "http://example.org/b?c%5Cd"},
		{"a backslash ends the host", `http://good.example\@evil.example/`, "http://good.example/@evil.example/"},
		{"spaces around", "  http://h/a  ", "http://h/a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse(c.url, nil)
			if err != nil || got.String() != c.want {
				t.Errorf("Parse(%q) = %v, %v, want %s", c.url, got, err, c.want)
			}
		})
	}
}

func TestQueryForms(t *testing.T) {
	sorted := &Form{SortQuery: true}
	clean := &Form{Drop: Tracking()}
	for _, c := range []struct {
		form      *Form
		url, want string
	}{
		{sorted, "http://h/?b=2&a=1&b=1&a=0", "http://h/?a=1&a=0&b=2&b=1"},
		{sorted, "http://h/?b&a&&c=", "http://h/?&a&b&c="},
		{sorted, "http://h/?%62=1&a=2", "http://h/?a=2&b=1"},
		{sorted, "http://h/?", "http://h/?"},
		{clean, "http://h/?utm_source=x&id=7&utm_medium=y&fbclid=z", "http://h/?id=7"},
		{clean, "http://h/?utm%5Fsource=x", "http://h/"},
		{clean, "http://h/?xutm_source=x&utm=1", "http://h/?xutm_source=x&utm=1"},
		{clean, "http://h/a?gclid", "http://h/a"},
		{&Form{SortQuery: true, Drop: []string{"sid"}}, "http://h/?z=1&sid=2&a=3", "http://h/?a=3&z=1"},
	} {
		got, err := Parse(c.url, c.form)
		if err != nil || got.String() != c.want {
			t.Errorf("Parse(%q, %+v) = %v, %v, want %s", c.url, *c.form, got, err, c.want)
		}
	}
}

func TestRefusedURLs(t *testing.T) {
	long := "http://h/" + strings.Repeat("a", MaxURL)
	for _, c := range []struct {
		url  string
		code onto.Code
	}{
		{"", onto.Invalid}, {"/a", onto.Invalid}, {"//h/a", onto.Invalid}, {"example.org", onto.Invalid},
		{"ftp://h/", onto.Invalid}, {"file:///etc/passwd", onto.Invalid}, {"javascript:alert(1)", onto.Invalid},
		{"data:text/html,x", onto.Invalid}, {"mailto:a@example.org", onto.Invalid}, {"gopher://h/", onto.Invalid},
		{"http:", onto.Invalid}, {"http:a", onto.Invalid}, {"http:/a", onto.Invalid}, {"http:///a", onto.Invalid}, {"http://?a", onto.Invalid},
		{"http://:80/", onto.Invalid}, {"http://user@/", onto.Invalid}, {"http://./", onto.Invalid}, {"http://a..b/", onto.Invalid}, {"http://a../", onto.Invalid},
		{"http://h:0/", onto.Invalid}, {"http://h:65536/", onto.Invalid}, {"http://h:x/", onto.Invalid}, {"http://h:-1/", onto.Invalid}, {"http://h:+1/", onto.Invalid}, {"http://h:1:2/", onto.Invalid},
		{"http://a b/", onto.Invalid}, {"http://a%20b/", onto.Invalid}, {"http://a%2Fb/", onto.Invalid}, {"http://a%00b/", onto.Invalid}, {"http://a%zz/", onto.Invalid},
		{"http://h/\x00", onto.Invalid}, {"http://h/a\nb", onto.Invalid}, {"http://h/\x7f", onto.Invalid}, {"ht\ttp://h/", onto.Invalid},
		{"http://0x7f.1/", onto.Invalid}, {"http://2130706433/", onto.Invalid}, {"http://0177.0.0.1/", onto.Invalid}, {"http://127.1/", onto.Invalid}, {"http://0x7f000001/", onto.Invalid}, {"http://1.2.3.4.5/", onto.Invalid}, {"http://256.1.1.1/", onto.Invalid}, {"http://a.0x/", onto.Invalid},
		{"http://[::1/", onto.Invalid}, {"http://[fe80::1%25eth0]/", onto.Invalid}, {"http://[127.0.0.1]/", onto.Invalid}, {"http://[]/", onto.Invalid}, {"http://::1/", onto.Invalid}, {"http://[::1]x/", onto.Invalid},
		{"http://xn--a/", onto.Invalid}, {"http://\xff\xfe/", onto.Invalid}, {"http://" + strings.Repeat("a", 64) + ".org/", onto.Invalid}, {"http://" + strings.Repeat("a.", 127) + "org/", onto.Invalid},
		{long, onto.TooLarge}, {"http://h/" + strings.Repeat("é", MaxURL/4), onto.TooLarge},
	} {
		got, err := Parse(c.url, nil)
		if onto.CodeOf(err) != c.code || got != nil {
			t.Errorf("Parse(%.40q) = %v, %v, want the code %s", c.url, got, err, c.code)
		} else if onto.HintOf(err).String() == "" || len(err.Error()) > 300 {
			t.Errorf("Parse(%.40q) has no hint, or a message of %d bytes", c.url, len(err.Error()))
		}
	}
}

func TestMessagesHaveNoSecrets(t *testing.T) {
	for _, ref := range []string{
		"http://user:hunter2@h:0/a", "http://h:0/?token=hunter2", `http:\\user:hunter2@a b/`, "http://hunter2@@h:0/", "http://h:0/\x01?hunter2",
		"http://hunter2:hunter2@h/\x01",
	} {
		if _, err := Parse(ref, nil); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Parse(%q): %v", ref, err)
		}
	}
}

// The examples of RFC 3986 §5.4, without fragments.
func TestResolve(t *testing.T) {
	base := mustURL(t, "http://a/b/c/d;p?q")
	for _, c := range [][2]string{
		{"g", "http://a/b/c/g"}, {"./g", "http://a/b/c/g"}, {"g/", "http://a/b/c/g/"}, {"/g", "http://a/g"}, {"//g", "http://g/"},
		{"?y", "http://a/b/c/d;p?y"}, {"g?y", "http://a/b/c/g?y"}, {"#s", "http://a/b/c/d;p?q"}, {"g#s", "http://a/b/c/g"}, {"g?y#s", "http://a/b/c/g?y"},
		{";x", "http://a/b/c/;x"}, {"g;x", "http://a/b/c/g;x"}, {"g;x?y#s", "http://a/b/c/g;x?y"}, {"", "http://a/b/c/d;p?q"}, {".", "http://a/b/c/"}, {"./", "http://a/b/c/"},
		{"..", "http://a/b/"}, {"../", "http://a/b/"}, {"../g", "http://a/b/g"}, {"../..", "http://a/"}, {"../../", "http://a/"}, {"../../g", "http://a/g"},
		{"../../../g", "http://a/g"}, {"../../../../g", "http://a/g"}, {"/./g", "http://a/g"}, {"/../g", "http://a/g"}, {"g.", "http://a/b/c/g."}, {".g", "http://a/b/c/.g"}, {"g..", "http://a/b/c/g.."}, {"..g", "http://a/b/c/..g"},
		{"./../g", "http://a/b/g"}, {"./g/.", "http://a/b/c/g/"}, {"g/./h", "http://a/b/c/g/h"}, {"g/../h", "http://a/b/c/h"}, {"g;x=1/./y", "http://a/b/c/g;x=1/y"}, {"g;x=1/../y", "http://a/b/c/y"},
		{"g?y/./x", "http://a/b/c/g?y/./x"}, {"g?y/../x", "http://a/b/c/g?y/../x"},
		// Beyond the examples.
		{"1:2", "http://a/b/c/1:2"}, {"%zz", "http://a/b/c/%25zz"}, {"HTTPS://B", "https://b/"}, {`\\g\h`, "http://g/h"}, {"?", "http://a/b/c/d;p?"},
	} {
		got, err := Resolve(base, c[0], nil)
		if err != nil || got.String() != c[1] {
			t.Errorf("Resolve(%q) = %v, %v, want %s", c[0], got, err, c[1])
		}
	}
	if got, err := Resolve(mustURL(t, "http://a"), "../g", nil); err != nil || got.String() != "http://a/g" {
		t.Errorf("below a base without a path: %v, %v", got, err)
	}
	for _, bad := range []*url.URL{nil, {}, {Path: "/a"}, {Scheme: "http", Opaque: "a"}, {Scheme: "http", Path: "/a"}} {
		if got, err := Resolve(bad, "g", nil); onto.CodeOf(err) != onto.Invalid {
			t.Errorf("below the base %v: %v, %v", bad, got, err)
		}
	}
}

func TestSameHost(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"http://Example.org/a", "http://example.org./b", true},
		{"http://example.org/", "https://example.org/", true},
		{"http://example.org:80/", "https://example.org:443/", true},
		{"http://example.org:8080/", "http://example.org:8080/x", true},
		{"http://example.org:8080/", "http://example.org/", false},
		{"http://www.example.org/", "http://example.org/", false},
		{"http://bücher.example/", "http://xn--bcher-kva.example/", true},
		{"http://[::1]/", "http://[0:0::1]/", true},
		{"http://user@example.org/", "http://example.org/", true},
		{"ftp://example.org/", "ftp://example.org/", false},
	} {
		a, b := mustURL(t, c.a), mustURL(t, c.b)
		if SameHost(a, b) != c.want || SameHost(b, a) != c.want {
			t.Errorf("SameHost(%s, %s) is not %v", c.a, c.b, c.want)
		}
	}
}

func TestSameSite(t *testing.T) {
	for _, c := range []struct {
		url, domain string
		want        bool
	}{
		{"http://example.org/", "example.org", true},
		{"http://www.Example.org:8080/", "EXAMPLE.org.", true},
		{"http://a.b.example.org/", ".example.org", true},
		{"http://badexample.org/", "example.org", false},
		{"http://example.org.evil.example/", "example.org", false},
		{"http://example.org/", "www.example.org", false},
		{"http://example.org/", "", false},
		{"http://example.org/", ".", false},
		{"http://example.org/", "*.org", false},
		{"http://www.bücher.example/", "bücher.example", true},
		{"http://192.0.2.1/", "192.0.2.1", true},
		{"http://192.0.2.1/", "2.1", false},
		{"http://192.0.2.1/", "1", false},
		{"http://[2001:db8::1]/", "[2001:DB8::1]", true},
	} {
		if got := SameSite(mustURL(t, c.url), c.domain); got != c.want {
			t.Errorf("SameSite(%s, %q) = %v", c.url, c.domain, got)
		}
	}
}

// checkNormal holds the normal form of a URL to its promises.
func checkNormal(t interface{ Fatalf(string, ...any) }, u *url.URL, f *Form) {
	text := u.String()
	again, err := Parse(text, f)
	if err != nil || again.String() != text {
		t.Fatalf("%q is no fixed point: %v, %v", text, again, err)
	}
	if normal, err := Normalize(u, f); err != nil || normal.String() != text {
		t.Fatalf("%q is no fixed point of Normalize: %v, %v", text, normal, err)
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.String() != text || parsed.Host != u.Host {
		t.Fatalf("net/url reads %q as %v, %v", text, parsed, err)
	}
	if len(text) > MaxURL || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		t.Fatalf("%q is too long or has characters that a URL does not have", text)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" || !strings.HasPrefix(u.Path, "/") {
		t.Fatalf("%q is not normal: %+v", text, u)
	}
	if !SameHost(u, again) || !SameSite(u, u.Hostname()) && !SameSite(u, "["+u.Hostname()+"]") {
		t.Fatalf("%q is not on its own host", text)
	}
}

func TestNormalFormIsAFixedPoint(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"a", "B", "~", ".", "..", "/", "//", "%", "%2", "%2e", "%2E", "%2f", "%41", "%c3%a9", "%zz", "é", "ß", "日", "İ", " ", "+", "&", "=", "?", "#", ":", "@", "[", "]",
		"\\", "x-y", "utm_source=1", "xn--", "xn--bcher-kva", "127.0.0.1", "0x7f", "080", "::1", "。", "\u00ad", "\u200d", "\xff", "http:", ";", "'", "|",
	})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), "")
	})
	accepted := 0
	effort.Check(t, 1000, func(t *rapid.T) {
		form := rapid.SampledFrom([]*Form{nil, {SortQuery: true}, {Drop: Tracking()}, {SortQuery: true, Drop: Tracking()}}).Draw(t, "form")
		host := rapid.OneOf(rapid.SampledFrom([]string{"h", "example.org:80", "[::1]:8080", "Bücher.example"}), text).Draw(t, "host")
		base, err := Parse(rapid.SampledFrom([]string{"http://", "HTTPS://"}).Draw(t, "scheme")+host+"/"+text.Draw(t, "path")+"?"+text.Draw(t, "query"), form)
		if err != nil {
			return
		}
		checkNormal(t, base, form)
		for _, ref := range rapid.SliceOfN(text, 1, 40).Draw(t, "references") {
			if u, err := Resolve(base, ref, form); err == nil {
				accepted++
				checkNormal(t, u, form)
			}
		}
	})
	if accepted == 0 {
		t.Error("no reference was accepted")
	}
	t.Logf("%d references resolved", accepted)
}

func FuzzNormalize(f *testing.F) {
	for _, s := range []string{
		"http://example.org/a/../b?c=d#e", "http://Bücher.example", "//h", "?x", "http://[::1]:80/%2e%2E/", "http://xn--bcher-kva/", `\\a\b`, "http://a。b/", "%", "http://０x7f.1/",
	} {
		f.Add(s, "http://h/"+s)
	}
	f.Fuzz(func(t *testing.T, ref, base string) {
		form := &Form{SortQuery: len(ref)%2 == 0, Drop: Tracking()}
		if u, err := Parse(ref, form); err == nil {
			checkNormal(t, u, form)
		}
		b, err := url.Parse(base)
		if err != nil {
			return
		}
		if u, err := Normalize(b, form); err == nil {
			checkNormal(t, u, form)
		}
		if u, err := Resolve(b, ref, form); err == nil {
			checkNormal(t, u, form)
		}
	})
}

func mustURL(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
