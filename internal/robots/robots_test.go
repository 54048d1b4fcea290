package robots

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto/internal/effort"
)

// ask is a question about a file: an agent, a path, and whether the agent may fetch it.
type ask struct {
	agent, path string
	allowed     bool
}

func check(t *testing.T, file string, asks ...ask) {
	t.Helper()
	f := Parse([]byte(file))
	for _, a := range asks {
		if got := f.Allowed(a.agent, a.path); got != a.allowed {
			t.Errorf("%s, %s: allowed %v, want %v, by\n%s", a.agent, a.path, got, a.allowed, file)
		}
	}
}

// TestRFCSimple is section 5.1 of RFC 9309.
func TestRFCSimple(t *testing.T) {
	check(t, `User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
`,
		ask{"other", "/a.gif", false}, ask{"other", "/a.gif?x", true}, ask{"other", "/example/", false},
		ask{"other", "/example/page.html", false}, ask{"other", "/publications/x", true}, ask{"other", "/", true},
		ask{"other", "/publications/a.gif", true}, // 14 bytes against 6
		ask{"foobot", "/", false}, ask{"foobot", "/publications/", false},
		ask{"foobot", "/example/page.html", true}, ask{"foobot", "/example/allowed.gif", true}, ask{"foobot", "/example/a.gif", false},
		ask{"barbot", "/example/page.html", false}, ask{"barbot", "/example/", true}, ask{"barbot", "/a.gif", true},
		ask{"bazbot", "/example/page.html", false}, ask{"bazbot", "/", true},
		ask{"quxbot", "/example/", true}, ask{"quxbot", "/a.gif", true},
	)
}

// TestRFCLongest is section 5.2.
func TestRFCLongest(t *testing.T) {
	check(t, "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n",
		ask{"foobot", "/example/page/disallowed.gif", false},
		ask{"foobot", "/example/page/", true}, ask{"foobot", "/example/page/other.gif", true}, ask{"foobot", "/", true})
}

// TestRFCGroups is section 2.2.1: groups of one token are one group.
func TestRFCGroups(t *testing.T) {
	check(t, `user-agent: ExampleBot
disallow: /foo
disallow: /bar

user-agent: *
disallow: /all

user-agent: EXAMPLEBOT
disallow: /baz

user-agent: *
disallow: /more
`,
		ask{"ExampleBot", "/foo", false}, ask{"examplebot", "/bar", false}, ask{"ExampleBot/2.1 (+http://a.example)", "/baz", false},
		ask{"ExampleBot", "/all", true}, ask{"ExampleBot", "/more", true},
		ask{"Example", "/foo", true}, ask{"Example", "/all", false}, ask{"ExampleBotImage", "/more", false}, ask{"", "/all", false})
}

