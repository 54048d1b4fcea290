package records_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store/records"
)

// write makes a file in one go.
func write(path, text string, force bool) error {
	f, err := records.Create(path, force)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := io.WriteString(f, text); err != nil {
		return err
	}
	return f.Keep()
}

// wantFiles fails unless a folder has exactly these files with these texts.
func wantFiles(t *testing.T, folder string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(want) {
		t.Errorf("got files %v, want %v", entries, want)
	}
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(folder, name)); string(got) != text || err != nil {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, text)
		}
	}
}

func TestFilesAppearComplete(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a.jsonl")
	f, err := records.Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "half"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there before it is complete: %v", err)
	}
	f.Discard()
	wantFiles(t, folder, nil)

	if err := write(path, "one", false); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, folder, map[string]string{"a.jsonl": "one"})
	wantError(t, "again", write(path, "two", false), onto.Invalid, "a.jsonl: exists already")
	wantFiles(t, folder, map[string]string{"a.jsonl": "one"})

	if f, err = records.Create(path, true); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "half"); err != nil {
		t.Fatal(err)
	}
	f.Discard()
	wantFiles(t, folder, map[string]string{"a.jsonl": "one"})
	if err := write(path, "two", true); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, folder, map[string]string{"a.jsonl": "two"})
}

// A file that is created by another program meanwhile is not destroyed.
func TestFileThatAppearsMeanwhile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a.jsonl")
	f, err := records.Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	wantError(t, "keep", f.Keep(), onto.Invalid, "a.jsonl: exists already")
	wantFiles(t, folder, map[string]string{"a.jsonl": "theirs"})
}

func TestFileModesAndLinks(t *testing.T) {
	folder, elsewhere := t.TempDir(), t.TempDir()
	target, link := filepath.Join(elsewhere, "target"), filepath.Join(folder, "link")
	if err := errors.Join(os.WriteFile(target, []byte("one"), 0o640), os.Chmod(target, 0o640), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	if err := write(link, "two", true); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, elsewhere, map[string]string{"target": "two"})
	info, err := os.Stat(target)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("got mode %v, %v, want 0640", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
}

func TestFilesThatCannotBe(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		folder:                                  "is a directory",
		filepath.Join(folder, "no", "a.csv"):    "the directory does not exist",
		filepath.Join(file, "a.csv"):            "the directory does not exist",
		filepath.Join(folder, "\x00"):           "invalid argument",
		folder + "/" + strings.Repeat("a", 9e3): "file name too long",
	} {
		if err := write(path, "", true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: got %v, want %q", path, err, want)
		}
	}
	wantFiles(t, folder, map[string]string{"file": ""})
}

// Anything but a regular file is written in place.
func TestPipes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	text := make(chan string)
	go func() {
		data, err := os.ReadFile(path)
		if err != nil {
			data = []byte(err.Error())
		}
		text <- string(data)
	}()
	if err := write(path, "through", false); err != nil {
		t.Error(err)
	}
	if got := <-text; got != "through" {
		t.Errorf("got %q", got)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the pipe is gone: %v, %v", info, err)
	}
}

func TestFullDisk(t *testing.T) {
	err := write("/dev/full", "text", false)
	wantError(t, "/dev/full", err, onto.Full, "/dev/full: no room left")
}
