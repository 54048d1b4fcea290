package lake

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/file"
)

// Opener opens lakes in directories: file:///directory. Those in buckets are opened by
// [github.com/ontologia/onto/backend/lake/s3lake.Opener], which needs the SDK of AWS.
var Opener = backend.Opener{
	Schemes: []string{"file"}, Forms: []string{"file:///directory"},
	Open: openDirectory, Identity: identityOfDirectory,
}

func openDirectory(ctx context.Context, uri string, create bool) (backend.Backend, error) {
	a, err := addressOf(uri)
	if err != nil {
		return nil, err
	}
	b, err := file.Open(a.Dir, &file.Options{Create: create})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, onto.Errorf(onto.Uninitialized, "%s: there is no lake here", a).WithHint("make one").WithCommand("init", "--storage-uri", a.String())
	case errors.Is(err, syscall.ENOTDIR):
		return nil, onto.Errorf(onto.Unsupported, "%s: this is a file or inside of one, and a lake is a directory", a).WithHint("name a directory")
	case err != nil:
		return nil, a.Failed(err)
	}
	l, err := Open(ctx, b, &Options{MustExist: !create, Location: a.String()})
	if err != nil {
		return nil, a.Failed(err)
	}
	return l, nil
}

func identityOfDirectory(uri string) (string, error) {
	a, err := addressOf(uri)
	if err == nil {
		a.Dir, err = backend.CanonicalPath(a.Dir)
	}
	if err != nil {
		return "", err
	}
	return a.String(), nil
}

func addressOf(uri string) (bucket.Address, error) {
	if !strings.HasPrefix(uri, "file://") {
		return bucket.Address{}, onto.Errorf(onto.Invalid, "the storage URI is not one of a directory").WithHint("write file:///directory")
	}
	return bucket.ParseURI(uri)
}
