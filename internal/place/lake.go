package place

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/backend/lake/bucket/probe"
	"github.com/ontologia/onto/backend/lake/bucket/s3"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/shell"
)

// open opens the lake. Only a verb that creates makes one, and only where
// nothing else is.
func (a LakeAddress) open(ctx context.Context, how Access, cfg Settings, by Opener) (backend.Backend, error) {
	if by.Lake == nil {
		return nil, onto.Errorf(onto.UnsupportedOperation, "%s: this program opens no lakes", a)
	}
	target := how == Filling || how == Examining
	b, err := a.openLake(ctx, cfg, by, false, target)
	if onto.CodeOf(err) != onto.Uninitialized {
		return b, err
	}
	foreign := a.vacant(ctx, cfg)
	switch {
	case foreign != nil && (how == Creating || how == Filling || onto.CodeOf(foreign) == onto.Unsupported || onto.CodeOf(foreign) == onto.Corrupt):
		return nil, foreign
	case how == Creating || how == Filling:
		return a.openLake(ctx, cfg, by, true, target)
	}
	return nil, err
}

// openLake opens the lake, and makes it if it is to and there is none.
func (a LakeAddress) openLake(ctx context.Context, cfg Settings, by Opener, create, target bool) (backend.Backend, error) {
	b, err := a.openBucket(ctx, cfg, create)
	if err != nil {
		return nil, err
	}
	set := a.settings(cfg)
	set.MustExist, set.Target, set.Runtime = !create, target, by.Runtime
	l, err := by.Lake(ctx, b, set)
	if err != nil {
		return nil, a.Failed(err)
	}
	return l, nil
}

// settings is how the lake here is used.
func (a LakeAddress) settings(cfg Settings) *LakeSettings {
	return &LakeSettings{
		Location: a.String(), Patience: cfg.requestTimeout(), LockTimeout: cfg.Duration("s3_lock_timeout_ms"), MigrationWait: cfg.Duration("migration_wait_ms"),
		CacheDir: cfg.Text("cache_dir"), CacheBytes: cfg.bytes("cache_bytes"),
		Memory: strconv.FormatInt(cfg.bytes("s3_duckdb_memory_limit"), 10) + "B",
	}
}

// Unopened is the bucket of a lake that cannot be opened, for an examination.
func (a LakeAddress) Unopened(ctx context.Context, cfg Settings) (bucket.Bucket, *LakeSettings, error) {
	b, err := a.openBucket(ctx, cfg, false)
	return b, a.settings(cfg), err
}

// probePrefix begins the keys of what a probe writes.
const probePrefix = "onto-probe-"

// Probe finds out whether the bucket can be trusted with a lake.
func (a LakeAddress) Probe(ctx context.Context, cfg Settings) (probe.Report, error) {
	b, err := a.openBucket(ctx, cfg, false)
	if onto.CodeOf(err) == onto.Uninitialized {
		return probe.Report{}, onto.Errorf(onto.Uninitialized, "%s: there is no such directory", a).WithHint("make the directory first")
	}
	if err != nil {
		return probe.Report{}, err
	}
	defer b.Close()
	return probe.Probe(ctx, b, probePrefix+strings.ToLower(rand.Text()[:12]))
}

// openBucket opens what holds the objects.
func (a LakeAddress) openBucket(ctx context.Context, cfg Settings, create bool) (bucket.Bucket, error) {
	if a.Dir == "" {
		b, err := s3.Open(ctx, s3.Options{
			Bucket: a.Bucket, Prefix: a.Prefix, Region: cfg.Text("s3_region"), Endpoint: cfg.Text("s3_endpoint_url"),
			RequestTimeout: cfg.requestTimeout(),
		})
		switch {
		case onto.CodeOf(err) == onto.NotFound: // the bucket, and not what a verb looks for
			return nil, onto.Errorf(onto.Unavailable, "%w", err)
		case err != nil:
			return nil, err // names the bucket
		}
		return b, nil
	}
	b, err := file.Open(a.Dir, &file.Options{Create: create})
	switch {
	case err == nil:
		return b, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, onto.Errorf(onto.Uninitialized, "%s: there is no lake here", a).WithHint("make one").WithCommand("init")
	case a.fileAt() == a.Dir:
		return nil, onto.Errorf(onto.Unsupported, "%s: this is a file, and a lake is a directory", a).
			WithHint("name a directory, or a SQLite file with --db")
	case a.fileAt() != "":
		return nil, onto.Errorf(onto.Unsupported, "%s: %s is a file, and not a directory with a lake in it", a, a.fileAt()).
			WithHint("name another directory")
	}
	return nil, a.Failed(err)
}

// fileAt is the path of a file where the directory, or one above it, should be; ""
// if there is none.
func (a LakeAddress) fileAt() string {
	for dir := a.Dir; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return dir
		} else if err == nil || dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// misnamed improves the error for a lake that was named as if it were a SQLite file.
func (l Location) misnamed(err error) error {
	dir, abs := filepath.Abs(l.Path)
	if _, stat := os.Stat(filepath.Join(l.Path, filepath.FromSlash(protocol.HeadKey))); stat != nil || abs != nil {
		return err
	}
	return onto.Errorf(onto.Unsupported, "%s: this is the directory of a lake, not a SQLite file", l.Path).
		WithHint("name it with --storage-uri %s", shell.Word(lakeIn(dir).String()))
}

