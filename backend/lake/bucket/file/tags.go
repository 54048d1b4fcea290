package file

import (
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/ontologia/onto/backend/lake/bucket"
)

// tagMemory remembers the tags of files that were read, so that reading a part of a
// large object need not read all of it each time. Swap never uses it.
type tagMemory struct {
	mu    sync.Mutex // guards known
	known map[string]tagged
}

type tagged struct {
	info fs.FileInfo
	tag  bucket.Tag
}

const (
	maxTags = 4096 // remembered at most

	// settled is how old a file must be before its tag is remembered. The file system
	// may give a new file the number of one just removed, and its time in steps of some
	// milliseconds: only when some time has passed is such a pair unique.
	settled = 2 * time.Second
)

func (m *tagMemory) get(key string, info fs.FileInfo) (bucket.Tag, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, known := m.known[key]
	if !known || !os.SameFile(t.info, info) || t.info.Size() != info.Size() || !t.info.ModTime().Equal(info.ModTime()) {
		return "", false
	}
	return t.tag, true
}

func (m *tagMemory) put(key string, info fs.FileInfo, tag bucket.Tag, now time.Time) {
	if now.Sub(info.ModTime()) < settled {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= maxTags {
		m.known = map[string]tagged{}
	}
	m.known[key] = tagged{info, tag}
}