func TestGroups(t *testing.T) {
	check(t, "disallow: /early\nuser-agent: a\ndisallow: /x\n", ask{"a", "/early", true}, ask{"a", "/x", false}, ask{"b", "/x", true})
	check(t, "user-agent: a\n\n# comment\nsitemap: /s\ncrawl-delay: 3\nunknown\nuser-agent: b\ndisallow: /x\n", ask{"a", "/x", false}, ask{"b", "/x", false})
	check(t, "user-agent: a\ndisallow:\nuser-agent: b\ndisallow: /\n", ask{"a", "/x", true}, ask{"b", "/x", false})
	check(t, "user-agent: a/1.0 beta\ndisallow: /\n", ask{"a", "/", false}, ask{"a/2", "/", false}, ask{"b", "/", true})
	check(t, "user-agent: * # all\ndisallow: /\n", ask{"a", "/", false})
	check(t, "user-agent: *bot\ndisallow: /\n", ask{"a", "/", true}, ask{"bot", "/", true})
	check(t, "user-agent:\ndisallow: /\n", ask{"a", "/", true}, ask{"", "/", true})
	check(t, "user-agent: a-b_c\ndisallow: /\n", ask{"A-B_C", "/", false}, ask{"a", "/", true})
	check(t, "\ufeffUser-Agent : a\r\n\tDISALLOW\t:\t/x\t# why\rAllow: /x/y", ask{"a", "/x", false}, ask{"a", "/x/y/z", true})
	check(t, "<html><body>Not found: /</body></html>", ask{"a", "/", true})
	check(t, "", ask{"a", "/", true})
	if !(&File{}).Allowed("a", "/") {
		t.Error("the zero file disallows")
	}
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		rule, path string
		want       bool
	}{
		{"/", "/", true}, {"/", "/a", true}, {"/", "", true}, {"/a", "/A", false}, {"/a", "a", true},
		{"/fish", "/fish", true}, {"/fish", "/fish.html", true}, {"/fish", "/fishheads/y", true}, {"/fish", "/fish?id=1", true}, {"/fish", "/catfish", false},
		{"/fish/", "/fish", false}, {"/fish/", "/fish/salmon", true},
		{"/*.php", "/index.php", true}, {"/*.php", "/a/b.php?x", true}, {"/*.php", "/", false}, {"/*.php", "/index.PHP", false},
		{"/*.php$", "/a.php", true}, {"/*.php$", "/a.php?x", false}, {"/*.php$", "/a.php5", false}, {"/*.php$", "/a.php/b.php", true},
		{"/fish*.php", "/fish.php", true}, {"/fish*.php", "/fishheads/a.php?x", true}, {"/fish*.php", "/Fish.php", false},
		{"/a$", "/a", true}, {"/a$", "/ab", false}, {"/$", "/", true}, {"/$", "/a", false}, {"$", "/", false},
		{"*", "/", true}, {"/*", "/", true}, {"/*$", "/abc", true}, {"/**a**$", "/xa", true}, {"a", "/a", false},
		{"/a*b*c$", "/abcbc", true}, {"/a*b*c$", "/abcb", false}, {"/a*a$", "/a", false}, {"/a*a$", "/aa", true},
		{"/a$b", "/a$b", true}, {"/a$b", "/a", false}, {"/a$$", "/a$", true}, {"/a$$", "/a", false},

		// Section 2.2.3: special characters that stand for themselves.
		{"/path/file-with-a-%2A.html", "/path/file-with-a-*.html", true},
		{"/path/file-with-a-%2A.html", "/path/file-with-a-b.html", false},
		{"/path/foo-%24", "/path/foo-$", true}, {"/path/foo-%24", "/path/foo-", false},

		// Section 2.2.2: encodings.
		{"/foo/bar?baz=quz", "/foo/bar?baz=quz", true},
		{"/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar", true},
		{"/foo/bar?baz=https%3a%2f%2ffoo.bar", "/foo/bar?baz=https://foo.bar", true},
		{"/foo/bar/ツ", "/foo/bar/%E3%83%84", true}, {"/foo/bar/%e3%83%84", "/foo/bar/ツ", true}, {"/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84", true},
		{"/foo/bar/%62%61%7A", "/foo/bar/baz", true}, {"/foo/bar/baz", "/foo/bar/%62%61%7A", true},
		{"/~user", "/%7Euser", true}, {"/%7euser", "/~user", true},
		{"/a/b", "/a%2Fb", false}, {"/a%2fb", "/a/b", false}, {"/a%2fb", "/a%2Fb", true},
		{"/a?b", "/a%3Fb", false}, {"/a b", "/a%20b", true}, {"/100%", "/100%", true}, {"/%zz", "/%zz", true}, {"/a%4", "/a%4", true},
		{"/*/print", "/a?to=/print", true}, {"/*%2Fprint", "/a?to=%2Fprint", true}, // no question mark: as it is written
		{"/*?*/print", "/a?to=%2fprint", true}, {"/*?", "/a", false}, {"/*?", "/a?", true},
		{"/a#b", "/a", true}, {"/a", "/a#b", true}, {"/\xff", "/%FF", true},
	} {
		if got := !Parse([]byte("user-agent: *\ndisallow: "+tt.rule)).Allowed("a", tt.path); got != tt.want {
			t.Errorf("%s matches %s: %v, want %v", tt.rule, tt.path, got, tt.want)
		}
	}
}

