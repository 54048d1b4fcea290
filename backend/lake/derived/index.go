package derived

import (
	"context"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/segment"
)

// index tells where the versions of one type are.
type index struct {
	Type     string       `json:"type_name"`
	Max      int64        `json:"max_indexed_commit"` // the head when it was made
	Entries  []indexEntry `json:"entries"`            // oldest first; ranges follow each other, or are the same for parts of one file
	Kind     onto.Kind    `json:"kind"`
	StoreID  string       `json:"store_id"`
	Sequence int64        `json:"sequence"` // of that head, since a compaction keeps the commit
}

// indexEntry is a file with all versions of the type that a range of commits made.
type indexEntry struct {
	First  int64  `json:"min_commit_id"`
	Last   int64  `json:"max_commit_id"`
	Path   string `json:"path"`
	Rows   int64  `json:"row_count"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"content_sha256"`
}

// indexKey is where the index of a type is.
func indexKey(t onto.TypeName) string {
	return "meta/indices/" + protocol.FolderOf(t.Kind) + "/" + segment.Escape(t.Name) + ".json"
}

// indexOf is what the index of a type should be.
func indexOf(s *protocol.Shelf, t onto.TypeName) *index {
	h := s.Tip.Head
	x := &index{Type: t.Name, Kind: t.Kind, Max: h.CommitID, StoreID: h.StoreID, Sequence: h.Sequence, Entries: []indexEntry{}}
	for _, f := range s.Of(t, 0, h.CommitID) {
		x.Entries = append(x.Entries, indexEntry{f.First, f.Last, f.Path, f.Rows, f.Bytes, f.SHA256})
	}
	return x
}

// ahead reports whether an index was made from a later head than a shelf is of. An
// index of another store never is ahead.
func (x *index) ahead(s *protocol.Shelf) bool {
	h := s.Tip.Head
	return (x.StoreID == "" || x.StoreID == h.StoreID) && (x.Max > h.CommitID || x.Sequence > h.Sequence)
}

// nextIndex is what the index of a type should become, or nil if it is to stay. An
// index that was made from a later head stays, if there is such a head.
func nextIndex(ctx context.Context, l *protocol.Log, s *protocol.Shelf, t onto.TypeName, old []byte) ([]byte, error) {
	x := new(index)
	if old == nil || protocol.Decode(indexKey(t), old, x) != nil || !x.ahead(s) {
		return protocol.Encode(indexOf(s, t)), nil
	}
	now, err := l.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	if s, err = l.Shelve(ctx, now, s); err != nil {
		return nil, err
	}
	if x.ahead(s) { // the bucket was restored to an earlier state, or the index is forged
		return protocol.Encode(indexOf(s, t)), nil
	}
	return nil, nil
}
