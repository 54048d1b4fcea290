package volume_test

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ontologia/onto/internal/volume"
)

func TestLow(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name       string
		free, size int64
		low        bool
	}{
		{"a small store", 64 * mb, 0, false},
		{"a small store without room", 64*mb - 1, 0, true},
		{"as large as the least", 64 * mb, 1280 * mb, false},
		{"a large store", 100 * mb, 2000 * mb, false},
		{"a large store without room", 100*mb - 1, 2000 * mb, true},
		{"full", 0, 0, true},
	} {
		f, low := volume.Low(c.free, c.size)
		if low != c.low || low && (f.Code != "disk_low" || !strings.Contains(f.Message, "MB")) {
			t.Errorf("%s: got %v, %+v, want %v", c.name, low, f, c.low)
		}
	}
}

func TestFree(t *testing.T) {
	if free, known := volume.Free(t.TempDir()); runtime.GOOS == "linux" && (!known || free <= 0) {
		t.Errorf("got %d bytes, known %v", free, known)
	}
	if free, known := volume.Free(filepath.Join(t.TempDir(), "missing")); known {
		t.Errorf("a missing directory: got %d bytes, want that it is not known", free)
	}
}
