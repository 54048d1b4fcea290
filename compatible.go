package onto

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Compatible reports whether programs that know an older version of a type can continue
// to read and write beside a newer one: at every depth, it only adds fields that are
// optional, have a default or are computed, makes required fields optional, adds values to an enum or
// takes it away, or widens a field's type from int to float, to any, or from a list or an
// object whose contents are declared to one that can hold any. An attribute that is added
// to open facts is not compatible: there may be facts on it already, whose values are kept
// in another field then. Flags do not matter. A required field of a Go struct that is new gets
// a default when the struct joins a store, see [Type.Joining].
func Compatible(older, newer Schema) bool {
	older = older.LikeStored(newer)
	if older.TypeName() != newer.TypeName() || older.Key != newer.Key || older.Left != newer.Left ||
		older.Right != newer.Right || older.InstanceKey != newer.InstanceKey {
		return false
	}
	for _, o := range older.Fields {
		n, ok := newer.Field(o.Name)
		identifies := o.Name == older.Key || o.Name == older.InstanceKey
		if !ok || o.Many != n.Many || identifies && o.Type != n.Type {
			return false
		}
	}
	for _, n := range newer.Fields {
		if _, known := older.Field(n.Name); !known && older.Open {
			return false
		}
	}
	return compatibleFields(older.Fields, newer.Fields)
}

func compatibleFields(older, newer []Field) bool {
	for i := range older {
		n, ok := fieldIn(newer, older[i].Name)
		if !ok || !older[i].compatible(&n) {
			return false
		}
	}
	for _, n := range newer {
		if _, known := fieldIn(older, n.Name); !known && !n.Optional && n.Default == nil && n.Compute == nil {
			return false
		}
	}
	return true
}

// compatible reports whether programs that know this field can continue beside a newer
// declaration of it.
func (f *Field) compatible(newer *Field) bool {
	switch {
	case f.Optional && !newer.Optional, !f.keepsDefault(newer), !f.Type.Within(newer.Type), !f.EnumWithin(newer), !f.Compute.equal(newer.Compute):
		return false
	case newer.Type == Any, newer.open():
		return true
	case f.Items != nil && newer.Items != nil:
		return f.Items.compatible(newer.Items)
	case f.Values != nil && newer.Values != nil:
		return f.Values.compatible(newer.Values)
	case f.Fields != nil && newer.Fields != nil:
		return compatibleFields(f.Fields, newer.Fields)
	}
	return false
}

// keepsDefault reports whether a newer declaration has the field's default, or both have none.
// Inside the newer one there may be defaults of further fields.
func (f *Field) keepsDefault(newer *Field) bool {
	if f.Default == nil || newer.Default == nil || bytes.Equal(f.Default, newer.Default) {
		return (f.Default == nil) == (newer.Default == nil)
	}
	fitted, err := newer.FitValue(f.Default)
	return err == nil && bytes.Equal(fitted, newer.Default)
}

// open reports whether nothing is declared about what is inside, if anything can be.
func (f *Field) open() bool { return f.Items == nil && f.Values == nil && f.Fields == nil }

// EnumWithin reports whether each value that the field's enum allows is allowed by the other
// field's.
func (f *Field) EnumWithin(other *Field) bool {
	if other.Enum == nil {
		return true
	}
	return f.Enum != nil && !slices.ContainsFunc(f.Enum, func(v json.RawMessage) bool { return !other.allows(v) })
}
