package bucket_test

import (
	"strings"
	"testing"

	"github.com/ontologia/onto/backend/lake/bucket"
)

func TestCheckKey(t *testing.T) {
	for _, key := range []string{"a", "head.json", "a/b/c", "A-Z_0.9", "...", "a/..b", ".a", "%", "a/%2E%2E/b", "-", "_", strings.Repeat("k", 1024)} {
		if err := bucket.CheckKey(key); err != nil {
			t.Errorf("the key %q: got %v, want no error", key, err)
		}
	}
	for _, key := range []string{"", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", "a b", "a\\b", "a\x00b", "ä", "~lock", "a:b", "*", strings.Repeat("k", 1025)} {
		if bucket.CheckKey(key) == nil {
			t.Errorf("the key %q: got no error", key)
		}
	}
}

func TestCheckPrefix(t *testing.T) {
	for _, prefix := range []string{"", "a", "a/", "a/b", "a/.", "a/..", ".", "%"} {
		if err := bucket.CheckPrefix(prefix); err != nil {
			t.Errorf("the prefix %q: got %v, want no error", prefix, err)
		}
	}
	for _, prefix := range []string{"/", "//", "a//", "./", "../a", "a/../b", "a b", "~", strings.Repeat("k", 1025)} {
		if bucket.CheckPrefix(prefix) == nil {
			t.Errorf("the prefix %q: got no error", prefix)
		}
	}
}

func TestEscape(t *testing.T) {
	for name, want := range map[string]string{
		"": "%", ".": "%2E", "..": "%2E%2E", "...": "...", "a.b-c_D9": "a.b-c_D9", "a/b": "a%2Fb", "%": "%25", "%2E": "%252E",
		"ä": "%C3%A4", "\x00": "%00", "a b": "a%20b", "../x": "..%2Fx", "\xff": "%FF",
	} {
		if got := bucket.Escape(name); got != want {
			t.Errorf("the name %q is escaped to %q, want %q", name, got, want)
		}
	}
	for _, segment := range []string{"", ".", "..", "%2", "a%", "%zz", "%c3", "%61", "a/b", "%2E%2E%2E", "ä", "%%", "%25%"} {
		if name, err := bucket.Unescape(segment); err == nil {
			t.Errorf("the segment %q is taken for the name %q, want an error", segment, name)
		}
	}
}

// Every name escapes to one valid segment, and back.
func FuzzEscape(f *testing.F) {
	for _, name := range []string{"", ".", "..", "%", "a/b", "ä", "\x00\xff", "%2E", "~lock"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, text string) {
		segment := bucket.Escape(text)
		if name, err := bucket.Unescape(segment); err != nil || name != text {
			t.Errorf("%q became %q and then %q, error %v", text, segment, name, err)
		}
		if err := bucket.CheckKey(segment); err != nil && len(segment) <= bucket.MaxKey || strings.Contains(segment, "/") {
			t.Errorf("%q became %q, which is no segment of a key: %v", text, segment, err)
		}
		if name, err := bucket.Unescape(text); err == nil && bucket.Escape(name) != text {
			t.Errorf("the segment %q is taken for %q, which is escaped to %q", text, name, bucket.Escape(name))
		}
	})
}

func TestRangeCut(t *testing.T) {
	const most = 1<<63 - 1
	for _, c := range []struct {
		r        bucket.Range
		from, to int64
	}{
		{bucket.Range{}, 0, 10}, {bucket.Range{Length: 3}, 0, 3}, {bucket.Range{Offset: 4}, 4, 10}, {bucket.Range{Offset: 4, Length: 3}, 4, 7},
		{bucket.Range{Offset: 4, Length: 6}, 4, 10}, {bucket.Range{Offset: 4, Length: 7}, 4, 10}, {bucket.Range{Offset: 10, Length: 1}, 10, 10},
		{bucket.Range{Offset: 99}, 10, 10}, {bucket.Range{Offset: 1, Length: most}, 1, 10}, {bucket.Range{Offset: most, Length: most}, 10, 10},
	} {
		if from, to, err := c.r.Cut(10); from != c.from || to != c.to || err != nil {
			t.Errorf("%+v of 10 bytes: got %d to %d, error %v, want %d to %d", c.r, from, to, err, c.from, c.to)
		}
	}
	for _, r := range []bucket.Range{{Offset: -1}, {Length: -1}, {Offset: -1, Length: 3}} {
		if _, _, err := r.Cut(10); err == nil {
			t.Errorf("%+v: got no error", r)
		}
	}
}
