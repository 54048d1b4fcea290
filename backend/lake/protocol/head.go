package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/refusal"
)

// The versions of the layout. A lake has the first one that has what it needs, so that
// programs which do not know the later ones can go on with it.
const (
	formatFirst   = 1
	formatFacts   = 2 // there is, or was, a type of facts
	formatCopying = 3 // a copy has not filled it yet
	formatInner   = 4 // a type says what is inside its fields, or has enums or dates
	Format        = formatInner
)

// HeadKey is where the head is.
const HeadKey = "meta/head.json"

// RecentAttempts is how many attempts a head remembers.
const RecentAttempts = 64

// Head is the root of a lake. Its bytes are never the same twice, since each has
// an attempt of its own.
type Head struct {
	CommitID     int64   `json:"commit_id"`     // 0 if there is no commit
	ManifestPath *string `json:"manifest_path"` // null if there is no commit
	UpdatedAt    string  `json:"updated_at"`
	RuntimeID    string  `json:"runtime_id"`

	Format   int      `json:"format"`
	StoreID  string   `json:"store_id"`
	Sequence int64    `json:"sequence"`        // of heads; the first has 1
	Attempt  string   `json:"attempt"`         // that made it
	Previous string   `json:"previous_sha256"` // of the head before; "" for the first
	Recent   []string `json:"recent_attempts"` // that made the heads before, newest first
	Catalog  string   `json:"catalog_path"`

	Locks map[string]int64 `json:"locks,omitempty"`       // leases that were taken, with their epochs; never changed in place
	Ended int64            `json:"locks_ended,omitempty"` // the greatest epoch of the transient leases that have ended

	Turn int64 `json:"turn_ms,omitempty"` // its writer asks the others to hold back that long

	Copy *CopyEntry `json:"copy,omitempty"` // that filled the lake; nil for none; never changed in place
}

// made reports whether an attempt made this head or one of those before. If known is
// false, the attempt may be older than the attempts that the head remembers, and made
// means nothing.
func (h *Head) made(attempt string, sequence int64) (made, known bool) {
	if h.Attempt == attempt || slices.Contains(h.Recent, attempt) {
		return true, true
	}
	return false, h.Sequence-sequence <= int64(len(h.Recent))
}

// next is the head that follows, without what it points at.
func (h *Head) next(body []byte, attempt, runtime, now string) *Head {
	n := *h
	n.Sequence, n.Attempt, n.Previous = h.Sequence+1, attempt, HashOf(body)
	n.Recent = append([]string{h.Attempt}, h.Recent[:min(len(h.Recent), RecentAttempts-1)]...)
	n.RuntimeID, n.UpdatedAt, n.Turn = runtime, now, 0
	return &n
}

// HashOf is the SHA-256 of a body, in hexadecimal digits.
func HashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// ParseHead reads a head, which may be any bytes.
func ParseHead(body []byte) (*Head, error) {
	h := new(Head)
	if err := Decode(HeadKey, body, h); err != nil {
		return nil, err
	}
	if h.Format > Format {
		return nil, refusal.NewerFormat(HeadKey, h.Format, Format)
	}
	if h.Format < 1 || h.StoreID == "" {
		return nil, onto.Errorf(onto.Unsupported, "%s: it is not the head of a lake of this program", HeadKey).
			WithHint("name another bucket or prefix")
	}
	switch sealed, whole := sealOf(body); {
	case !sealed:
		return nil, unsealed(HeadKey, "it does not end with a checksum")
	case !whole:
		return nil, unsealed(HeadKey, "it is not as it was written: its checksum is another")
	}
	if err := h.check(); err != nil {
		return nil, Damaged(HeadKey, "%w", err)
	}
	return h, nil
}

// check tells what no valid head can say; nil for nothing.
func (h *Head) check() error {
	catalog, ok := parseKey(h.Catalog)
	switch {
	case h.Sequence < 1 || h.Attempt == "" || h.Catalog == "" || len(h.Recent) > RecentAttempts || !inRange(h.Sequence, h.CommitID, h.Turn, h.Ended):
		return errors.New("a member is missing or out of range")
	case !ok || catalog.role != catalogRole || catalog.number > h.Sequence:
		return fmt.Errorf("%q is no catalog of head %d", h.Catalog, h.Sequence)
	case (h.CommitID == 0) != (h.ManifestPath == nil):
		return fmt.Errorf("commit %d and its manifest do not go together", h.CommitID)
	}
	if h.ManifestPath != nil {
		if n, ok := parseKey(*h.ManifestPath); !ok || n.role != manifestRole || n.number != h.CommitID {
			return fmt.Errorf("%q is not the manifest of commit %d", *h.ManifestPath, h.CommitID)
		}
	}
	if _, err := codec.ParseTime(h.UpdatedAt); err != nil {
		return fmt.Errorf("updated_at: %w", err)
	}
	if err := h.checkCopy(); err != nil {
		return err
	}
	for name, epoch := range h.Locks {
		if err := onto.CheckLeaseName(name); err != nil || epoch < 1 || epoch > maxNumber {
			return fmt.Errorf("the lease %.80q with the epoch %d cannot be", name, epoch)
		}
	}
	return nil
}

// Damaged is the error for an object that is not as it was written.
func Damaged(key, format string, args ...any) error {
	return onto.Errorf(onto.Corrupt, "%s: %w", key, onto.Errorf(onto.Corrupt, format, args...)).
		WithHint("restore the object, or the whole bucket, from a backup")
}

// WithoutKey is the error of a damaged object without its key.
func WithoutKey(err error) error {
	var e *onto.Error
	if errors.As(err, &e) && e.Code == onto.Corrupt {
		if cause := errors.Unwrap(e.Err); cause != nil {
			return cause
		}
	}
	return err
}

// Encode writes a document as one line of JSON.
func Encode(doc any) []byte {
	text, err := json.Marshal(doc)
	if err != nil {
		panic("lake: a document is not JSON: " + err.Error()) // they hold texts and numbers only
	}
	canonical, err := codec.AppendCanonical(nil, text)
	if err != nil {
		panic("lake: a document is not canonical: " + err.Error())
	}
	return canonical
}
