package buckettest

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"

	"github.com/ontologia/onto/backend/lake/bucket"
)

func create(t *tester) {
	t.wantNone("a")
	t.wantNone("folder/a")
	tag := t.mustCreate("a", "one")
	t.wantObject("a", "one", tag)
	t.wantNone("b")
	t.wantNone("a/b")
	tag = t.mustCreate("folder/deep/a.b-c_D", "two")
	t.wantObject("folder/deep/a.b-c_D", "two", tag)
	t.wantNone("folder")
	t.wantNone("folder/deep")
}

func createTwice(t *tester) {
	tag := t.mustCreate("a", "one")
	for _, data := range []string{"two", "one", ""} {
		_, err := t.create("a", []byte(data))
		t.wantError("create what exists", err, bucket.ErrExists)
	}
	t.wantObject("a", "one", tag)
}

func swap(t *tester) {
	first := t.mustCreate("a", "one")
	second := t.mustSwap("a", "two", first)
	if first == second {
		t.Errorf("other contents have the same tag %q", first)
	}
	t.wantObject("a", "two", second)
	third := t.mustSwap("a", "longer than before", second)
	t.wantObject("a", "longer than before", third)
	fourth := t.mustSwap("a", "s", third)
	t.wantObject("a", "s", fourth)
	same := t.mustSwap("a", "s", fourth) // of the same bytes
	t.wantObject("a", "s", same)
}

func swapStale(t *tester) {
	first := t.mustCreate("a", "one")
	second := t.mustSwap("a", "two", first)
	for _, data := range []string{"three", "one", "two"} {
		_, err := t.swap("a", []byte(data), first)
		t.wantError("swap with a stale tag", err, bucket.ErrChanged)
		t.wantObject("a", "two", second)
	}
	third := t.mustSwap("a", "three", second)
	for _, stale := range []bucket.Tag{first, second} {
		_, err := t.swap("a", []byte("four"), stale)
		t.wantError("swap with a stale tag", err, bucket.ErrChanged)
	}
	t.wantObject("a", "three", third)
}

func swapWithoutTag(t *tester) {
	tag := t.mustCreate("a", "one")
	if _, err := t.swap("a", []byte("two"), ""); err == nil {
		t.Error("swap with an empty tag: got no error")
	}
	t.wantObject("a", "one", tag)
	if _, err := t.swap("b", []byte("two"), ""); err == nil {
		t.Error("swap of a missing object with an empty tag: got no error")
	}
	t.wantNone("b")
}

func swapMissing(t *tester) {
	tag := t.mustCreate("a", "one")
	_, err := t.swap("b", []byte("two"), tag)
	t.wantError("swap what never was", err, bucket.ErrNotFound)
	t.wantNone("b")
	if err := t.delete("a"); err != nil {
		t.Fatal(err)
	}
	_, err = t.swap("a", []byte("two"), tag)
	t.wantError("swap what was deleted", err, bucket.ErrNotFound)
	t.wantNone("a")
}

func tagOfAnother(t *tester) {
	a, b := t.mustCreate("a", "one"), t.mustCreate("b", "two")
	if a == b {
		t.Errorf("two objects of other contents have the same tag %q", a)
	}
	_, err := t.swap("a", []byte("three"), b)
	t.wantError("swap with the tag of another object", err, bucket.ErrChanged)
	t.wantObject("a", "one", a)
}

func parts(t *tester) {
	const text = "0123456789"
	tag := t.mustCreate("a", text)
	for _, c := range []struct {
		r    bucket.Range
		want string
	}{
		{bucket.Range{}, text}, {bucket.Range{Length: 1}, "0"}, {bucket.Range{Length: 10}, text}, {bucket.Range{Length: 11}, text},
		{bucket.Range{Offset: 3, Length: 4}, "3456"}, {bucket.Range{Offset: 3}, "3456789"}, {bucket.Range{Offset: 9, Length: 1}, "9"},
		{bucket.Range{Offset: 9, Length: 5}, "9"}, {bucket.Range{Offset: 10, Length: 1}, ""}, {bucket.Range{Offset: 10}, ""},
		{bucket.Range{Offset: 1000, Length: 1000}, ""}, {bucket.Range{Offset: 1000}, ""},
	} {
		o, err := t.get("a", c.r, "")
		if err != nil || string(o.Data) != c.want || o.Size != 10 || o.Tag != tag {
			t.Errorf("get %+v: got %q, size %d, tag %q, error %v, want %q, size 10, tag %q", c.r, o.Data, o.Size, o.Tag, err, c.want, tag)
		}
	}
	for _, r := range []bucket.Range{{Offset: -1}, {Length: -1}, {Offset: 3, Length: -2}} {
		if o, err := t.get("a", r, ""); err == nil {
			t.Errorf("get %+v: got %q, want an error", r, o.Data)
		}
	}
	if o, err := t.get("a", bucket.Range{Offset: 3, Length: 4, Untagged: true}, ""); err != nil || string(o.Data) != "3456" || o.Size != int64(len(text)) {
		t.Errorf("a part without its tag: got %q of %d, %v", o.Data, o.Size, err)
	}
	_, err := t.get("b", bucket.Range{Offset: 3, Length: 4}, "")
	t.wantError("get a part of what is missing", err, bucket.ErrNotFound)
}

