package buckettest

import (
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto/backend/lake/bucket"
)

// oddKeys are keys whose order differs from that of their segments: three of
// the characters come before the slash.
func oddKeys() []string {
	return []string{
		"a-b", "a.b", "a/b", "a/b-c/d", "a/b.c", "a0", "aa", "a%2Fb", "A/b", "Z", "_", "-", "...", ".hidden", "..a/x",
		"b/-/1", "b/%2E/1", "b/1", "b/10", "b/2", "b/Z", "b/_", "b/c/d/e/f/g", "b/c.d", "b/c-d", "b/c0",
		"commits/00000000000000000001-x/manifest.json", "commits/00000000000000000010-x/manifest.json", "commits/00000000000000000002-x/manifest.json",
		"head.json", "%", "%00", "0", "9/9",
	}
}

func (t *tester) keysOf(list []bucket.Entry) []string {
	keys := make([]string, len(list))
	for i, e := range list {
		keys[i] = e.Key
	}
	return keys
}

// wantKeys lists and compares the keys with those expected.
func (t *tester) wantKeys(prefix, after string, limit int, want []string) {
	t.Helper()
	list, err := t.list(prefix, after, limit)
	if err != nil {
		t.Errorf("list %q after %q, at most %d: %v", prefix, after, limit, err)
	}
	if got := t.keysOf(list); !slices.Equal(got, want) {
		t.Errorf("list %q after %q, at most %d: got %q, want %q", prefix, after, limit, got, want)
	}
}

// chosen is what a listing should return of sorted keys.
func chosen(keys []string, prefix, after string, limit int) []string {
	var want []string
	for _, key := range keys {
		if strings.HasPrefix(key, prefix) && (after == "" || key > after) && len(want) < limit {
			want = append(want, key)
		}
	}
	return want
}

// createAll creates objects and returns their keys in order.
func (t *tester) createAll(keys []string) []string {
	t.Helper()
	for i, key := range keys {
		t.mustCreate(key, strings.Repeat("x", i))
	}
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	return sorted
}

func listOrder(t *tester) {
	t.wantKeys("", "", 10, nil)
	before := time.Now()
	given := oddKeys()
	keys := t.createAll(given)
	t.wantKeys("", "", 1000, keys)
	list, err := t.list("", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if want := slices.Index(given, e.Key); e.Size != int64(want) {
			t.Errorf("list: %s has the size %d, want %d", e.Key, e.Size, want)
		}
		if off := e.Modified.Sub(before); off < -time.Hour || off > time.Hour { // another machine's clock
			t.Errorf("list: %s was modified at %v, want about %v", e.Key, e.Modified, before)
		}
	}
	for i, key := range keys {
		if i%2 == 0 {
			if err := t.delete(key); err != nil {
				t.Fatal(err)
			}
		}
	}
	var left []string
	for i, key := range keys {
		if i%2 == 1 {
			left = append(left, key)
		}
	}
	t.wantKeys("", "", 1000, left)
}

func listPrefix(t *tester) {
	keys := t.createAll(oddKeys())
	for _, prefix := range []string{"a", "a/", "a/b", "a/b-", "a/b/", "a-", "b", "b/", "b/c", "b/c/", "b/c/d/e/", "b/1", "commits/", "commits/00000000000000000001",
		"head.json", "head.json/", "missing", "missing/", "%", ".", "..", "...", "A", "Z/"} {
		t.wantKeys(prefix, "", 1000, chosen(keys, prefix, "", 1000))
	}
}

func listPages(t *tester) {
	keys := t.createAll(oddKeys())
	for _, prefix := range []string{"", "a", "b/", "b/c", "commits/"} {
		for _, limit := range []int{1, 2, 3, 7, 1000} {
			var got []string
			after := ""
			for range len(keys) + 1 {
				list, err := t.list(prefix, after, limit)
				if err != nil {
					t.Fatal(err)
				}
				if len(list) == 0 {
					break
				}
				got = append(got, t.keysOf(list)...)
				after = got[len(got)-1]
			}
			if want := chosen(keys, prefix, "", 1000); !slices.Equal(got, want) {
				t.Errorf("list %q by %d: got %q, want %q", prefix, limit, got, want)
			}
		}
	}
	for _, after := range []string{"a", "a/", "a/b-c", "a/b-c/z", "a0", "b/", "b/c", "b/c/", "b/c/d/e/f/g/h", "b/zzz", "c", "commits/00000000000000000001-x/z", "zzz", "!", "a~", "b/~"} {
		for _, prefix := range []string{"", "a", "b/", "b/c"} {
			t.wantKeys(prefix, after, 3, chosen(keys, prefix, after, 3))
		}
	}
}

func listBad(t *tester) {
	t.mustCreate("a", "one")
	for _, limit := range []int{0, -1} {
		if list, err := t.b.List(t.Context(), t.folder, "", limit); err == nil {
			t.Errorf("list at most %d: got %v, want an error", limit, list)
		}
	}
	for _, prefix := range []string{"/", "../", t.folder + "/", t.folder + "../", "a b"} {
		if list, err := t.b.List(t.Context(), prefix, "", 10); err == nil {
			t.Errorf("list the prefix %q: got %v, want an error", prefix, list)
		}
	}
}
