// Package dedupe builds the key by which a queue knows that it has a resource already.
//
// The key of the original program is system:source:type:id, which reads well and is
// ambiguous: source "a:b" with type "c" has the key of source "a" with type "b:c". So a
// colon in system, source or type is written as %3A, and a percent sign as %25; the id is
// last, and stays as it is. Keys of parts without the two characters are those of the
// original program.
//
// A key with a run is for that run only: a suffix follows the id, U+001F, "run=" and the
// run. No id can imitate it, since parts with control characters are refused.
//
// Two different resources, or one in two runs, never have one key. Items of a
// queue that the original program wrote keep their keys when they are imported; a resource
// whose system, source or type has a colon or a percent sign has another key there, see
// [Original].
package dedupe

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ontologia/onto"
)

// Resource is what a key stands for.
type Resource struct {
	System, Source, Type, ID string
	Run                      string // "" for every run: the resource is in the queue once, forever
}

// runMark separates the id from the run. Parts have no control characters.
const runMark = "\x1frun="

// Key returns the key of a resource. It refuses parts that have control characters, or are
// not UTF-8.
func Key(r Resource) (string, error) {
	for _, p := range []struct{ name, text string }{
		{"source system", r.System}, {"source name", r.Source}, {"resource type", r.Type}, {"resource id", r.ID}, {"run id", r.Run},
	} {
		if err := check(p.name, p.text); err != nil {
			return "", err
		}
	}
	key := escape(r.System) + ":" + escape(r.Source) + ":" + escape(r.Type) + ":" + r.ID
	if r.Run != "" {
		key += runMark + r.Run
	}
	return key, nil
}

// Original is the key that the original program gives to a resource. It knows no runs.
func Original(r Resource) string { return r.System + ":" + r.Source + ":" + r.Type + ":" + r.ID }

// OfRun reports whether a key is for one run only.
func OfRun(key string) bool { return strings.Contains(key, runMark) }

func escape(part string) string {
	if !strings.ContainsAny(part, ":%") {
		return part
	}
	return strings.NewReplacer("%", "%25", ":", "%3A").Replace(part)
}

func check(name, text string) error {
	reason := ""
	switch {
	case !utf8.ValidString(text):
		reason = "is not UTF-8"
	case strings.ContainsFunc(text, unicode.IsControl):
		reason = "has a control character"
	default:
		return nil
	}
	const most = 100
	shown, more := text, ""
	if len(shown) > most {
		shown, more = shown[:most], "…"
	}
	return onto.Errorf(onto.Invalid, "the %s %s%s %s", name, strconv.QuoteToASCII(shown), more, reason).
		WithHint("remove it, or write it in an escaped form, such as %%0A in a URL")
}
