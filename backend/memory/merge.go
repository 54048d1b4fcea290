package memory

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/computed"
	"github.com/ontologia/onto/internal/refusal"
)

// versionsOf returns the versions of a type since it last began, oldest first.
func (l log) versionsOf(t onto.TypeName) []onto.SchemaVersion {
	var list []onto.SchemaVersion
	for _, v := range l.schemas {
		if v.Schema.TypeName() != t {
			continue
		}
		if n := len(list); n > 0 && list[n-1].End != nil {
			list = nil
		}
		list = append(list, v)
	}
	return list
}

// continues reports whether programs with a version of a type can continue beside its
// newest one: no step since then has changed what they know, or gave it another meaning
// by an upgrader.
func (l log) continues(t onto.TypeName, version int) bool {
	list := l.versionsOf(t)
	at := slices.IndexFunc(list, func(v onto.SchemaVersion) bool { return v.Version == version })
	if at < 0 || l.existing(t) == nil {
		return false
	}
	for i := at + 1; i < len(list); i++ {
		if u := list[i].Upgrader; u != nil && *u != (onto.StoredUpgrader{}) || !onto.Compatible(list[i-1].Schema, list[i].Schema) {
			return false
		}
	}
	return true
}

// serves reports whether programs with the given type can use the stored one.
func (l log) serves(given onto.Schema) bool {
	list := l.versionsOf(given.TypeName())
	for _, v := range slices.Backward(list) {
		if onto.DiffSchemas(v.Schema, given).Empty() {
			return l.continues(given.TypeName(), v.Version)
		}
	}
	return onto.Compatible(given, list[len(list)-1].Schema)
}

// merged is a write with all fields of the newest version of its type.
func (l log) merged(w backend.Write, newest *onto.Version) (backend.Write, error) {
	last := l.existing(w.TypeName())
	if last == nil {
		return w, nil
	}
	known := w.Known
	for _, v := range l.versionsOf(w.TypeName()) {
		if w.Known == nil && v.Version == w.SchemaVersion {
			known = backend.KnownOf(v.Schema.Fields)
		}
	}
	whole := w.Known == nil && w.SchemaVersion == last.Version
	w.SchemaVersion, w.Known = last.Version, nil
	if w.Op == onto.Delete || whole {
		return w, nil
	}
	exists := newest != nil && newest.Live()
	var present json.RawMessage
	if exists {
		present = newest.Fields
	}
	fields, err := overlay(known, present, w.Fields, "")
	if err != nil {
		return w, onto.Errorf(onto.CodeOf(err), "%s: %w", w.Identity, err)
	}
	for _, f := range last.Schema.Fields {
		value, present := fields[f.Name]
		switch {
		case f.Compute != nil:
			delete(fields, f.Name)
		case present:
			fitted, err := f.Fit(value)
			if err != nil {
				return w, onto.Errorf(onto.Invalid, "%s: %w", w.Identity, err)
			}
			fields[f.Name] = fitted
		case f.Default != nil:
			fields[f.Name] = f.Default
		case !f.Optional && exists:
			return w, onto.Errorf(onto.Invalid, "%s: %w", w.Identity, refusal.FieldMissing(f))
		case !f.Optional:
			return w, onto.Errorf(onto.Invalid, "%s: %w", w.Identity, refusal.MissingToMake(f))
		}
	}
	text, err := json.Marshal(fields)
	if err == nil {
		w.Fields, err = codec.AppendCanonical(nil, text)
	}
	if err == nil {
		if w.Fields, err = computed.Row(&last.Schema, w.Identity, w.Fields); err != nil {
			err = onto.Errorf(onto.Invalid, "%s: %w", w.Identity, err)
		}
	}
	if err == nil && len(w.Fields) > onto.MaxFields {
		err = refusal.FieldsTooLarge(w.Identity, len(w.Fields))
	}
	return w, err
}

// overlay is the members of an object at a path: those that a write knows as it gives them,
// the others as they are.
func overlay(known backend.Known, present, given json.RawMessage, path string) (map[string]json.RawMessage, error) {
	fields, wanted := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if present != nil {
		if err := json.Unmarshal(present, &fields); err != nil {
			return nil, onto.Errorf(onto.Corrupt, "%w", err)
		}
	}
	if err := json.Unmarshal(given, &wanted); err != nil {
		return nil, onto.Errorf(onto.Invalid, "%w", err)
	}
	for name := range wanted {
		if present != nil && !known.Has(name) {
			delete(wanted, name)
		}
	}
	for _, k := range known {
		stored, value := fields[k.Name], wanted[k.Name]
		delete(fields, k.Name)
		if stored == nil || value == nil {
			continue
		}
		at := onto.FieldPath(path, k.Name)
		if lost := k.Unknown(stored); lost != "" {
			return nil, refusal.WouldLose(at, lost)
		}
		if k.Fields != nil && codec.KindOf(stored) == codec.Object && codec.KindOf(value) == codec.Object {
			inside, err := overlay(k.Fields, stored, value, at)
			if err != nil {
				return nil, err
			}
			text, err := json.Marshal(inside)
			if err != nil {
				return nil, onto.Errorf(onto.Invalid, "%w", err)
			}
			wanted[k.Name] = text
		}
	}
	maps.Copy(fields, wanted)
	for name, value := range fields { // RawMessages that were marshalled inside are not canonical
		canonical, err := codec.AppendCanonical(nil, value)
		if err != nil {
			return nil, onto.Errorf(onto.Invalid, "%w", err)
		}
		fields[name] = canonical
	}
	return fields, nil
}
