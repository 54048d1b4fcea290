package records

import (
	"hash/maphash"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// maxSeen is how many identities an import remembers: about 100 MB.
const maxSeen = 2_000_000

// untracked stands for a line that is not remembered.
const untracked = -1

// seen remembers on which line each identity was, and its contents. Both are kept as
// hashes with secret seeds.
type seen struct {
	seeds [3]maphash.Seed
	known map[hashed]sighting
	limit int
	text  []byte                      // room for what is hashed
	place func(int64) (string, int64) // of a line, in one of several files
}

type hashed [2]uint64

type sighting struct {
	content uint64
	line    int64
}

func newSeen(limit int) *seen {
	return &seen{
		seeds: [3]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed(), maphash.MakeSeed()},
		known: map[hashed]sighting{}, limit: limit, place: (*folderSource)(nil).place,
	}
}

// add remembers a record. It returns the line of an equal one that came
// before, 0 if there was none, or untracked if there is no room to remember
// it. It fails if an earlier one differs. A fact without an id is always another one.
func (s *seen) add(r *record) (int64, error) {
	if r.id.Kind == onto.KindFact && r.id.Instance == "" {
		return 0, nil
	}
	key := s.hash(r.id)
	now := sighting{s.content(r), r.line}
	first, ok := s.known[key]
	switch {
	case ok && first.content == now.content:
		return first.line, nil
	case ok:
		file, line := s.place(first.line)
		if file != "" {
			file = " of " + file
		}
		return 0, atPlace(s.place, r.line, onto.Errorf(onto.Conflict, "%s was on line %d%s already, with other contents", r.id, line, file).
			WithHint("keep one of the two lines, or, if the records are a history, copy the store instead").WithCommand("copy", "FROM", "TO"))
	case len(s.known) >= s.limit:
		return untracked, nil
	}
	s.known[key] = now
	return 0, nil
}

// line returns the line of an identity, or 0 if it is not remembered.
func (s *seen) line(id onto.Identity) int64 { return s.known[s.hash(id)].line }

func (s *seen) hash(id onto.Identity) hashed {
	s.text = append(s.text[:0], id.Kind...)
	for _, part := range [...]string{id.Type, id.Key, id.Left, id.Right, id.Instance} {
		s.text = append(append(s.text, 0), part...)
	}
	return hashed{maphash.Bytes(s.seeds[0], s.text), maphash.Bytes(s.seeds[1], s.text)}
}

func (s *seen) content(r *record) uint64 {
	s.text = append(append(s.text[:0], r.op...), 0)
	s.text = appendMeaning(s.text, r)
	return maphash.Bytes(s.seeds[2], s.text)
}

// appendMeaning appends a record's fields as the store will have them, except for those
// that repeat the identity, so that equivalent records give the same text. Fields that a
// sparse record does not give are no part of it. Values that do not fit are refused by the
// store.
func appendMeaning(dst []byte, r *record) []byte {
	if r.op == onto.Delete {
		return dst
	}
	fields := r.schema.Fields
	split := splitter{rest: r.fields}
	split.object(func(name, value []byte) bool {
		for len(fields) > 0 && fields[0].Name < string(name) {
			dst = r.appendAbsent(dst, &fields[0])
			fields = fields[1:]
		}
		if len(fields) > 0 && fields[0].Name == string(name) {
			dst = r.appendGiven(dst, &fields[0], value)
			fields = fields[1:]
		}
		return true
	})
	for i := range fields {
		dst = r.appendAbsent(dst, &fields[i])
	}
	return dst
}

// appendAbsent appends a field that the record does not have.
func (r *record) appendAbsent(dst []byte, f *onto.Field) []byte {
	if r.sparse {
		return dst
	}
	return appendFieldMeaning(dst, r.schema, f, nil)
}

// appendGiven appends a field that the record has.
func (r *record) appendGiven(dst []byte, f *onto.Field, value []byte) []byte {
	if r.sparse && f.Default == nil && codec.KindOf(value) == codec.Null {
		return append(append(dst, f.Name...), 0) // emptied
	}
	return appendFieldMeaning(dst, r.schema, f, value)
}

// appendFieldMeaning appends one field and its value, which is nil if it is
// absent.
func appendFieldMeaning(dst []byte, schema *onto.Schema, f *onto.Field, value []byte) []byte {
	if f.Name == schema.Key || f.Name == schema.InstanceKey {
		return dst
	}
	if value == nil || codec.KindOf(value) == codec.Null {
		value = f.Default
	}
	if value == nil {
		return dst
	}
	if fitted, err := f.FitValue(value); err == nil {
		value = fitted
	}
	dst = append(append(dst, f.Name...), 0)
	return append(append(dst, value...), 0)
}
