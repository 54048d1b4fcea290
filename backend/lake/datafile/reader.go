package datafile

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/cache"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// openFiles is how many files are kept open for lookups.
const openFiles = 256

// Reader finds versions in data files: local copies that are fetched when they
// are needed.
type Reader struct {
	log   *protocol.Log
	cache *cache.Cache
	near  bool                // reading objects is as fast as reading copies: small ones are not copied
	room  *semaphore.Weighted // bytes that are being fetched

	mu      sync.Mutex // guards what follows
	open    map[string]*File
	order   []string // of open, least recently used first
	prints  prints
	vetted  map[string]protocol.FileEntry // by hash: files that were vetted
	types   *protocol.Types               // that layouts are of
	layouts map[onto.TypeName]*parquet.Layout
}

// File is a local copy that is open.
type File struct {
	*parquet.File
	entry   protocol.FileEntry
	users   int
	evicted bool
	close   func()

	mu      sync.Mutex     // guards what follows, and is held while it is read
	decoded []onto.Version // all of a small file; nil until it is needed
	bytes   int64          // that they take
	wide    bool           // it is small, but takes too much memory when decoded
}

// fetchBytes is how much is fetched at the same time.
const fetchBytes = 128 << 20

const (
	// smallFile is the largest size of a file that is decoded once and kept decoded.
	smallFile = 16 << 10
	// keptBytes is how much memory such a file may take.
	keptBytes = 4 << 20
	// versionBytes is what a version takes besides its key and its fields.
	versionBytes = 192
)

// ErrUnfolds says that a file takes more memory than there is for it. It is then read
// in another way, a batch at a time.
var ErrUnfolds = errors.New("the file unfolds to more than is read at once")

// Versions returns all versions of the file, and how much memory they take. They
// are shared and must not be changed. It fails with ErrUnfolds if that is more than a limit.
func (o *File) Versions(ctx context.Context, limit int64) (list []onto.Version, bytes int64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.decoded != nil && o.bytes <= limit {
		return o.decoded, o.bytes, nil
	}
	if bytes = o.entry.Rows * versionBytes; bytes > limit {
		return nil, bytes, ErrUnfolds
	}
	list = make([]onto.Version, 0, o.entry.Rows)
	for v, err := range o.All(ctx) {
		if err != nil {
			return nil, bytes, onto.Errorf(onto.CodeOf(err), "%s: %w", o.entry.Path, err)
		}
		if bytes += int64(len(v.Key) + len(v.Left) + len(v.Right) + len(v.Instance) + len(v.Fields)); bytes > limit {
			return nil, bytes, ErrUnfolds
		}
		list = append(list, v)
	}
	if o.entry.Bytes <= smallFile && bytes <= keptBytes {
		o.decoded, o.bytes = list, bytes
	}
	return list, bytes, nil
}

// NewReader reads the files of a log in a bucket, and owns the cache of local copies from
// then on.
func NewReader(l *protocol.Log, b bucket.Bucket, c *cache.Cache) *Reader {
	_, near := b.(bucket.Local)
	return &Reader{
		log: l, cache: c, near: near, room: semaphore.NewWeighted(fetchBytes),
		open: map[string]*File{}, prints: newPrints(), vetted: map[string]protocol.FileEntry{},
	}
}

// object is a file as the cache knows it.
func object(f *protocol.FileEntry) cache.Object {
	return cache.Object{Key: f.Path, SHA256: f.SHA256, Bytes: f.Bytes}
}

// Doubt reports whether the local copy of a file was damaged or removed. If so, the
// next caller that needs it fetches it again.
func (r *Reader) Doubt(f *protocol.FileEntry) bool {
	if !r.cache.Doubt(object(f)) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[f.Path] != nil {
		r.drop(f.Path)
	}
	return true
}

// Adopt keeps local copies of files that were just written, in the order of their
// entries. Those that cannot be kept are fetched when they are needed.
func (r *Reader) Adopt(entries []protocol.FileEntry, files []protocol.DataFile) {
	for i := range files {
		if body, err := files[i].Content(); err == nil {
			r.cache.Put(object(&entries[i]), body)
		}
	}
}

// Directory is where local copies are.
func (r *Reader) Directory() string { return r.cache.Directory() }

// Scratch is a file without a name beside the local copies.
func (r *Reader) Scratch() (*cache.Scratch, error) { return r.cache.Scratch() }

// Disk is room for bodies of data files beside the local copies.
func (r *Reader) Disk() (*Disk, error) {
	f, err := r.cache.Scratch()
	return &Disk{file: f}, err
}