// tooLarge reads with a limit on the size of the whole object.
func tooLarge(t *tester) {
	const text = "0123456789"
	tag := t.mustCreate("a", text)
	for _, r := range []bucket.Range{{Max: 10}, {Max: 11}, {Max: 1 << 40}, {Offset: 2, Length: 3, Max: 10}} {
		from, to, _ := r.Cut(10)
		if o, err := t.get("a", r, ""); err != nil || string(o.Data) != text[from:to] || o.Size != 10 || o.Tag != tag {
			t.Errorf("get %+v: got %q, size %d, tag %q, error %v, want %q", r, o.Data, o.Size, o.Tag, err, text[from:to])
		}
	}
	for _, r := range []bucket.Range{{Max: 9}, {Max: 1}, {Offset: 2, Length: 3, Max: 9}} {
		o, err := t.get("a", r, "")
		t.wantError("get what is too large", err, bucket.ErrTooLarge)
		if err != nil && !strings.Contains(err.Error(), "10 bytes") || o.Data != nil {
			t.Errorf("get %+v: got %q, error %v, want no data and an error that tells the size", r, o.Data, err)
		}
	}
	if _, err := t.get("a", bucket.Range{Max: -1}, ""); err == nil {
		t.Error("get at most -1 bytes: got no error")
	}
	_, err := t.get("b", bucket.Range{Max: 1}, "")
	t.wantError("get what is missing, with a limit", err, bucket.ErrNotFound)
	t.wantObject("a", text, tag)
}

func notModified(t *tester) {
	first := t.mustCreate("a", "one")
	for _, r := range []bucket.Range{{}, {Offset: 1, Length: 1}} {
		_, err := t.get("a", r, first)
		t.wantError("get with the present tag", err, bucket.ErrNotModified)
	}
	second := t.mustSwap("a", "two", first)
	if o, err := t.get("a", bucket.Range{}, first); err != nil || string(o.Data) != "two" || o.Tag != second {
		t.Errorf("get with an old tag: got %q, tag %q, error %v, want two, tag %q", o.Data, o.Tag, err, second)
	}
	if o, err := t.get("a", bucket.Range{Offset: 1, Length: 1}, first); err != nil || string(o.Data) != "w" || o.Tag != second {
		t.Errorf("get a part with an old tag: got %q, tag %q, error %v, want w, tag %q", o.Data, o.Tag, err, second)
	}
	_, err := t.get("a", bucket.Range{}, second)
	t.wantError("get with the present tag", err, bucket.ErrNotModified)
	_, err = t.get("b", bucket.Range{}, second)
	t.wantError("get what is missing with a tag", err, bucket.ErrNotFound)
}

func remove(t *tester) {
	if err := t.delete("never/was"); err != nil {
		t.Errorf("delete what is missing: %v", err)
	}
	t.mustCreate("a/b", "one")
	other := t.mustCreate("a/c", "two")
	if err := t.delete("a"); err != nil {
		t.Errorf("delete a folder, which is no object: %v", err)
	}
	for range 2 {
		if err := t.delete("a/b"); err != nil {
			t.Errorf("delete: %v", err)
		}
		t.wantNone("a/b")
	}
	t.wantObject("a/c", "two", other)
}

func createAgain(t *tester) {
	for _, data := range []string{"one", "one", "two", ""} {
		tag := t.mustCreate("a/b", data)
		t.wantObject("a/b", data, tag)
		if err := t.delete("a/b"); err != nil {
			t.Fatal(err)
		}
		t.wantNone("a/b")
	}
}

func emptyObjects(t *tester) {
	tag := t.mustCreate("a", "")
	t.wantObject("a", "", tag)
	for _, r := range []bucket.Range{{Length: 1}, {Offset: 1}, {Offset: 1, Length: 1}} {
		if o, err := t.get("a", r, ""); err != nil || len(o.Data) != 0 || o.Size != 0 || o.Tag != tag {
			t.Errorf("get %+v of nothing: got %q, size %d, tag %q, error %v, want nothing, tag %q", r, o.Data, o.Size, o.Tag, err, tag)
		}
	}
	_, err := t.create("a", []byte("one"))
	t.wantError("create over an empty object", err, bucket.ErrExists)
	tag = t.mustSwap("a", "one", tag)
	t.wantObject("a", "one", tag)
	tag = t.mustSwap("a", "", tag)
	t.wantObject("a", "", tag)
	if tag, err = t.create("b", nil); err != nil {
		t.Fatal(err)
	}
	t.wantObject("b", "", tag)
}

