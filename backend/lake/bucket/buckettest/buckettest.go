// Package buckettest is the contract of package bucket as tests: every bucket
// passes it, and every wrapper around one.
package buckettest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// Run holds a bucket to the contract. Each call of open returns a bucket without other
// writers, or a handle of one that may hold objects already: the tests stay below
// folders of their own.
func Run(t *testing.T, open func(t testing.TB) bucket.Bucket) {
	for _, c := range []struct {
		name string
		run  func(*tester)
	}{
		{"create", create},
		{"create twice", createTwice},
		{"swap", swap},
		{"swap with a stale tag", swapStale},
		{"swap without a tag", swapWithoutTag},
		{"swap what is missing", swapMissing},
		{"a tag is of one object", tagOfAnother},
		{"parts", parts},
		{"too large", tooLarge},
		{"not modified", notModified},
		{"delete", remove},
		{"create again", createAgain},
		{"sync", syncObjects},
		{"empty objects", emptyObjects},
		{"large objects", largeObjects},
		{"all bytes", allBytes},
		{"data belongs to the caller", ownData},
		{"keys that are none", badKeys},
		{"cancelled contexts", cancelled},
		{"list in order", listOrder},
		{"list a prefix", listPrefix},
		{"list in pages", listPages},
		{"list what is asked for", listBad},
		{"race of creates", raceCreate},
		{"race of swaps", raceSwap},
		{"counting together", raceCount},
		{"race of swap and delete", raceDelete},
		{"readers see whole objects", wholeReads},
		{"random histories", histories},
		{"a closed bucket", closed},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t)
			t.Cleanup(func() {
				if err := b.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			c.run(&tester{T: t, b: b, folder: "t-" + rand.Text() + "/"})
		})
	}
}

// tester is one test with a folder of its own.
type tester struct {
	*testing.T
	b      bucket.Bucket
	folder string
}

// attempts is how often a call is repeated after ErrConflict or ErrThrottled.
const attempts = 1000

// again repeats a call while the bucket asks for a retry. If a failed try was applied
// all the same, the test fails at the next step.
func again(call func() error) error {
	var err error
	for range attempts {
		if err = call(); !errors.Is(err, bucket.ErrConflict) && !errors.Is(err, bucket.ErrThrottled) {
			return err
		}
	}
	return err
}

func (t *tester) create(key string, data []byte) (tag bucket.Tag, err error) {
	err = again(func() error {
		tag, err = t.b.Create(t.Context(), t.folder+key, data)
		return err
	})
	return tag, err
}

func (t *tester) swap(key string, data []byte, old bucket.Tag) (tag bucket.Tag, err error) {
	err = again(func() error {
		tag, err = t.b.Swap(t.Context(), t.folder+key, data, old)
		return err
	})
	return tag, err
}

func (t *tester) get(key string, r bucket.Range, ifNot bucket.Tag) (o bucket.Object, err error) {
	err = again(func() error {
		o, err = t.b.Get(t.Context(), t.folder+key, r, ifNot)
		return err
	})
	return o, err
}

func (t *tester) delete(key string) error {
	return again(func() error { return t.b.Delete(t.Context(), t.folder+key) })
}

// list returns the keys without the test's folder.
func (t *tester) list(prefix, after string, limit int) ([]bucket.Entry, error) {
	if after != "" {
		after = t.folder + after
	}
	var list []bucket.Entry
	err := again(func() (err error) {
		list, err = t.b.List(t.Context(), t.folder+prefix, after, limit)
		return err
	})
	for i := range list {
		list[i].Key = list[i].Key[min(len(t.folder), len(list[i].Key)):]
	}
	return list, err
}

// mustCreate creates an object and fails the test if it cannot.
func (t *tester) mustCreate(key, data string) bucket.Tag {
	t.Helper()
	tag, err := t.create(key, []byte(data))
	if err != nil || tag == "" {
		t.Fatalf("create %s: got the tag %q, error %v", key, tag, err)
	}
	return tag
}

// mustSwap swaps an object and fails the test if it cannot.
func (t *tester) mustSwap(key, data string, old bucket.Tag) bucket.Tag {
	t.Helper()
	tag, err := t.swap(key, []byte(data), old)
	if err != nil || tag == "" {
		t.Fatalf("swap %s: got the tag %q, error %v", key, tag, err)
	}
	return tag
}

// wantObject compares an object with what it should be.
func (t *tester) wantObject(key, data string, tag bucket.Tag) {
	t.Helper()
	o, err := t.get(key, bucket.Range{}, "")
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	if !bytes.Equal(o.Data, []byte(data)) || o.Size != int64(len(data)) {
		t.Errorf("get %s: got %s of size %d, want %s", key, brief(o.Data), o.Size, brief([]byte(data)))
	}
	if o.Tag != tag {
		t.Errorf("get %s: got the tag %q, want the one of the write, %q", key, o.Tag, tag)
	}
}

// wantNone fails if there is an object.
func (t *tester) wantNone(key string) {
	t.Helper()
	_, err := t.get(key, bucket.Range{}, "")
	t.wantError("get "+key, err, bucket.ErrNotFound)
}

// wantError compares an error with the expected one of the contract, and makes sure
// that it is no other of them as well.
func (t *tester) wantError(what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
	for _, other := range []error{bucket.ErrNotFound, bucket.ErrNotModified, bucket.ErrExists, bucket.ErrChanged, bucket.ErrUnknown, context.Canceled} {
		if other != want && errors.Is(err, other) {
			t.Errorf("%s: got error %v, which is also %q", what, err, other)
		}
	}
}

// brief is what a message shows of data.
func brief(data []byte) string {
	if len(data) <= 32 {
		return fmt.Sprintf("%q", data)
	}
	return fmt.Sprintf("%q... (%d bytes)", data[:32], len(data))
}

// wantCancelled fails unless a write says that its context has ended. It may
// add that the outcome is unknown.
func (t *tester) wantCancelled(what string, err error) {
	t.Helper()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%s: got error %v, want %v", what, err, context.Canceled)
	}
}

// closed calls each method of a bucket that was closed.
func closed(t *tester) {
	tag, err := t.create("a", []byte("1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := t.b.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, errs := t.Context(), map[string]error{}
	_, errs["Get"] = t.b.Get(ctx, t.folder+"a", bucket.Range{}, "")
	_, errs["Create"] = t.b.Create(ctx, t.folder+"b", nil)
	_, errs["Swap"] = t.b.Swap(ctx, t.folder+"a", []byte("2"), tag)
	errs["Delete"] = t.b.Delete(ctx, t.folder+"a")
	_, errs["List"] = t.b.List(ctx, t.folder, "", 10)
	errs["Sync"] = t.b.Sync(ctx, t.folder+"a")
	for name, err := range errs {
		if onto.CodeOf(err) != onto.Closed {
			t.Errorf("%s: got error %v, want code %q", name, err, onto.Closed)
		}
	}
}