// Fits fails with TooLarge for a file that is larger than the cache of local copies may
// become.
func (r *Reader) Fits(f *protocol.FileEntry) error { return r.cache.Fits(object(f)) }

// local returns the path of a local copy, which stays until it is released.
func (r *Reader) local(ctx context.Context, f *protocol.FileEntry) (string, func(), error) {
	return r.cache.Get(ctx, object(f), func(ctx context.Context, to *cache.Copy) error {
		done, err := r.Await(ctx, f)
		if err != nil {
			return err
		}
		defer done()
		return r.log.Fetch(ctx, f, to)
	})
}

// Await waits until there is memory to fetch a piece of a file. Done releases it.
func (r *Reader) Await(ctx context.Context, f *protocol.FileEntry) (done func(), err error) {
	bytes := min(f.Bytes, protocol.PieceBytes)
	if err := r.room.Acquire(ctx, bytes); err != nil {
		return nil, err
	}
	return func() { r.room.Release(bytes) }, nil
}

// Locals returns the paths of local copies of files, fetched side by side.
func (r *Reader) Locals(ctx context.Context, files []protocol.FileEntry) (paths []string, release func(), err error) {
	paths = make([]string, len(files))
	releases := make([]func(), len(files))
	release = func() {
		for _, f := range releases {
			if f != nil {
				f()
			}
		}
	}
	err = protocol.SideBySide(len(files), func(i int) (err error) {
		paths[i], releases[i], err = r.local(ctx, &files[i])
		return err
	})
	if err != nil {
		release()
		return nil, nil, err
	}
	return paths, release, nil
}

// Fetch makes local copies of files side by side, but for those that are read without,
// which stay until they are released.
func (r *Reader) Fetch(ctx context.Context, files []protocol.FileEntry) (release func(), err error) {
	var far []protocol.FileEntry
	for i := range files {
		if !r.direct(&files[i]) {
			far = append(far, files[i])
		}
	}
	_, release, err = r.Locals(ctx, far)
	return release, err
}

// Use opens a file, or finds it open, and keeps it open until done is called.
func (r *Reader) Use(ctx context.Context, f *protocol.FileEntry) (o *File, done func(), err error) {
	if o := r.pick(f.Path); o != nil {
		return o, func() { r.put(o) }, nil
	}
	if o, err = r.openFile(ctx, f); err != nil {
		return nil, nil, err
	}
	r.keep(f.Path, o)
	return o, func() { r.put(o) }, nil
}

// openFile opens a local copy of a file, or the object itself where that is as fast.
func (r *Reader) openFile(ctx context.Context, f *protocol.FileEntry) (*File, error) {
	if r.direct(f) {
		data, err := r.log.Data(ctx, f)
		if err != nil {
			return nil, err
		}
		return newFile(bytes.NewReader(data), func() {}, f)
	}
	path, release, err := r.local(ctx, f)
	if err != nil {
		return nil, err
	}
	return openLocal(path, release, f)
}

// direct reports whether a file is read without a local copy.
func (r *Reader) direct(f *protocol.FileEntry) bool { return r.near && f.Bytes <= smallFile }

func openLocal(path string, release func(), f *protocol.FileEntry) (*File, error) {
	h, err := os.Open(path)
	if err != nil {
		release()
		return nil, err
	}
	return newFile(h, func() { h.Close(); release() }, f)
}

// newFile is an open file. Close releases what it is read from.
func newFile(h io.ReaderAt, close func(), f *protocol.FileEntry) (o *File, err error) {
	o = &File{entry: *f, users: 1, close: close}
	o.File, err = parquet.Open(h, f.Bytes, f.Kind, f.Type)
	if err != nil {
		o.close()
		return nil, onto.Errorf(onto.CodeOf(err), "%s: %w", f.Path, err)
	}
	if n := o.File.Rows(); n != f.Rows {
		o.close()
		return nil, protocol.Damaged(f.Path, "it has %d rows, not %d", n, f.Rows)
	}
	return o, nil
}

// find returns the newest version up to a commit of each identity that the file
// has one of.
func (o *File) find(ctx context.Context, ids []onto.Identity, at int64) ([]onto.Version, error) {
	all, small, err := o.small(ctx)
	if err != nil {
		return nil, err
	}
	if !small {
		list, err := o.Find(ctx, ids, at)
		if err != nil {
			return nil, onto.Errorf(onto.CodeOf(err), "%s: %w", o.entry.Path, err)
		}
		return list, nil
	}
	var list []onto.Version
	for _, id := range ids {
		i, _ := slices.BinarySearchFunc(all, at+1, func(v onto.Version, commit int64) int {
			return cmp.Or(v.Identity.Compare(id), cmp.Compare(v.Commit, commit))
		})
		if i > 0 && all[i-1].Identity == id {
			list = append(list, *CopyOf(&all[i-1]))
		}
	}
	return list, nil
}