// randomBytes are the same in every run.
func randomBytes(seed byte, n int) []byte {
	data := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(data)
	return data
}

func largeObjects(t *tester) {
	const size = 8 << 20
	one, two := randomBytes(1, size), randomBytes(2, size+1)
	tag := t.mustCreate("a", string(one))
	t.wantObject("a", string(one), tag)
	for _, r := range []bucket.Range{{Offset: size - 10}, {Offset: size / 2, Length: 1 << 20}, {Offset: 1, Length: 4}, {Offset: size - 1, Length: 2}} {
		from, to, err := r.Cut(size)
		if err != nil {
			t.Fatal(err)
		}
		if o, err := t.get("a", r, ""); err != nil || !bytes.Equal(o.Data, one[from:to]) || o.Size != size || o.Tag != tag {
			t.Errorf("get %+v: got %s of size %d, tag %q, error %v", r, brief(o.Data), o.Size, o.Tag, err)
		}
	}
	tag = t.mustSwap("a", string(two), tag)
	t.wantObject("a", string(two), tag)
}

func allBytes(t *tester) {
	var data []byte
	for c := range 256 {
		data = append(data, byte(c))
	}
	for key, text := range map[string]string{"bytes": string(data), "lines": "a\r\nb\n\r\n", "zeros": strings.Repeat("\x00", 100)} {
		tag := t.mustCreate(key, text)
		t.wantObject(key, text, tag)
		t.wantObject(key, text, t.mustSwap(key, text, tag))
	}
}

func ownData(t *tester) {
	given := []byte("one")
	tag, err := t.create("a", given)
	if err != nil {
		t.Fatal(err)
	}
	copy(given, "xxx")
	t.wantObject("a", "one", tag)
	o, err := t.get("a", bucket.Range{}, "")
	if err != nil {
		t.Fatal(err)
	}
	copy(o.Data, "yyy")
	t.wantObject("a", "one", tag)
	given = []byte("two")
	if tag, err = t.swap("a", given, tag); err != nil {
		t.Fatal(err)
	}
	copy(given, "zzz")
	t.wantObject("a", "two", tag)
}

// syncObjects makes durable what is there, which changes nothing.
func syncObjects(t *tester) {
	tag := t.mustCreate("deep/down/a", "one")
	for range 2 {
		if err := t.b.Sync(t.Context(), t.folder+"deep/down/a"); err != nil {
			t.Errorf("sync: %v", err)
		}
		t.wantObject("deep/down/a", "one", tag)
		tag = t.mustSwap("deep/down/a", "two", tag)
		tag = t.mustSwap("deep/down/a", "one", tag)
	}
}

func badKeys(t *tester) {
	tag := t.mustCreate("a", "one")
	for _, key := range []string{"", "/", "/a", t.folder, t.folder + "/a", t.folder + "./a", t.folder + "b/../a", "../a", t.folder + "a b",
		t.folder + "ä", t.folder + "~lock", t.folder + "a\x00", t.folder + strings.Repeat("k", bucket.MaxKey)} {
		_, getErr := t.b.Get(t.Context(), key, bucket.Range{}, "")
		_, createErr := t.b.Create(t.Context(), key, []byte("two"))
		_, swapErr := t.b.Swap(t.Context(), key, []byte("two"), tag)
		deleteErr, syncErr := t.b.Delete(t.Context(), key), t.b.Sync(t.Context(), key)
		for call, err := range map[string]error{"get": getErr, "create": createErr, "swap": swapErr, "delete": deleteErr, "sync": syncErr} {
			if err == nil {
				t.Errorf("%s %q: got no error", call, key)
			} else {
				t.wantError(call+" of a bad key", err, err)
			}
		}
	}
	t.wantObject("a", "one", tag)
}

// cancelled calls with a context that has ended before: nothing is sent.
func cancelled(t *tester) {
	tag := t.mustCreate("a", "one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := t.b.Get(ctx, t.folder+"a", bucket.Range{}, "")
	t.wantError("get", err, context.Canceled)
	_, err = t.b.Create(ctx, t.folder+"b", []byte("two"))
	t.wantCancelled("create", err)
	_, err = t.b.Swap(ctx, t.folder+"a", []byte("two"), tag)
	t.wantCancelled("swap", err)
	t.wantCancelled("delete", t.b.Delete(ctx, t.folder+"a"))
	_, err = t.b.List(ctx, t.folder, "", 10)
	t.wantError("list", err, context.Canceled)
	t.wantError("sync", t.b.Sync(ctx, t.folder+"a"), context.Canceled)
	t.wantObject("a", "one", tag)
	t.wantNone("b")
}
