package sqlite

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Opener opens SQLite files: sqlite:///rel.db, sqlite:////abs.db, and sqlite:///:memory: for
// a new store that is gone when it is closed.
var Opener = backend.Opener{
	Schemes: []string{scheme}, Forms: []string{"sqlite:///rel.db", "sqlite:////abs.db", "sqlite:///:memory:"},
	Open: openURI, Identity: identityOfURI,
}

const scheme = "sqlite"

// ParseURI returns the path in a URI, for [Open]. Errors do not repeat the URI.
func ParseURI(uri string) (path string, err error) {
	rest, ok := strings.CutPrefix(uri, scheme+"://")
	if !ok {
		return "", onto.Errorf(onto.Invalid, "the storage URI is not one of a SQLite file").WithHint("write sqlite:///rel.db or sqlite:////abs.db")
	}
	path, ok = strings.CutPrefix(rest, "/")
	switch {
	case !ok || path == "":
		return "", onto.Errorf(onto.Invalid, "the storage URI names no file").WithHint("sqlite:// is followed by a slash and the path: sqlite:///rel.db or sqlite:////abs.db")
	case strings.ContainsAny(path, "?#"):
		return "", onto.Errorf(onto.Invalid, "the storage URI has parameters, which sqlite:// does not take").
			WithHint("name a file with ? or # in its path with --db")
	case strings.Contains(path, "://"):
		return "", onto.Errorf(onto.Invalid, "the storage URI has another URI where its path belongs").WithHint("write sqlite:///rel.db or sqlite:////abs.db")
	case path == memoryPath:
		return path, nil
	}
	return filepath.Clean(path), nil
}

func openURI(ctx context.Context, uri string, create bool) (backend.Backend, error) {
	path, err := ParseURI(uri)
	if err != nil {
		return nil, err
	}
	b, err := Open(ctx, path, &Options{MustExist: !create && path != memoryPath})
	if err != nil {
		return nil, err
	}
	return b, nil
}

func identityOfURI(uri string) (string, error) {
	path, err := ParseURI(uri)
	if err != nil {
		return "", err
	}
	if path == memoryPath {
		return uri + "#" + rand.Text(), nil
	}
	path, err = backend.CanonicalPath(path)
	return scheme + ":///" + filepath.ToSlash(path), err
}
