package backend

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Changes reports whether a write makes a version, given the identity's newest
// version, or nil if it has none.
func Changes(w *Write, current *onto.Version) bool {
	live := current != nil && current.Live()
	if w.Op == onto.Delete {
		return live
	}
	return !live || !bytes.Equal(w.Fields, current.Fields)
}

// Repeats reports whether a write says what a version says, but for its place among the
// facts of its commit and the commit that asserted it, which a repetition does not know.
func Repeats(w *Write, v *onto.Version) bool {
	return w.Op == v.Op && sameFact(w.Fields, v.Fields)
}

func sameFact(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	said := func(fields []byte) []byte {
		var list []codec.Member
		for name, value := range codec.Pairs(fields) {
			if n := string(name); n != onto.FactSeq && n != onto.FactAsserted {
				list = append(list, codec.Member{Name: n, Value: value})
			}
		}
		return codec.AppendObject(nil, list)
	}
	return bytes.Equal(said(a), said(b))
}

// factSeq is the place of a fact among those of its commit.
func factSeq(fields []byte) int64 {
	seq, _ := strconv.ParseInt(string(codec.Find(fields, []string{onto.FactSeq})), 10, 64)
	return seq
}

// SameTwice decides about an identity that comes twice in one draft: nil if both writes
// are equal. Facts are, wherever they stand in the draft.
func SameTwice(a, b *Write) error {
	if a.Op == b.Op && a.Once == b.Once && a.Derived == b.Derived && a.Merge == b.Merge && a.Known.Equal(b.Known) &&
		(bytes.Equal(a.Fields, b.Fields) || a.Once && sameFact(a.Fields, b.Fields)) {
		return nil
	}
	return onto.Errorf(onto.Conflict, "%s comes twice in the draft, with different contents", a.Identity).
		WithHint("keep one of the two")
}

// SortWrites brings writes into the order of identity. An identity that comes
// twice is kept once if both are equal, a fact as it comes first.
func SortWrites(writes []Write) ([]Write, error) {
	sorted := true
	for i := 1; i < len(writes) && sorted; i++ {
		sorted = writes[i-1].Identity.Compare(writes[i].Identity) < 0
	}
	if sorted {
		return writes, nil
	}
	slices.SortFunc(writes, func(a, b Write) int { return a.Identity.Compare(b.Identity) })
	kept := writes[:1]
	for i := 1; i < len(writes); i++ {
		last := &kept[len(kept)-1]
		if last.Identity != writes[i].Identity {
			kept = append(kept, writes[i])
			continue
		}
		if err := SameTwice(last, &writes[i]); err != nil {
			return nil, err
		}
		if last.Once && factSeq(writes[i].Fields) < factSeq(last.Fields) {
			*last = writes[i] // the sort is not stable
		}
	}
	return kept, nil
}