func TestLongest(t *testing.T) {
	for _, tt := range []struct{ path, rules, want string }{
		{"/page", "Allow: /p|Disallow: /", "Allow: /p"},
		{"/folder/page", "Allow: /folder|Disallow: /folder", "Allow: /folder"},
		{"/folder/page", "Disallow: /folder|Allow: /folder", "Allow: /folder"},
		{"/page.htm", "Allow: /page|Disallow: /*.htm", "Disallow: /*.htm"},
		{"/page.php5", "Allow: /page|Disallow: /*.ph", "Allow: /page"},
		{"/", "Allow: /$|Disallow: /", "Allow: /$"},
		{"/page.htm", "Allow: /$|Disallow: /", "Disallow: /"},
		{"/robots.txt", "Disallow: /robots.txt", "Allow: "},
		{"/other", "Disallow: /page", "Allow: "},
	} {
		f := Parse([]byte("user-agent: *\n" + strings.ReplaceAll(tt.rules, "|", "\n")))
		if got := f.Decide("a", tt.path).String(); got != tt.want {
			t.Errorf("%s by %s: got %q, want %q", tt.path, tt.rules, got, tt.want)
		}
	}
	if got := Parse([]byte("\nuser-agent: *\r\n\rdisallow: /")).Decide("a", "/").Line; got != 4 {
		t.Errorf("got line %d, want 4", got)
	}
}

func TestCrawlDelay(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"5": 5 * time.Second, "0.5": 500 * time.Millisecond, "0": 0, "-1": 0, "": 0, "soon": 0, "nan": 0,
		"1e300": 24 * time.Hour, "inf": 24 * time.Hour, "86401": 24 * time.Hour,
	} {
		f := Parse([]byte("user-agent: a\ncrawl-delay: " + value + "\nallow: /\nuser-agent: *\ncrawl-delay: 9"))
		if got := f.CrawlDelay("a"); got != want {
			t.Errorf("%q: got %s, want %s", value, got, want)
		}
	}
	f := Parse([]byte("crawl-delay: 1\nuser-agent: a\ncrawl-delay: 2\nallow: /\nuser-agent: *\ncrawl-delay: 3\nallow: /\nuser-agent: a\ncrawl-delay: 1"))
	if a, b := f.CrawlDelay("a"), f.CrawlDelay("b"); a != 2*time.Second || b != 3*time.Second {
		t.Errorf("got %s and %s, want 2s and 3s", a, b)
	}
}

// TestLargeFile: of 10 MB the first 500 KiB count, without the line that they end in.
func TestLargeFile(t *testing.T) {
	head := "user-agent: *\ndisallow: /early\n"
	file := []byte(head + strings.Repeat("# filler\n", 10_000_000/9) + "disallow: /late\n")
	check(t, string(file), ask{"a", "/early", false}, ask{"a", "/late", true})

	cut := bytes.Repeat([]byte("#"), maxFile-len(head)-len("\ndisallow: /a"))
	check(t, head+string(cut)+"\ndisallow: /a/long/path\n", ask{"a", "/a/other", true}, ask{"a", "/early", false})
	check(t, head+string(cut)+"\ndisallow: /a", ask{"a", "/a/other", false}) // ends there
	check(t, strings.Repeat("x", 10_000_000), ask{"a", "/", true})
}

