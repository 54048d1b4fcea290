package protocol

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/probe"
)

// A janitor removes only what this store has written. It recognises that by the name of
// an object, which must be one that a writer gives, and by its contents:
//
//   - manifests, catalogs and checkpoints have the id of the store,
//   - data files have it in their footer. Those of the first programs have none: they
//     must be data files of this program, of the type that their name tells. A file
//     that the log itself names needs no further proof,
//   - what a probe leaves, and the lock of a transient lease, is known by its name alone.
//
// Anything else stays, and is a finding.

// probeFolder begins the folders of probes.
const probeFolder = "meta/probe-"

// formed tells why a key is not one that a writer gives; "" if it is.
func formed(key string) string {
	if rest, ok := strings.CutPrefix(key, probeFolder); ok {
		attempt, rest, _ := strings.Cut(rest, "/")
		if isAttempt(attempt) && probe.Made(rest) {
			return ""
		}
	} else if n, ok := parseKey(key); ok && isAttempt(n.attempt) {
		return ""
	} else if _, _, ok := parseTransientKey(key); ok {
		return ""
	}
	return "no writer gives an object this name"
}

// foreign tells why an object is not one that the store has written; "" if it is. It
// reads the object, or the end of it.
func (j *Janitor) foreign(ctx context.Context, e bucket.Entry, n *need, store string) (string, error) {
	if why := formed(e.Key); why != "" {
		return why, nil
	}
	if strings.HasPrefix(e.Key, probeFolder) || strings.HasPrefix(e.Key, transientFolder) || n.listed(e) {
		return "", nil
	}
	if name, _ := parseKey(e.Key); name.role == roundFileRole || name.role == snapshotRole {
		return j.foreignFile(ctx, e, name.TypeName, store)
	}
	o, err := j.log.b.Get(ctx, e.Key, bucket.Range{Max: MaxDocument}, "")
	switch {
	case errors.Is(err, bucket.ErrNotFound):
		return "", nil // another janitor has removed it
	case errors.Is(err, bucket.ErrTooLarge):
		return "it is larger than any object of its name", nil
	case err != nil:
		return "", err
	}
	var doc struct {
		StoreID string `json:"store_id"`
	}
	switch err := Decode(e.Key, o.Data, &doc); {
	case err != nil:
		return "it is not what its name says", nil
	case doc.StoreID != store:
		return fmt.Sprintf("it belongs to another store, %.40q", doc.StoreID), nil
	}
	return "", nil
}

// listed reports whether the log names a data file that is not needed any more.
func (n *need) listed(e bucket.Entry) bool {
	f, replaced := n.replaced[e.Key]
	return replaced && f.Bytes == e.Size || n.purged[e.Key]
}
