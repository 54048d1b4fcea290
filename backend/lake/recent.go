package lake

import (
	"bytes"
	"container/list"
	"unsafe"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/decide"
)

// recentBytes is how much memory recent versions may take.
const recentBytes = 32 << 20

// recent is the newest versions of identities that were written or looked up lately, as
// of one head. A writer need not look up what it has just written.
type recent struct {
	sequence int64
	commit   int64
	types    string // hash of the types
	byID     map[onto.Identity]*list.Element
	used     *list.List // of *known, least recently used first
	bytes    int64
}

// known is what is known about an identity.
type known struct {
	id      onto.Identity
	version *onto.Version // nil if it has none
}

func (k *known) size() int64 {
	n := int64(unsafe.Sizeof(*k)) + int64(len(k.id.Type)+len(k.id.Key)+len(k.id.Left)+len(k.id.Right)+len(k.id.Instance)) + 128
	if k.version != nil {
		n += int64(unsafe.Sizeof(*k.version)) + int64(len(k.version.Fields))
	}
	return n
}

func newRecent() *recent { return &recent{byID: map[onto.Identity]*list.Element{}, used: list.New()} }

// get returns what is known of an identity's newest version.
func (r *recent) get(id onto.Identity) (v *onto.Version, ok bool) {
	e := r.byID[id]
	if e == nil {
		return nil, false
	}
	r.used.MoveToBack(e)
	return e.Value.(*known).version, true
}

// put notes the newest version of an identity; nil if it has none.
func (r *recent) put(id onto.Identity, v *onto.Version) {
	if e := r.byID[id]; e != nil {
		r.remove(e)
	}
	k := &known{id, v}
	r.byID[id] = r.used.PushBack(k)
	r.bytes += k.size()
	for r.bytes > recentBytes {
		r.remove(r.used.Front())
	}
}

func (r *recent) remove(e *list.Element) {
	k := r.used.Remove(e).(*known)
	delete(r.byID, k.id)
	r.bytes -= k.size()
}

// follow brings it to a shelf: types that others have touched are dropped, and
// everything if types were changed.
func (r *recent) follow(s *protocol.Shelf) {
	if r.sequence == s.Tip.Head.Sequence {
		return
	}
	if r.types != s.Types.Hash {
		*r = *newRecent()
	}
	if m := s.Tip.Manifest; m != nil {
		for _, t := range m.LastTouched {
			if t.Commit > r.commit {
				r.forget(t.TypeName())
			}
		}
	}
	r.note(s)
}

// adopt brings it to the shelf of a round that was decided on its contents.
func (r *recent) adopt(s *protocol.Shelf, made []decide.Version) {
	if r.sequence+1 != s.Tip.Head.Sequence || r.types != s.Types.Hash {
		return // follow brings it up to date at the next call
	}
	for i := range made {
		v := made[i].Version
		v.Fields = bytes.Clone(v.Fields) // the caller's
		r.put(v.Identity, &v)
	}
	r.note(s)
}

func (r *recent) note(s *protocol.Shelf) {
	r.sequence, r.commit, r.types = s.Tip.Head.Sequence, s.Tip.Head.CommitID, s.Types.Hash
}

// forget drops what is known of a type.
func (r *recent) forget(t onto.TypeName) {
	for id, e := range r.byID {
		if id.TypeName() == t {
			r.remove(e)
		}
	}
}
