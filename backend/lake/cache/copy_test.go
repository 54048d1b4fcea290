package cache_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/cache"
)

// A copy of a large object is made piece by piece: it takes the memory of a piece.
func TestCopyInPieces(t *testing.T) {
	const pieces, size = 192, 1 << 20
	piece := body(1, size)
	sum := sha256.New()
	for range pieces {
		sum.Write(piece)
	}
	o := cache.Object{Key: "data/large", SHA256: fmt.Sprintf("%x", sum.Sum(nil)), Bytes: pieces * size}
	c := open(t, t.TempDir(), 0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	name, release, err := c.Get(t.Context(), o, func(_ context.Context, to *cache.Copy) error {
		if _, err := to.Write(body(2, size)); err != nil { // a first attempt, which breaks off
			return err
		}
		to.Restart()
		for range pieces {
			if _, err := to.Write(piece); err != nil {
				return err
			}
		}
		return nil
	})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if info, err := os.Stat(name); err != nil || info.Size() != o.Bytes {
		t.Errorf("got %v, %v, want a file of %d bytes", info, err, o.Bytes)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
		t.Errorf("it took %d bytes of memory", grown)
	}
}

// More bytes than the object has are refused as they come, and nothing is kept.
func TestCopyOfMore(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 0)
	o := objectOf(1, body(1, 100))
	_, _, err := c.Get(t.Context(), o, func(_ context.Context, to *cache.Copy) error {
		if _, err := to.Write(body(1, 100)); err != nil {
			return err
		}
		_, err := to.Write([]byte("x"))
		return err
	})
	if onto.CodeOf(err) != onto.Corrupt || !strings.Contains(err.Error(), o.Key) {
		t.Errorf("got %v, want Corrupt with %s", err, o.Key)
	}
	wantPresent(t, dir, 2, 100, "")
}

// An object for which the cache has no room is not even fetched.
func TestLargerThanAnyCopy(t *testing.T) {
	sum := strings.Repeat("0", 64)
	for limit, bytes := range map[int64]int64{1000: cache.DefaultLimit + 1, 2 * cache.DefaultLimit: 2*cache.DefaultLimit + 1} {
		c := open(t, t.TempDir(), limit)
		o := cache.Object{Key: "data/huge", SHA256: sum, Bytes: bytes}
		_, _, err := c.Get(t.Context(), o, noFetch)
		if onto.CodeOf(err) != onto.TooLarge || !strings.Contains(err.Error(), o.Key) || onto.HintOf(err).Text == "" {
			t.Errorf("limit %d: got %v, want TooLarge with %s and a hint", limit, err, o.Key)
		}
	}
	c := open(t, t.TempDir(), 1<<62) // any disk is smaller
	o := cache.Object{Key: "data/huge", SHA256: sum, Bytes: 1 << 61}
	_, _, err := c.Get(t.Context(), o, func(_ context.Context, to *cache.Copy) error {
		if _, err := to.Write(body(1, 100)); err != nil {
			return err
		}
		return errors.New("it was written")
	})
	if onto.CodeOf(err) != onto.Full || !strings.Contains(err.Error(), o.Key) {
		t.Errorf("got %v, want Full with %s", err, o.Key)
	}
}