// TestAdversarial matches files that are made to be slow: the worst of each kind that fits.
func TestAdversarial(t *testing.T) {
	fill := func(line string) string { return strings.Repeat(line+"\n", maxFile/(len(line)+1)-3) }
	path := "/" + strings.Repeat("a", 8000)
	for name, file := range map[string]string{
		"stars":        "user-agent: *\n" + fill("disallow: /"+strings.Repeat("*a", 1000)+"b"),
		"anchored":     "user-agent: *\n" + fill("disallow: /"+strings.Repeat("a*", 1000)+"b$"),
		"only stars":   "user-agent: *\n" + fill("disallow: "+strings.Repeat("*", 1000)+"b"),
		"almost":       "user-agent: *\n" + fill("disallow: /*"+strings.Repeat("a", 100)+"b"),
		"one long":     "user-agent: *\ndisallow: /" + strings.Repeat("*a", maxFile/2-100) + "b",
		"many rules":   "user-agent: *\n" + fill("allow: /*b"),
		"many agents":  fill("user-agent: a\nuser-agent: b\nuser-agent: *\nallow: /b"),
		"agents first": strings.Repeat("user-agent: a\nuser-agent: b\n", 9000) + strings.Repeat("allow:/b\n", 28000),
	} {
		start := time.Now()
		f := Parse([]byte(file))
		parsed := time.Since(start)
		if !f.Allowed("a", path) {
			t.Errorf("%s: disallowed", name)
		}
		t.Logf("%-12s %d bytes, %d groups: parsed in %s, one path in %s", name, len(file), len(f.groups), parsed, time.Since(start)-parsed)
	}
}

// slow is a matcher that is plainly right: a table of which prefixes match.
func slow(pattern, path string) bool {
	pattern, anchored := strings.CutSuffix(pattern, "$")
	if !anchored {
		pattern += "*"
	}
	can := make([]bool, len(path)+1)
	can[0] = true
	for _, c := range []byte(pattern) {
		next := make([]bool, len(path)+1)
		for i := range can {
			if c == '*' {
				next[i] = can[i] || i > 0 && next[i-1]
			} else {
				next[i] = i > 0 && can[i-1] && path[i-1] == c
			}
		}
		can = next
	}
	return can[len(path)]
}

func TestMatchRandom(t *testing.T) {
	random := effort.Rand(t)
	text := func(letters string, n int) string {
		b := make([]byte, random.IntN(n))
		for i := range b {
			b[i] = letters[random.IntN(len(letters))]
		}
		return string(b)
	}
	matched, total := 0, 50_000
	for range total {
		pattern, path := text("ab**", 8), text("ab", 10)
		if random.IntN(2) == 0 {
			pattern += "$"
		}
		got, want := match(pattern, path), slow(pattern, path)
		if got != want {
			t.Fatalf("%s matches %s: %v, want %v", pattern, path, got, want)
		}
		if got {
			matched++
		}
	}
	t.Logf("%d patterns and paths, %d matched", total, matched)
}

// FuzzParse: no file is an error, and the rule that decides is the longest that matches.
func FuzzParse(f *testing.F) {
	f.Add([]byte("user-agent: *\nallow: /a*b$\ndisallow: /%41?x=%2f\ncrawl-delay: 1"), "bot", "/a/b?c")
	f.Add([]byte("\ufeffuser-agent:a\r\rdisallow:/\n"), "a/1", "")
	f.Fuzz(func(t *testing.T, file []byte, agent, path string) {
		parsed := Parse(file)
		best := parsed.Decide(agent, path)
		if d := parsed.CrawlDelay(agent); d < 0 || d > maxDelay {
			t.Errorf("a delay of %s", d)
		}
		plain, query := normalPath(path)
		if again, _ := normalPath(plain); again != plain {
			t.Errorf("%q is normally %q, and that %q", path, plain, again)
		}
		for _, g := range parsed.of(agent) {
			for _, r := range parsed.groups[g].rules {
				at := map[bool]string{false: plain, true: query}[r.query]
				wins := len(r.pattern) > len(best.pattern) || len(r.pattern) == len(best.pattern) && r.Allow && !best.Allow
				if wins && slow(r.pattern, at) && plain != "/robots.txt" {
					t.Errorf("%s decides about %q, not %s", best, path, r)
				}
			}
		}
		if best.Line > 0 && best.Line > 1+bytes.Count(file, []byte("\n"))+bytes.Count(file, []byte("\r")) {
			t.Errorf("line %d", best.Line)
		}
	})
}

func ExampleFile_Allowed() {
	f := Parse([]byte("User-agent: *\nDisallow: /private\nAllow: /private/map\n"))
	fmt.Println(f.Allowed("docs-crawler/1.0", "/private/page"), f.Allowed("docs-crawler/1.0", "/private/map"))
	// Output: false true
}
