//go:build unix

package file_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/file"
)

// strange returns kinds of files that are not regular, by their names in errors. A
// device can be made by root only.
func strange(t *testing.T) map[string]func(path string) error {
	t.Helper()
	return map[string]func(string) error{
		"named pipe": func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"socket": func(path string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
			if err == nil {
				l.SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		},
		"device": func(path string) error { return mknod(path) },
	}
}

// shortDir is a directory whose path is short enough for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "onto")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// returns fails the test if a call does not return: nothing ever writes to the
// pipe.
func returns(t *testing.T, what string, call func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("%s: still waiting", what)
		return nil
	}
}

// Anything but a regular file is refused by its kind in every call, and is not listed.
func TestObjectOfAnotherKind(t *testing.T) {
	for kind, lay := range strange(t) {
		dir := shortDir(t)
		b := openBucket(t, dir, nil)
		mustCreate(t, b, "a/b", "one")
		if err := lay(filepath.Join(dir, "a", "x")); errors.Is(err, syscall.EPERM) {
			t.Logf("a %s cannot be made here", kind)
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		for call, do := range map[string]func() error{
			"get":         func() error { _, err := b.Get(t.Context(), "a/x", bucket.Range{}, ""); return err },
			"get a part":  func() error { _, err := b.Get(t.Context(), "a/x", bucket.Range{Offset: 1}, "tag"); return err },
			"swap":        func() error { _, err := b.Swap(t.Context(), "a/x", []byte("x"), "tag"); return err },
			"delete":      func() error { return b.Delete(t.Context(), "a/x") },
			"sync":        func() error { return b.Sync(t.Context(), "a/x") },
			"get below":   func() error { _, err := b.Get(t.Context(), "a/x/y", bucket.Range{}, ""); return err },
			"create":      func() error { _, err := b.Create(t.Context(), "a/x", []byte("x")); return err },
			"create over": func() error { _, err := b.Create(t.Context(), "a/x/y", []byte("x")); return err },
		} {
			err := returns(t, call+" of a "+kind, do)
			switch call {
			case "create":
				if !errors.Is(err, bucket.ErrExists) {
					t.Errorf("%s of a %s: got %v, want %v", call, kind, err, bucket.ErrExists)
				}
			case "create over":
				if !errors.Is(err, bucket.ErrRefused) || !strings.Contains(err.Error(), "a/x/y") {
					t.Errorf("%s of a %s: got %v, want %v", call, kind, err, bucket.ErrRefused)
				}
			default:
				if !errors.Is(err, bucket.ErrRefused) || onto.CodeOf(err) != onto.Corrupt || !strings.Contains(err.Error(), kind) || !strings.Contains(err.Error(), "a/x") {
					t.Errorf("%s of a %s: got %v, want it refused by its kind and name", call, kind, err)
				}
			}
		}
		list, err := b.List(t.Context(), "", "", 10)
		if err != nil || len(list) != 1 || list[0].Key != "a/b" {
			t.Errorf("list beside a %s: got %v, error %v, want a/b alone", kind, list, err)
		}
		if _, err := os.Lstat(filepath.Join(dir, "a", "x")); err != nil {
			t.Errorf("the %s: %v", kind, err)
		}
	}
}

// A directory of a bucket, its lock and its root may be of another kind as well.
func TestPlaceOfAnotherKind(t *testing.T) {
	for kind, lay := range strange(t) {
		dir := shortDir(t)
		b := openBucket(t, dir, nil)
		tag := mustCreate(t, b, "a", "one")
		if err := lay(filepath.Join(dir, "folder")); errors.Is(err, syscall.EPERM) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		if err := lay(filepath.Join(dir, "~lock")); err != nil {
			t.Fatal(err)
		}
		if err := lay(filepath.Join(dir, "root")); err != nil {
			t.Fatal(err)
		}
		for call, do := range map[string]func() error{
			"list":   func() error { _, err := b.List(t.Context(), "folder/", "", 10); return err },
			"create": func() error { _, err := b.Create(t.Context(), "folder/a", nil); return err },
			"lock":   func() error { _, err := b.Swap(t.Context(), "a", []byte("two"), tag); return err },
			"unlock": func() error { return b.Delete(t.Context(), "a") },
			"open":   func() error { _, err := file.Open(filepath.Join(dir, "root"), nil); return err },
			"make":   func() error { _, err := file.Open(filepath.Join(dir, "root"), &file.Options{Create: true}); return err },
			"below": func() error {
				_, err := file.Open(filepath.Join(dir, "root", "x"), &file.Options{Create: true})
				return err
			},
		} {
			if err := returns(t, call+" beside a "+kind, do); err == nil {
				t.Errorf("%s beside a %s: got no error", call, kind)
			}
		}
		wantData(t, b, "a", "one")
	}
}

// A wait for the lock ends with the context, and with the bucket.
func TestWaitForLockEnds(t *testing.T) {
	dir := t.TempDir()
	holder := openBucket(t, dir, nil)
	tag := mustCreate(t, holder, "a", "one")
	if _, err := holder.Swap(t.Context(), "a", []byte("two"), tag); err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(filepath.Join(dir, "~lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	swap := func(ctx context.Context, b *file.Bucket) chan error {
		done := make(chan error, 1)
		go func() { _, err := b.Swap(ctx, "a", []byte("three"), "tag"); done <- err }()
		return done
	}
	first, second := swap(ctx, holder), openBucket(t, dir, nil)
	cancel()
	if err := returns(t, "swap with a context that ends", func() error { return <-first }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	// A caller that looks for the outcome has to know that there is none.
	if _, err := second.Swap(ctx, "a", []byte("three"), tag); !errors.Is(err, context.Canceled) || !errors.Is(err, bucket.ErrRefused) {
		t.Errorf("with a context that has ended: got %v, want %v that is refused", err, context.Canceled)
	}
	waits := swap(t.Context(), second)
	if err := returns(t, "close", second.Close); err != nil {
		t.Error(err)
	}
	if err := returns(t, "swap in a bucket that is closed", func() error { return <-waits }); err == nil {
		t.Error("swap in a bucket that is closed: got no error")
	}
}
