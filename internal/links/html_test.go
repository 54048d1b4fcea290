package links

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"pgregory.net/rapid"

	"github.com/ontologia/onto/internal/effort"
)

// list writes links as text: rel, then !, if it must not be followed, then the address.
func list(found Found) []string {
	var all []string
	for _, l := range found.Links {
		s := strings.TrimSpace(l.Rel + " " + l.URL.String())
		if l.NoFollow {
			s = "!" + s
		}
		all = append(all, s)
	}
	return all
}

func TestHTML(t *testing.T) {
	const page = "http://example.org/dir/page?x=1"
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"anchors and areas", `<a href=a>A</a><area href="/b"><a name=x>`, []string{"http://example.org/dir/a", "http://example.org/b"}},
		{"in the order of the document, once", `<a href=b><a href=a><a href="./b"><a href="b#part">`, []string{"http://example.org/dir/b", "http://example.org/dir/a"}},
		{"any case, any quotes", `<A HREF='a'><AREA Href=b>`, []string{"http://example.org/dir/a", "http://example.org/dir/b"}},
		{"link elements by rel", `<link rel=next href=n><link rel="PREV x" href=p><link rel=canonical href=c><link rel=stylesheet href=s><link rel=icon href=i><link href=none>`,
			[]string{"next http://example.org/dir/n", "prev x http://example.org/dir/p", "canonical http://example.org/dir/c"}},
		{"no images, scripts, frames, forms", `<img src=a srcset="b 2x"><script src=c></script><iframe src=d></iframe><form action=e><object data=f>`, nil},
		{"links to itself", `<a href=""><a href="#top"><a href="page?x=1"><a href="page?x=1#y"><a href=other>`, []string{"http://example.org/dir/other"}},
		{"nofollow, ugc and sponsored", `<a rel=nofollow href=a><a rel="x UGC" href=b><a rel=sponsored href=c><a rel=noopener href=d>`,
			[]string{"!nofollow http://example.org/dir/a", "!x ugc http://example.org/dir/b", "!sponsored http://example.org/dir/c", "noopener http://example.org/dir/d"}},
		{"one mention may be followed", `<a rel=nofollow href=a><a href=/dir/a>`, []string{"nofollow http://example.org/dir/a"}},
		{"the same text may be followed", `<a rel=nofollow href=a><a href=a>`, []string{"nofollow http://example.org/dir/a"}},
		{"robots", `<a href=a><meta name=" Robots " content="noindex, NoFollow"><a href=b>`, []string{"!http://example.org/dir/a", "!http://example.org/dir/b"}},
		{"robots: none", `<meta content=none name=robots><a href=a>`, []string{"!http://example.org/dir/a"}},
		{"robots: something else", `<meta name=robots content="noindex,nofollowed"><meta name=otherbot content=nofollow><a href=a>`, []string{"http://example.org/dir/a"}},
		{"base", `<base href="/root/"><a href=a>`, []string{"http://example.org/root/a"}},
		{"base of another host, after a link", `<a href=a><base href="https://other.example/x/y"><a href=b>`, []string{"https://other.example/x/a", "https://other.example/x/b"}},
		{"the first base", `<base target=_top><base href=/one/><base href=/two/><a href=a>`, []string{"http://example.org/one/a"}},
		{"the first base, though it is refused", `<base href="ftp://h/"><base href=/two/><a href=a>`, []string{"http://example.org/dir/a"}},
		{"bases that do not count", `<template><base href=/t/></template><base href="javascript:x"><a href=a>`, []string{"http://example.org/dir/a"}},
		{"empty base", `<base href=""><base href=/two/><a href=a>`, []string{"http://example.org/dir/a"}},
		{"below a base, a fragment leads to the base", `<base href=/b><a href="#x"><a href="?q">`, []string{"http://example.org/b?q"}},
		{"entities", `<a href="?a=1&amp;b=2&#38;c=3&copy=4"><a href="&#x2F;r&#101;f"><a href="a&notit;b">`,
			[]string{"http://example.org/dir/page?a=1&b=2&c=3&copy=4", "http://example.org/ref", "http://example.org/dir/a&notit;b"}},
		{"spaces and line breaks", "<a href=' \t a\nb\r c \x01'>", []string{"http://example.org/dir/ab%20c"}},
		{"the first of two attributes", `<a href=a href=b>`, []string{"http://example.org/dir/a"}},
		{"comments, scripts and text areas", `<!-- <a href=a> --><script>"<a href=b>"</script><textarea><a href=c></textarea><style><a href=d></style><title><a href=e></title><xmp><a href=f></xmp><a href=g>`,
			[]string{"http://example.org/dir/g"}},
		{"noscript counts, templates do not", `<noscript><a href=a></noscript><template><a href=b><template></template><a href=c></template><a href=d></template><a href=e>`,
			[]string{"http://example.org/dir/a", "http://example.org/dir/d", "http://example.org/dir/e"}},
		{"CDATA and processing instructions", `<?xml version="1.0"?><![CDATA[x]]><svg><a href="a"/></svg>`, []string{"http://example.org/dir/a"}},
		{"tags without end", `<a href=a><a href="b`, []string{"http://example.org/dir/a"}},
		{"byte order mark", "\ufeff<a href=a>", []string{"http://example.org/dir/a"}},
		{"NUL bytes", "\x00<a \x00 href=a><a href=\"b\x00c\"><a\x00 href=d>", []string{"http://example.org/dir/a", "http://example.org/dir/b%EF%BF%BDc"}},
		{"other hosts", `<a href="//CDN.example:443/"><a href="https://h">`, []string{"http://cdn.example:443/", "https://h/"}},
		{"nothing", ``, nil},
		{"no HTML", "%PDF-1.7 \x00\x01\xff <<a href", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := HTML([]byte(c.body), mustURL(t, page), nil)
			if got := list(found); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %q, %v\nwant %q", got, err, c.want)
			}
		})
	}
}

