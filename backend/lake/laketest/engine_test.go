package laketest

import (
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

const engineKey = "meta/engine.json"

// A lake tells other programs that it is not theirs from its creation on. An older lake
// does so from the next commit of a handle on, which is not waited for.
func TestEngine(t *testing.T) {
	b := memory.New(nil)
	want := func(when string) {
		t.Helper()
		if got := readDocument(t, b, engineKey)["engine_version"]; got != "onto-go" {
			t.Errorf("%s: got %v", when, got)
		}
	}
	l := openThings(t, b, lake.Options{})
	want("a new lake")
	must(t, b.Delete(t.Context(), engineKey))
	wantNoFindings(t, l)
	must(t, second(l.Append(t.Context(), putThings("a"))))
	must(t, l.Close())
	if _, err := b.Get(t.Context(), engineKey, bucket.Range{}, ""); err == nil {
		t.Error("the handle that made the lake wrote it twice")
	}
	l = openThings(t, b, lake.Options{})
	must(t, second(l.Append(t.Context(), putThings("b"))))
	must(t, l.Close())
	want("an older lake")
}

// Where another program keeps its data no lake is made, and in a lake that says to be of
// another program a check finds it.
func TestEngineOfOthers(t *testing.T) {
	for _, body := range []string{`{"engine_version": "v2"}`, "", "{", strings.Repeat(" ", 2<<20)} {
		b := memory.New(nil)
		_, err := b.Create(t.Context(), engineKey, []byte(body))
		must(t, err)
		if _, err = lake.Open(t.Context(), kept{b}, &lake.Options{}); onto.CodeOf(err) != onto.Unsupported {
			t.Errorf("%.40q: got %v", body, err)
		}
		b = memory.New(nil)
		l := openThings(t, b, lake.Options{})
		must(t, b.Delete(t.Context(), engineKey))
		_, err = b.Create(t.Context(), engineKey, []byte(body))
		must(t, err)
		found := ""
		for f, err := range l.Check(t.Context()) {
			must(t, err)
			found += f.Code + ": " + f.Message
		}
		if !strings.HasPrefix(found, "object_damaged: "+engineKey) {
			t.Errorf("%.40q: got the finding %q", body, found)
		}
	}
}
