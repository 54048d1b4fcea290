package dedupe

import (
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"pgregory.net/rapid"

	"github.com/ontologia/onto/internal/effort"
)

func TestKey(t *testing.T) {
	for _, c := range []struct {
		resource Resource
		want     string
	}{
		// The examples of the original program.
		{Resource{"mediawiki", "wikipedia", "page", "Star_Wars", ""}, "mediawiki:wikipedia:page:Star_Wars"},
		{Resource{"mediawiki", "wookieepedia", "page", "Luke_Skywalker", ""}, "mediawiki:wookieepedia:page:Luke_Skywalker"},
		{Resource{"openalex", "works", "work", "W2741809807", ""}, "openalex:works:work:W2741809807"},
		// Ids stay as they are.
		{Resource{"http", "docs", "page", "https://h/a%20b?c=d:e", ""}, "http:docs:page:https://h/a%20b?c=d:e"},
		{Resource{"http", "docs", "page", "", ""}, "http:docs:page:"},
		// The first three parts do not.
		{Resource{"http", "a:b", "c", "d", ""}, "http:a%3Ab:c:d"},
		{Resource{"http", "a", "b:c", "d", ""}, "http:a:b%3Ac:d"},
		{Resource{"a%3Ab", "100%", "%", "d", ""}, "a%253Ab:100%25:%25:d"},
		{Resource{"", "", "", ":::", ""}, "::::::"},
		// Runs.
		{Resource{"http", "docs", "page", "/", "r1"}, "http:docs:page:/\x1frun=r1"},
		{Resource{"http", "docs", "page", "/run=r1", ""}, "http:docs:page:/run=r1"},
		{Resource{"http", "docs", "page", "日本", "lauf:ü%"}, "http:docs:page:日本\x1frun=lauf:ü%"},
	} {
		if got, err := Key(c.resource); err != nil || got != c.want {
			t.Errorf("Key(%+v) = %q, %v, want %q", c.resource, got, err, c.want)
		}
	}
}

// The key of the original program is its parts, joined.
func TestOriginal(t *testing.T) {
	if got, want := Original(Resource{"http", "en:wiki", "page", "a:b%", "run"}), "http:en:wiki:page:a:b%"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if OfRun("http:docs:page:run=1") || !OfRun("http:docs:page:/\x1frun=1") {
		t.Error("only a key with a run is for one")
	}
}

// Pairs of resources that have one key when their parts are only joined.
func TestCollisions(t *testing.T) {
	for _, pair := range [][2]Resource{
		{{"s", "a:b", "c", "d", ""}, {"s", "a", "b:c", "d", ""}},
		{{"a:b", "c", "d", "e", ""}, {"a", "b:c", "d", "e", ""}},
		{{"s", "a", "b:c", "d", ""}, {"s", "a", "b", "c:d", ""}},
		{{"", ":", "", "", ""}, {":", "", "", "", ""}},
	} {
		if plain(pair[0]) != plain(pair[1]) {
			t.Errorf("%+v and %+v differ even if joined", pair[0], pair[1])
		}
		a, errA := Key(pair[0])
		b, errB := Key(pair[1])
		if errA != nil || errB != nil || a == b {
			t.Errorf("%+v and %+v have one key, %q (%v, %v)", pair[0], pair[1], a, errA, errB)
		}
	}
}

func TestRefusedParts(t *testing.T) {
	good := Resource{"s", "n", "t", "id", "run"}
	for _, text := range []string{"\x1f", "a\x1frun=r", "a\x00", "a\nb", "\x7f", "\u0085", "\xff", strings.Repeat("a", 1000) + "\t"} {
		for name, r := range map[string]Resource{
			"source system": {text, good.Source, good.Type, good.ID, good.Run},
			"source name":   {good.System, text, good.Type, good.ID, good.Run},
			"resource type": {good.System, good.Source, text, good.ID, good.Run},
			"resource id":   {good.System, good.Source, good.Type, text, good.Run},
			"run id":        {good.System, good.Source, good.Type, good.ID, text},
		} {
			key, err := Key(r)
			if onto.CodeOf(err) != onto.Invalid || key != "" || !strings.Contains(err.Error(), "the "+name+" ") || onto.HintOf(err).String() == "" || len(err.Error()) > 600 {
				t.Errorf("%s %q: %q, %v", name, text, key, err)
			}
		}
	}
}

func plain(r Resource) string { return r.System + ":" + r.Source + ":" + r.Type + ":" + r.ID }

// parse is the inverse of Key. That there is one means that no two resources have one key.
func parse(key string) Resource {
	unescape := strings.NewReplacer("%3A", ":", "%25", "%").Replace
	key, run, _ := strings.Cut(key, runMark)
	parts := strings.SplitN(key, ":", 4)
	return Resource{unescape(parts[0]), unescape(parts[1]), unescape(parts[2]), parts[3], run}
}

func TestKeysHaveAnInverse(t *testing.T) {
	piece := rapid.SampledFrom([]string{":", "%", "%3A", "%25", "3A", "25", "a", "run=", "/", "é", " ", ""})
	part := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 5).Draw(t, "pieces"), "")
	})
	joined := 0
	effort.Check(t, 1000, func(t *rapid.T) {
		for range 20 {
			r := Resource{part.Draw(t, "system"), part.Draw(t, "source"), part.Draw(t, "type"), part.Draw(t, "id"), part.Draw(t, "run")}
			key, err := Key(r)
			if err != nil {
				t.Fatal(err)
			}
			if back := parse(key); back != r {
				t.Fatalf("%q stands for %+v, and was made of %+v", key, back, r)
			}
			if !strings.ContainsAny(r.System+r.Source+r.Type, ":%") && r.Run == "" {
				if joined++; key != plain(r) {
					t.Fatalf("%q is not the original program's %q", key, plain(r))
				}
			}
		}
	})
	if joined == 0 {
		t.Error("no key was compared with that of the original program")
	}
}

func FuzzKey(f *testing.F) {
	f.Add("a", "b:c", "%", "id:x%3A", "run")
	f.Add("", "", "", "", "")
	f.Add("a", "b", "c", "d\x1frun=e", "")
	f.Fuzz(func(t *testing.T, system, source, typ, id, run string) {
		r := Resource{system, source, typ, id, run}
		if key, err := Key(r); err == nil && parse(key) != r {
			t.Fatalf("%q stands for %+v, and was made of %+v", key, parse(key), r)
		}
	})
}