func TestRefusedReferencesAreCounted(t *testing.T) {
	body := `<a href="javascript:x"><a href="mailto:a@example.org"><a href="http://0x7f.1/"><a href="http://[::1"><a href=ok><a href="http://h/` + strings.Repeat("a", MaxURL) + `">`
	found, err := HTML([]byte(body), mustURL(t, "http://h/"), nil)
	if err != nil || len(found.Links) != 1 || found.Refused != 5 || found.Cut {
		t.Errorf("got %+v, %v, want one link and 5 refused references", found, err)
	}
}

func TestDocumentWithoutURL(t *testing.T) {
	for _, u := range []*url.URL{nil, {}, {Path: "/x"}, {Scheme: "mailto", Opaque: "a"}} {
		if _, err := HTML([]byte("<a href=a>"), u, nil); onto.CodeOf(err) != onto.Invalid {
			t.Errorf("HTML of %v: %v", u, err)
		}
		if _, err := JSON([]byte("{}"), u, nil, nil); onto.CodeOf(err) != onto.Invalid {
			t.Errorf("JSON of %v: %v", u, err)
		}
	}
}

func TestForms(t *testing.T) {
	body := `<a href="?b=2&a=1&utm_source=x"><a href="?a=1&b=2"><a href="?utm_medium=self">`
	found, err := HTML([]byte(body), mustURL(t, "http://h/"), &Options{Form: &Form{SortQuery: true, Drop: Tracking()}})
	if got := list(found); err != nil || !slices.Equal(got, []string{"http://h/?a=1&b=2"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestCharsets(t *testing.T) {
	utf16 := func(s string, high, low int) []byte {
		b := make([]byte, 0, 2*len(s))
		for _, r := range "\ufeff" + s {
			pair := [2]byte{byte(r >> 8), byte(r)}
			b = append(b, pair[high], pair[low])
		}
		return b
	}
	for _, c := range []struct {
		name, contentType string
		body              []byte
		want              string
	}{
		{"UTF-8 without a declaration", "", []byte(`<a href="é?é">`), "http://h/%C3%A9?%C3%A9"},
		{"UTF-8 after much ASCII", "", []byte(strings.Repeat(" ", 2000) + `<a href="é?é">`), "http://h/%C3%A9?%C3%A9"},
		{"UTF-8, though a meta element says otherwise", "", []byte(`<meta charset=latin1><a href="é?é">`), "http://h/%C3%A9?%C3%A9"},
		{"latin1 by content type", "text/html; charset=iso-8859-1", []byte("<a href='\xe9?\xe9'>"), "http://h/%C3%A9?%E9"},
		{"latin1 by a meta element", "text/html", []byte("<meta charset=latin1><a href='\xe9?\xe9'>"), "http://h/%C3%A9?%E9"},
		{"windows-1252 by default", "", []byte("<a href='\x80?\x80'>"), "http://h/%E2%82%AC?%80"},
		{"what the charset lacks", "text/html; charset=iso-8859-1", []byte("<a href='&#x65e5;?&#x65e5;&x=1'>"), "http://h/%E6%97%A5?%26%2326085%3B&x=1"},
		{"Shift_JIS", "text/html; charset=Shift_JIS", []byte("<a href='\x93\xfa?\x93\xfa'>"), "http://h/%E6%97%A5?%93%FA"},
		{"UTF-16, little endian", "", utf16(`<a href="日?日">`, 1, 0), "http://h/%E6%97%A5?%E6%97%A5"},
		{"UTF-16, big endian", "text/html; charset=utf-8", utf16(`<a href="日?日">`, 0, 1), "http://h/%E6%97%A5?%E6%97%A5"},
		{"an unknown charset", "text/html; charset=klingon", []byte(`<a href="é">`), "http://h/%C3%A9"},
		{"a malformed content type", ";;;", []byte(`<a href="é">`), "http://h/%C3%A9"},
		{"bytes that are not of the charset", "text/html; charset=utf-8", []byte("<a href='\xe9'>"), "http://h/%E9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := HTML(c.body, mustURL(t, "http://h/"), &Options{ContentType: c.contentType})
			if got := list(found); err != nil || !slices.Equal(got, []string{c.want}) {
				t.Errorf("got %q, %v, want %s", got, err, c.want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	var body bytes.Buffer
	for i := range 100 {
		fmt.Fprintf(&body, "<a href=%d>", i)
	}
	found, err := HTML(body.Bytes(), mustURL(t, "http://h/"), &Options{MaxLinks: 10})
	if err != nil || len(found.Links) != 10 || !found.Cut {
		t.Errorf("%d links, cut %v, %v; want the first 10", len(found.Links), found.Cut, err)
	}
	found, err = HTML(body.Bytes(), mustURL(t, "http://h/"), &Options{MaxLinks: 100})
	if err != nil || len(found.Links) != 100 || found.Cut {
		t.Errorf("%d links, cut %v, %v; want all 100", len(found.Links), found.Cut, err)
	}
	found, err = HTML(body.Bytes(), mustURL(t, "http://h/"), &Options{MaxBytes: len("<a href=0><a href=1><a hr")})
	if got := list(found); err != nil || !slices.Equal(got, []string{"http://h/0", "http://h/1"}) || !found.Cut {
		t.Errorf("%q, cut %v, %v; want what the first bytes have", got, found.Cut, err)
	}
	found, err = HTML([]byte("<a href=a><script>"+strings.Repeat("x", maxToken)+"</script><a href=b>"), mustURL(t, "http://h/"), nil)
	if got := list(found); err != nil || !slices.Equal(got, []string{"http://h/a"}) || !found.Cut {
		t.Errorf("%q, cut %v, %v; want what is before the long script", got, found.Cut, err)
	}
	found, err = HTML([]byte(`<a href=a rel="`+strings.Repeat("é ", 1000)+`">`), mustURL(t, "http://h/"), nil)
	if err != nil || len(found.Links) != 1 || len(found.Links[0].Rel) > maxRel {
		t.Errorf("%d bytes of rel are kept", len(found.Links[0].Rel))
	}
}

// Documents that are made to cost much. What is before them is found.
func TestHostileHTML(t *testing.T) {
	size := 1 << 20
	if effort.Thorough(t) {
		size = 10 << 20
	}
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for name, hostile := range map[string]string{
		"tags without end":          repeat("<a"),
		"tags with spaces":          repeat("<a "),
		"one tag, many attributes":  "<a " + repeat("b "),
		"one tag, other attributes": "<a " + manyAttributes(size/8),
		"one attribute":             `<a href="` + repeat("x"),
		"one name":                  "<" + repeat("x"),
		"deep nesting":              repeat("<div>"),
		"deep templates":            repeat("<template>"),
		"a comment without end":     "<!--" + repeat("<a href=x>"),
		"a script without end":      "<script>" + repeat("<a href=x>"),
		"script escapes":            "<script>" + repeat("<!--<script>"),
		"entities":                  `<a href="` + repeat("&amp;") + `">`,
		"entities without end":      repeat("&"),
		"bad charset":               repeat("\xff"),
		"NUL bytes":                 repeat("\x00"),
		"nothing but <":             repeat("<"),
		"closing tags":              repeat("</"),
		"metas":                     repeat("<meta name=robots content=x>"),
		"bases":                     repeat("<base href=/x>"),
	} {
		t.Run(name, func(t *testing.T) {
			found, err := HTML([]byte("<a href=first></a>"+hostile), mustURL(t, "http://h/"), nil)
			if err != nil || len(found.Links) == 0 || found.Links[0].URL.Path != "/first" && found.Links[0].URL.Path != "/x" || len(found.Links) > 2 {
				t.Errorf("%d links, %v", len(found.Links), err)
			}
		})
	}
	found, err := HTML([]byte(manyLinks(size)), mustURL(t, "http://h/"), nil)
	if err != nil || len(found.Links) != DefaultLinks || !found.Cut {
		t.Errorf("of many links there are %d, cut %v, %v", len(found.Links), found.Cut, err)
	}
}

func manyAttributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%x ", i)
	}
	return b.String()
}

func manyLinks(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "<a href=%d>", i)
	}
	return b.String()
}

func TestRobotsNoFollow(t *testing.T) {
	for content, want := range map[string]bool{
		"nofollow": true, "NONE": true, "noindex,nofollow": true, "noindex nofollow": true, " noindex ,\tnofollow ": true,
		"": false, "all": false, "follow": false, "no follow": false, "otherbot: nofollow": false, "otherbot: noindex, nofollow": false,
	} {
		if RobotsNoFollow(content) != want {
			t.Errorf("RobotsNoFollow(%q) is not %v", content, want)
		}
	}
}

// anchors finds links as a browser does: in the tree of the document.
func anchors(n *html.Node, visit func(href string)) {
	if n.DataAtom == atom.Template {
		return
	}
	if n.DataAtom == atom.A {
		for _, a := range n.Attr {
			visit(a.Val)
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		anchors(c, visit)
	}
}

// Tags that are well nested, or not, have the links that a tree of them has.
func TestTagsAgreeWithTree(t *testing.T) {
	tags := []string{"a", "a", "a", "div", "p", "noscript", "template", "b", "ul", "li", "span", "h1"}
	total := 0
	effort.Check(t, 1000, func(t *rapid.T) {
		var body strings.Builder
		var open []string
		for i := range rapid.IntRange(0, 200).Draw(t, "tags") {
			switch n := rapid.IntRange(0, 9).Draw(t, "what"); {
			case n < 5:
				tag := rapid.SampledFrom(tags).Draw(t, "tag")
				fmt.Fprintf(&body, "<%s", tag)
				if tag == "a" {
					fmt.Fprintf(&body, " href=%d", i)
				}
				body.WriteString(">")
				open = append(open, tag)
			case n < 8 && len(open) > 0:
				fmt.Fprintf(&body, "</%s>", open[len(open)-1])
				open = open[:len(open)-1]
			default:
				body.WriteString(rapid.SampledFrom([]string{"text", "<br>", "<!-- <a href=x> -->", "<script>'<a href=y>'</script>", "&amp;", "</i>", "<img src=z>"}).Draw(t, "text"))
			}
		}
		tree, err := html.ParseWithOptions(strings.NewReader("<body>"+body.String()), html.ParseOptionEnableScripting(false))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{}
		anchors(tree, func(href string) { want["http://h/"+href] = true })
		found, err := HTML([]byte(body.String()), &url.URL{Scheme: "http", Host: "h"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, l := range found.Links {
			got[l.URL.String()] = true
		}
		if total += len(got); !maps.Equal(got, want) {
			t.Fatalf("%s\ngot %v\nwant %v", &body, got, want)
		}
	})
	t.Logf("%d links", total)
}

func FuzzHTML(f *testing.F) {
	for _, s := range []string{
		`<base href=/b/><a href=a rel=nofollow>x</a>`, `<meta charset=latin1><a href="?é">`, "\xff\xfe<\x00a\x00", `<template><a href=x></template>`, `<noscript><a href=y>`,
		`<svg><title><a href=z></title></svg>`, `<a href="&#0;&#x110000;">`, `<link rel=next href=//>`, "\ufeff<meta name=robots content=none>",
	} {
		f.Add([]byte(s), "text/html; charset=iso-8859-2")
		f.Add([]byte(s), "")
	}
	document, form := &url.URL{Scheme: "http", Host: "h", Path: "/dir/page"}, &Form{SortQuery: true}
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		found, err := HTML(body, document, &Options{ContentType: contentType, Form: form, MaxLinks: 20})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{document.String(): true}
		for _, l := range found.Links {
			checkNormal(t, l.URL, form)
			if seen[l.URL.String()] {
				t.Fatalf("%s comes twice, or is the document", l.URL)
			}
			seen[l.URL.String()] = true
			if found.NoFollow && !l.NoFollow {
				t.Fatalf("%s may be followed in a document that asks not to", l.URL)
			}
		}
		if len(found.Links) > 20 {
			t.Fatalf("%d links, the limit is 20", len(found.Links))
		}
	})
}
