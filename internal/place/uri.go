package place

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/internal/suggest"
)

// uriForms is every storage URI, for hints.
const uriForms = "sqlite:///rel.db, sqlite:////abs.db, sqlite:///:memory:, file:///directory and s3://bucket/prefix"

// ParseURI reads a storage URI. Messages repeat no more of one that is wrong than
// the scheme, since the rest may hold a password.
func ParseURI(uri string) (Location, error) {
	const supported = "this build supports " + uriForms
	scheme, rest, ok := strings.Cut(uri, "://")
	if !ok {
		return Location{}, onto.Errorf(onto.Invalid, "the storage URI has no scheme with :// after it").WithHint(supported)
	}
	var loc Location
	var err error
	switch scheme {
	case "sqlite":
		loc, err = parseSQLite(rest)
	case "file", "s3":
		loc.Lake, err = parseLake(scheme, rest)
	default:
		err := onto.Errorf(onto.Invalid, "storage URIs with %s are not supported", shownScheme(scheme))
		if near := suggest.Name(scheme, []string{"sqlite", "file", "s3"}); near != "" {
			return Location{}, err.WithHint("did you mean %s://? %s", near, supported)
		}
		return Location{}, err.WithHint(supported)
	}
	if err != nil {
		return Location{}, err
	}
	loc.flag = flag{"--storage-uri", uri} // nothing in it is secret
	return loc, nil
}

// shownScheme is a scheme as messages show it. A long text is no scheme, and may be a
// password.
func shownScheme(scheme string) string {
	const longest = 10
	if len(scheme) > longest {
		return "this scheme"
	}
	return strconv.Quote(scheme + "://")
}

func parseSQLite(rest string) (Location, error) {
	path, ok := strings.CutPrefix(rest, "/")
	switch {
	case !ok || path == "":
		return Location{}, onto.Errorf(onto.Invalid, "the storage URI names no file").WithHint("sqlite:// is followed by a slash and the path: sqlite:///rel.db or sqlite:////abs.db")
	case strings.ContainsAny(path, "?#"):
		return Location{}, onto.Errorf(onto.Invalid, "the storage URI has parameters, which sqlite:// does not take").
			WithHint("name a file with ? or # in its path with --db")
	}
	return parsePath(path)
}

// LakeAddress is where the objects of a lake are: a directory, or a bucket of an
// S3 service with a prefix. The zero value is nowhere.
type LakeAddress struct {
	dir            string
	bucket, prefix string
}

// String is the address as a storage URI.
func (a LakeAddress) String() string {
	switch {
	case a.dir != "":
		return "file://" + filepath.ToSlash(a.dir)
	case a.prefix != "":
		return "s3://" + a.bucket + "/" + a.prefix
	}
	return "s3://" + a.bucket
}

// parseLake reads what follows the scheme in the URI of a lake.
func parseLake(scheme, rest string) (LakeAddress, error) {
	form := map[string]string{"file": "write file:///directory", "s3": "write s3://bucket/prefix"}[scheme]
	wrong := func(what string) (LakeAddress, error) {
		return LakeAddress{}, onto.Errorf(onto.Invalid, "the storage URI with %s:// %s", scheme, what).WithHint("%s", form)
	}
	host, path, _ := strings.Cut(rest, "/")
	switch {
	case strings.Contains(host, "@"):
		return LakeAddress{}, onto.Errorf(onto.Invalid, "the storage URI holds credentials, which do not belong into it").
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
	return LakeAddress{dir: filepath.Clean(filepath.FromSlash("/" + path))}, nil
}

func parseBucket(name, path string, wrong func(string) (LakeAddress, error)) (LakeAddress, error) {
	a := LakeAddress{bucket: name, prefix: strings.Trim(path, "/")}
	switch {
	case name == "":
		return wrong("names no bucket")
	case bucket.CheckKey(name) != nil || strings.Contains(name, "%"):
		return wrong("has a bucket whose name is not one: letters, digits, dots, hyphens and underscores")
	case a.prefix != "" && bucket.CheckKey(a.prefix) != nil:
		return wrong("has a prefix that cannot be one: words of letters, digits, dots, hyphens and underscores, with single slashes between them")
	}
	return a, nil
}

// escaped reports whether a text holds a character as URIs write it.
func escaped(text string) bool { return regexp.MustCompile("%[0-9A-Fa-f]{2}").MatchString(text) }
