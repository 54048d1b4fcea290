package faulty

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ontologia/onto/backend/lake/bucket"
)

// past remembers earlier versions of objects, as far as calls through this bucket saw
// them.
type past struct {
	mu       sync.Mutex // guards versions
	versions map[string][]version
}

// maxVersions is how many of each object are remembered.
const maxVersions = 8

// version is what an object was from a call on.
type version struct {
	from     int
	there    bool
	data     []byte
	tag      bucket.Tag
	modified time.Time
}

// look records what an object is now, if the plan needs it.
func (b *Bucket) look(ctx context.Context, key string) {
	if b.past == nil {
		return
	}
	o, err := b.inner.Get(ctx, key, bucket.Range{}, "")
	if err != nil && !errors.Is(err, bucket.ErrNotFound) {
		return
	}
	b.mu.Lock()
	call := b.calls
	b.mu.Unlock()
	b.past.see(key, version{from: call, there: err == nil, data: o.Data, tag: o.Tag, modified: time.Now()})
}

// see adds a version if it is another than the last.
func (p *past) see(key string, v version) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.versions[key]
	if len(list) > 0 && list[len(list)-1].there == v.there && list[len(list)-1].tag == v.tag {
		return
	}
	list = append(list, v)
	p.versions[key] = slices.Clone(list[max(0, len(list)-maxVersions):])
}

// stale picks a version that was replaced not too many calls ago.
func (p *past) stale(key string, d decision) (version, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.versions[key]
	var choice []version
	for i := range max(0, len(list)-1) {
		if list[i+1].from >= d.call-d.n {
			choice = append(choice, list[i])
		}
	}
	if len(choice) == 0 {
		return version{}, false
	}
	return choice[d.chance%uint64(len(choice))], true
}

// get answers a Get from the version.
func (v version) get(what string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	from, to, err := r.Cut(int64(len(v.data)))
	switch {
	case err != nil:
	case !v.there:
		err = bucket.ErrNotFound
	case ifNot == v.tag:
		err = bucket.ErrNotModified
	default:
		err = r.Allows(int64(len(v.data)))
	}
	if err != nil {
		return bucket.Object{}, fmt.Errorf("%s: %w", what, err)
	}
	return bucket.Object{Data: bytes.Clone(v.data[from:to]), Tag: v.tag, Size: int64(len(v.data))}, nil
}

// recent returns what the objects of a listing were before the last calls, by
// key, of those that have changed since.
func (p *past) recent(prefix, after string, d decision) map[string]version {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := map[string]version{}
	for key, list := range p.versions {
		if !strings.HasPrefix(key, prefix) || key <= after {
			continue
		}
		last := len(list) - 1
		for last > 0 && list[last].from >= d.call-d.n {
			last--
		}
		if now := list[len(list)-1]; last < len(list)-1 && (list[last].there != now.there || len(list[last].data) != len(now.data)) {
			found[key] = list[last]
		}
	}
	return found
}

// before undoes in a listing what has changed since.
func before(list []bucket.Entry, recent map[string]version) []bucket.Entry {
	list = slices.DeleteFunc(list, func(e bucket.Entry) bool {
		_, changed := recent[e.Key]
		return changed
	})
	for key, v := range recent {
		if v.there {
			list = append(list, bucket.Entry{Key: key, Size: int64(len(v.data)), Modified: v.modified})
		}
	}
	slices.SortFunc(list, func(x, y bucket.Entry) int { return strings.Compare(x.Key, y.Key) })
	return list
}