// small returns all versions of a small file, which is decoded once and kept. It
// reports false if the file is not small.
func (o *File) small(ctx context.Context) ([]onto.Version, bool, error) {
	o.mu.Lock()
	wide := o.wide || o.entry.Bytes > smallFile
	o.mu.Unlock()
	if wide {
		return nil, false, nil
	}
	all, _, err := o.Versions(ctx, keptBytes)
	if errors.Is(err, ErrUnfolds) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.wide = true
		return nil, false, nil
	}
	return all, err == nil, err
}

// Vet checks files that another engine is about to read against their entries, as far
// as that is possible without reading rows. Files never change, so each is checked
// once.
func (r *Reader) Vet(files []protocol.FileEntry, paths []string) error {
	for i := range files {
		f := &files[i]
		r.mu.Lock()
		known := r.vetted[f.SHA256] == *f
		r.mu.Unlock()
		if known {
			continue
		}
		o, err := openLocal(paths[i], func() {}, f)
		if err != nil {
			return err
		}
		err = o.CheckTyped()
		o.close()
		if err != nil {
			return onto.Errorf(onto.CodeOf(err), "%s: %w", f.Path, err)
		}
		r.mu.Lock()
		if len(r.vetted) >= vettedFiles {
			clear(r.vetted)
		}
		r.vetted[f.SHA256] = *f
		r.mu.Unlock()
	}
	return nil
}

// vettedFiles is how many vetted files are remembered.
const vettedFiles = 64 << 10

// pick marks an open file as used.
func (r *Reader) pick(path string) *File {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.open[path]
	if o == nil {
		return nil
	}
	o.users++
	i := slices.Index(r.order, path)
	r.order = append(slices.Delete(r.order, i, i+1), path)
	return o
}

// keep keeps a file open, and closes the least recently used ones.
func (r *Reader) keep(path string, o *File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[path] != nil { // another caller was faster
		o.evicted = true
		return
	}
	r.open[path] = o
	r.order = append(r.order, path)
	for len(r.order) > openFiles {
		r.drop(r.order[0])
	}
}

// drop takes a file out of those that are open. The reader is locked.
func (r *Reader) drop(path string) {
	o := r.open[path]
	delete(r.open, path)
	r.order = slices.DeleteFunc(r.order, func(p string) bool { return p == path })
	if o.evicted = true; o.users == 0 {
		o.close()
	}
}

// put releases a file.
func (r *Reader) put(o *File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.users--; o.users == 0 && o.evicted {
		o.close()
	}
}

// Close closes what is open, and the cache.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.order) > 0 {
		r.drop(r.order[0])
	}
	return r.cache.Close()
}

// Find returns the newest version up to a commit of each identity of a type that has
// one. The newest files are searched first, so that few need to be opened. The ids are
// sorted, each once.
func (r *Reader) Find(ctx context.Context, s *protocol.Shelf, t onto.TypeName, ids []onto.Identity, at int64) ([]onto.Version, error) {
	var found []onto.Version
	files := r.likely(s.Of(t, 0, at), ids)
	if err := r.fetchAll(ctx, files, len(ids)); err != nil {
		return nil, err
	}
	for i := len(files) - 1; i >= 0 && len(ids) > 0; i-- {
		file, done, err := r.Use(ctx, &files[i])
		if err != nil {
			return nil, err
		}
		list, err := file.find(ctx, ids, at)
		r.learn(file)
		done()
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			continue
		}
		has := make(map[onto.Identity]bool, len(list))
		for _, v := range list {
			has[v.Identity] = true
			if v.SchemaVersion > s.Types.Purged[t] {
				found = append(found, v)
			}
		}
		ids = slices.DeleteFunc(slices.Clone(ids), func(id onto.Identity) bool { return has[id] })
	}
	return found, nil
}

// fetchAll fetches the missing files side by side, so that a search does not wait for
// each in turn.
func (r *Reader) fetchAll(ctx context.Context, files []protocol.FileEntry, ids int) error {
	if ids == 0 || len(files) < 2 {
		return nil
	}
	var missing []protocol.FileEntry
	r.mu.Lock()
	for _, f := range files {
		if r.open[f.Path] == nil && !r.direct(&f) {
			missing = append(missing, f)
		}
	}
	r.mu.Unlock()
	if len(missing) == 0 {
		return nil
	}
	_, release, err := r.Locals(ctx, missing)
	if err == nil {
		release()
	}
	return err
}
