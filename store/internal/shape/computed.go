package shape

import (
	"cmp"
	"encoding/json"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// refuseComputed refuses values of fields that the store computes.
func (t *Type) refuseComputed(id onto.Identity, members []codec.Member) error {
	if t.computed == nil {
		return nil
	}
	for _, m := range members {
		if f, ok := t.Schema.Field(m.Name); ok && f.Compute != nil {
			return onto.Errorf(onto.Invalid, "%s: field %s is given, but the store computes it", describe(id), m.Name).WithHint("leave it out")
		}
	}
	return nil
}

// withComputedKey makes the identity agree with the key that is made of the members. Where
// a merge does not give all of these, the given key stands until the backend knows the rest.
func (t *Type) withComputedKey(id onto.Identity, members []codec.Member, merge bool) (onto.Identity, error) {
	fields := codec.AppendObject(nil, members)
	if id.Key != "" && !t.computed.Complete(fields) {
		return id, nil
	}
	key, err := t.computed.Key(fields)
	switch {
	case err != nil:
		return id, cmp.Or(t.misnamed(id, members), err)
	case id.Key == "":
		id.Key = key
	case id.Key != key:
		return id, onto.Errorf(onto.Invalid, "%s: %w", id, t.computed.OtherKey(key, merge))
	}
	return id, nil
}

// fill adds to fields what is computed of them, as far as the program knows of it.
func (t *Type) fill(fields []byte, known backend.Known) (json.RawMessage, error) {
	if known == nil {
		return t.computed.Fill(fields, nil)
	}
	return t.computed.Fill(fields, known.Has)
}
