package lake

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// pipes is a bucket in which an object is not a regular file.
type pipes struct {
	bucket.Bucket
	key string
}

func (b pipes) Get(ctx context.Context, key string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	if key == b.key {
		return bucket.Object{}, onto.Errorf(onto.Corrupt, "get %s: it is a named pipe: %w", key, bucket.ErrRefused).WithHint("remove it")
	}
	return b.Bucket.Get(ctx, key, r, ifNot)
}

// An object that the storage refuses to read fails every call that needs it at once,
// and the doctor names it.
func TestObjectThatCannotBeRead(t *testing.T) {
	s := openSample(t, makeSample(t), time.Second)
	manifest := s.tip().Manifest
	for _, key := range []string{protocol.HeadKey, s.tip().Head.Catalog, *s.tip().Head.ManifestPath, manifest.Files[0].Path} {
		b := pipes{s.bucket, key}
		l, err := Open(t.Context(), unclosed{b}, &Options{Trusted: true, Patience: time.Hour, unread: true}) // nothing waits that long
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.newestShelf(t.Context())
		if key != manifest.Files[0].Path && (onto.CodeOf(err) != onto.Corrupt || !strings.Contains(err.Error(), key)) {
			t.Errorf("reading: got %v, want an error that names %s", err, key)
		}
		found := checked(t, l)
		if codesOf(found) != "check_stopped" || !strings.Contains(found[0].Message, key) || found[0].Remedy.Text != "remove it" {
			t.Errorf("%s: got %v, want check_stopped with its name", key, found)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