func (cfg Settings) requestTimeout() time.Duration { return cfg.Duration("s3_request_timeout_s") }

// vacant fails if something else is where a lake would be made, or if that is
// inside a lake.
func (a LakeAddress) vacant(ctx context.Context, cfg Settings) error {
	found, above := a.foreignFile, a.lakeAboveDirectory
	if a.Dir == "" {
		found, above = a.foreignObject, a.lakeAbovePrefix
	}
	if outer, err := above(ctx, cfg); err != nil || outer != (LakeAddress{}) {
		if err != nil {
			return err
		}
		return onto.Errorf(onto.Unsupported, "%s: this is inside the lake %s", a, outer).
			WithHint("name that lake, or a place outside of it")
	}
	name, err := found(ctx, cfg)
	if err != nil || name == "" {
		return err
	}
	if protocol.OfCommit(name) {
		return onto.Errorf(onto.Corrupt, "%s: %s: it is missing, and there are commits", a, protocol.HeadKey).
			WithHint("restore the object, or the whole bucket, from a backup")
	}
	if inner := a.lakeAround(ctx, cfg, name); inner != (LakeAddress{}) {
		return onto.Errorf(onto.Unsupported, "%s: the lake %s is inside of this", a, inner).
			WithHint("name that lake, or a place beside it")
	}
	return onto.Errorf(onto.Unsupported, "%s: there is no lake here but something else: %s", a, name).
		WithHint("name an empty place, or one that does not exist yet")
}

// leftover reports whether an object may have been left where a lake or a probe
// was begun.
func leftover(key string) bool {
	return protocol.Leftover(key) || strings.HasPrefix(key, probePrefix) || strings.HasPrefix(path.Base(key), "~") // a directory's own
}

// foreignFile names a file in the directory that is not a lake's. Folders
// without files do not count.
func (a LakeAddress) foreignFile(ctx context.Context, _ Settings) (string, error) {
	found := ""
	err := fs.WalkDir(os.DirFS(a.Dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case d.IsDir() || leftover(name):
			return nil
		}
		found = name
		return fs.SkipAll
	})
	if err != nil {
		return "", a.Failed(err)
	}
	return found, nil
}

// lakeAround is the lake below this place that an object in it belongs to, if
// there is one.
func (a LakeAddress) lakeAround(ctx context.Context, cfg Settings, name string) LakeAddress {
	has := func(folder string) bool {
		_, err := os.Stat(filepath.Join(a.Dir, filepath.FromSlash(path.Join(folder, protocol.HeadKey))))
		return err == nil
	}
	if a.Dir == "" {
		b, err := a.openBucket(ctx, cfg, false)
		if err != nil {
			return LakeAddress{}
		}
		defer b.Close()
		has = func(folder string) bool {
			_, err := b.Get(ctx, path.Join(folder, protocol.HeadKey), bucket.Range{Length: 1}, "")
			return err == nil
		}
	}
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if !has(folder) {
			continue
		}
		if a.Dir != "" {
			return lakeIn(filepath.Join(a.Dir, filepath.FromSlash(folder)))
		}
		return lakeUnder(a.Bucket, path.Join(a.Prefix, folder))
	}
	return LakeAddress{}
}

// lakeAboveDirectory is the nearest lake in whose directory this one is, also if
// a symbolic link leads there.
func (a LakeAddress) lakeAboveDirectory(context.Context, Settings) (LakeAddress, error) {
	real, err := backend.CanonicalPath(a.Dir)
	if err != nil {
		return LakeAddress{}, err
	}
	for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(protocol.HeadKey))); err == nil {
			return lakeIn(dir), nil
		}
		if dir == filepath.Dir(dir) {
			return LakeAddress{}, nil
		}
	}
}

// foreignObject names an object under the prefix that is not a lake's.
func (a LakeAddress) foreignObject(ctx context.Context, cfg Settings) (string, error) {
	b, err := a.openBucket(ctx, cfg, false)
	if err != nil {
		return "", err
	}
	defer b.Close()
	const page = 100
	for after := ""; ; {
		entries, err := b.List(ctx, "", after, page)
		if err != nil {
			return "", a.Failed(err)
		}
		for _, e := range entries {
			if after = e.Key; !leftover(e.Key) {
				return e.Key, nil
			}
		}
		if len(entries) < page {
			return "", nil
		}
	}
}

// lakeAbovePrefix is the nearest lake under whose prefix this one is. Objects that the
// credentials may not read are skipped.
func (a LakeAddress) lakeAbovePrefix(ctx context.Context, cfg Settings) (LakeAddress, error) {
	whole := lakeUnder(a.Bucket, "")
	b, err := whole.openBucket(ctx, cfg, false)
	if err != nil {
		return LakeAddress{}, err
	}
	defer b.Close()
	for prefix := a.Prefix; prefix != ""; {
		prefix = strings.TrimSuffix(path.Dir(prefix), ".")
		if _, err := b.Get(ctx, path.Join(prefix, protocol.HeadKey), bucket.Range{Length: 1}, ""); err == nil {
			return lakeUnder(a.Bucket, prefix), nil
		}
	}
	return LakeAddress{}, ctx.Err()
}
