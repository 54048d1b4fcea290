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
