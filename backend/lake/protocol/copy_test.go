package protocol

import (
	"testing"

	"github.com/ontologia/onto"
)

// A head whose format and copy contradict each other is damaged: half a copy would be taken
// for a whole store, or the other way round.
func TestHeadOfCopy(t *testing.T) {
	for _, test := range []struct {
		format int
		copy   *CopyEntry
		want   onto.Code
	}{
		{formatFirst, nil, ""},
		{formatFacts, &CopyEntry{Origin: "other", Commit: 7, Sum: "s"}, ""},
		{formatCopying, &CopyEntry{Origin: "other", Unfinished: true}, ""},
		{formatCopying, nil, onto.Corrupt},
		{formatCopying, &CopyEntry{Origin: "other"}, onto.Corrupt},
		{formatFirst, &CopyEntry{Origin: "other", Unfinished: true}, onto.Corrupt},
		{formatFirst, &CopyEntry{Origin: "other", Commit: -1}, onto.Corrupt},
		{formatInner, nil, ""},
		{formatInner, &CopyEntry{Origin: "other", Unfinished: true}, ""},
		{formatInner, &CopyEntry{Origin: "other", Commit: 7, Sum: "s"}, ""},
		{Format + 1, nil, onto.Unsupported},
	} {
		h := &Head{Format: test.format, StoreID: "S", Sequence: 3, Attempt: "A", Recent: []string{"B"}, Catalog: "meta/catalog/3-A.json", UpdatedAt: "2026-02-10T12:34:56.789012+00:00", Copy: test.copy}
		got, err := ParseHead(encodeSealed(h))
		if onto.CodeOf(err) != test.want {
			t.Errorf("format %d, copy %+v: got %v, want %q", test.format, test.copy, err, test.want)
		}
		if err == nil && got.Copy.State() != test.copy.State() {
			t.Errorf("got %+v, want %+v", got.Copy, test.copy)
		}
	}
}
