package work

import (
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/work"
)

// What is read from a body is what a reader sees, in UTF-8, whatever the server sent.
func TestRead(t *testing.T) {
	for _, c := range []struct{ name, contentType, body, title, text, json string }{
		{"a page", "text/html; charset=utf-8", "<title> A\n&amp; B </title><p>one<p>two&nbsp;three", "A & B", "one two three", ""},
		{"scripts and styles", "text/html", "a<script>if (1<2) {}</script>b<style>p {}</style><template>x</template> c", "", "a b c", ""},
		{"a title in a picture", "text/html", "<title>Page</title><svg><title>Dot</title></svg> text", "Page", "text", ""},
		{"Latin-1", "text/html; charset=iso-8859-1", "<title>Caf\xe9</title>", "Café", "", ""},
		{"no UTF-8", "text/html; charset=utf-8", "a\xffb", "", "a\ufffdb", ""},
		{"without an end", "text/html", "<title>half <p", "half <p", "", ""},
		{"JSON", "application/json", `{"a": 1}`, "", "", `{"a": 1}`},
		{"JSON of a kind", "application/ld+json; charset=utf-8", `[1]`, "", "", `[1]`},
		{"no JSON", "application/json", `{"a"`, "", "", ""},
		{"text", "text/plain", "a  b", "", "a  b", ""},
		{"a picture", "image/png", "\x89PNG", "", "", ""},
		{"nothing", "", "", "", "", ""},
	} {
		p := read(&work.Record{Item: &onto.WorkItem{}, ContentType: c.contentType, Body: []byte(c.body)})
		json := string(p.json)
		if p.title != c.title || p.text != c.text || json != c.json {
			t.Errorf("%s: got title %q, text %q, JSON %q; want %q, %q, %q", c.name, p.title, p.text, json, c.title, c.text, c.json)
		}
	}
}

func TestLimits(t *testing.T) {
	f := runFlags{rates: []string{"docs=5/s", "a=b=30/m", "2"}, concurrent: []string{"docs=2", "8"}}
	got, err := f.limits()
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]work.Limit{"docs": {Concurrent: 2, PerSecond: 5}, "a=b": {PerSecond: 0.5}, "": {Concurrent: 8, PerSecond: 2}} {
		if got[source] != want {
			t.Errorf("%q: got %+v, want %+v", source, got[source], want)
		}
	}
	for _, wrong := range []string{"", "docs", "docs=", "docs=x/s", "docs=-1/s", "docs=0", "docs=Inf", "docs=NaN/s", "docs=1/d"} {
		f := runFlags{rates: []string{wrong}}
		if _, err := f.limits(); onto.CodeOf(err) != onto.Invalid {
			t.Errorf("--rate %q: %v", wrong, err)
		}
	}
}
