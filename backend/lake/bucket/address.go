package bucket

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/ontologia/onto"
)

// Address is where the objects of a lake are: a directory, or a bucket of an
// S3 service with a prefix. The zero value is nowhere.
type Address struct {
	Dir            string // absolute; "" for a bucket
	Bucket, Prefix string
}

// String is the address as a storage URI.
func (a Address) String() string {
	switch {
	case a.Dir != "":
		return "file://" + filepath.ToSlash(a.Dir)
	case a.Prefix != "":
		return "s3://" + a.Bucket + "/" + a.Prefix
	}
	return "s3://" + a.Bucket
}

// Failed names the lake in an error. An error without a code is the storage's.
func (a Address) Failed(err error) error {
	code := onto.CodeOf(err)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case code == "" && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)):
		code = onto.ReadOnly
	case code == "":
		code = onto.Unavailable
	}
	return onto.Errorf(code, "%s: %w", a, err)
}

// ParseURI reads the URI of a lake: file:///directory or s3://bucket/prefix. Errors repeat
// no more of the URI than its scheme.
func ParseURI(uri string) (Address, error) {
	scheme, rest, _ := strings.Cut(uri, "://")
	form, ok := map[string]string{"file": "write file:///directory", "s3": "write s3://bucket/prefix"}[scheme]
	if !ok {
		return Address{}, onto.Errorf(onto.Invalid, "the storage URI is not one of a lake").WithHint("write file:///directory or s3://bucket/prefix")
	}
	wrong := func(what string) (Address, error) {
		return Address{}, onto.Errorf(onto.Invalid, "the storage URI with %s:// %s", scheme, what).WithHint("%s", form)
	}
	host, path, _ := strings.Cut(rest, "/")
	switch {
	case strings.Contains(host, "@"):
		return Address{}, onto.Errorf(onto.Invalid, "the storage URI holds credentials, which do not belong into it").
			WithHint("%s; credentials are found where the tools of S3 services find them, such as AWS_PROFILE", form)
	case strings.ContainsAny(rest, "?#"):
		return wrong("has parameters, which it does not take")
	case escaped(rest):
		return wrong("has an escape such as %20: characters stand for themselves")
	case strings.ContainsFunc(rest, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return wrong("holds a control character")
	case scheme == "s3":
		return parseBucket(host, path, wrong)
	case host != "":
		return wrong("names a host or a relative path; the directory is absolute, after three slashes")
	case strings.Trim(path, "/.") == "":
		return wrong("names no directory")
	}
	return Address{Dir: filepath.Clean(filepath.FromSlash("/" + path))}, nil
}

func parseBucket(name, path string, wrong func(string) (Address, error)) (Address, error) {
	a := Address{Bucket: name, Prefix: strings.Trim(path, "/")}
	switch {
	case name == "":
		return wrong("names no bucket")
	case CheckKey(name) != nil || strings.Contains(name, "%"):
		return wrong("has a bucket whose name is not one: letters, digits, dots, hyphens and underscores")
	case a.Prefix != "" && CheckKey(a.Prefix) != nil:
		return wrong("has a prefix that cannot be one: words of letters, digits, dots, hyphens and underscores, with single slashes between them")
	}
	return a, nil
}

// escaped reports whether a text holds a character as URIs write it.
func escaped(text string) bool { return regexp.MustCompile("%[0-9A-Fa-f]{2}").MatchString(text) }
