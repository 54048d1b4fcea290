package backend

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/suggest"
)

// Opener opens the storage that a URI names. Each backend has one:
// [github.com/ontologia/onto/backend/sqlite.Opener] and others.
type Opener struct {
	Schemes []string // of the URIs that it understands, such as "sqlite"
	Forms   []string // what these URIs look like, for hints: "sqlite:///rel.db"

	// Open opens the storage. Without create, storage that does not exist is
	// Uninitialized, and nothing is made.
	Open func(ctx context.Context, uri string, create bool) (Backend, error)

	// Identity returns the form of a URI that all URIs of the same place share. What is
	// gone when it is closed is another place each time.
	Identity func(uri string) (string, error)
}

// OpenURI opens the storage that a URI names with the opener for its scheme. An error
// repeats no more of a wrong URI than its scheme, since the rest may hold a password.
func OpenURI(ctx context.Context, uri string, create bool, openers ...Opener) (Backend, error) {
	o, err := openerOf(uri, openers)
	if err != nil {
		return nil, err
	}
	return o.Open(ctx, uri, create)
}

// IdentityOfURI returns the form of a URI that all URIs of the same place share: paths are
// absolute and without symbolic links, as far as they exist. Storage that is gone when it is
// closed, such as sqlite:///:memory:, is another place each time.
func IdentityOfURI(uri string, openers ...Opener) (string, error) {
	o, err := openerOf(uri, openers)
	if err != nil {
		return "", err
	}
	return o.Identity(uri)
}

func openerOf(uri string, openers []Opener) (Opener, error) {
	var schemes, forms []string
	for _, o := range openers {
		schemes, forms = append(schemes, o.Schemes...), append(forms, o.Forms...)
	}
	supported := "this program supports " + cmp.Or(strings.Join(forms, ", "), "no storage URIs")
	scheme, err := SchemeOf(uri, schemes, supported)
	if err != nil {
		return Opener{}, err
	}
	i := slices.IndexFunc(openers, func(o Opener) bool { return slices.Contains(o.Schemes, scheme) })
	return openers[i], nil
}

// SchemeOf returns the scheme of a storage URI, which must be one of the given ones. Hints
// end with what is supported.
func SchemeOf(uri string, schemes []string, supported string) (string, error) {
	scheme, _, ok := strings.Cut(uri, "://")
	if !ok {
		return "", onto.Errorf(onto.Invalid, "the storage URI has no scheme with :// after it").WithHint("%s", supported)
	}
	if slices.Contains(schemes, scheme) {
		return scheme, nil
	}
	err := onto.Errorf(onto.Invalid, "storage URIs with %s are not supported", shownScheme(scheme))
	if near := suggest.Name(scheme, schemes); near != "" {
		return "", err.WithHint("did you mean %s://? %s", near, supported)
	}
	switch scheme {
	case "postgres", "postgresql":
		return "", err.WithHint("there is no PostgreSQL backend yet; %s", supported)
	}
	return "", err.WithHint("%s", supported)
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

// CanonicalPath returns a path as an absolute one without symbolic links, as far as it exists.
func CanonicalPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", onto.Errorf(onto.Unavailable, "the path of the working directory cannot be found: %w", err).
			WithHint("give an absolute path")
	}
	return resolved(abs), nil
}

func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	above := filepath.Dir(path)
	if above == path {
		return path
	}
	return filepath.Join(resolved(above), filepath.Base(path))
}
