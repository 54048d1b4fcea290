package derived

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/segment"
	"github.com/ontologia/onto/internal/typelist"
)

// typesDoc names the types that exist.
type typesDoc struct {
	Entities  []string `json:"entities"`
	Relations []string `json:"relations"`
	Facts     []string `json:"facts,omitempty"` // left out if there are none, as programs write it that do not know facts
	UpdatedAt string   `json:"updated_at"`      // when a type was registered or ended last
}

// droppedDoc is a type that was dropped.
type droppedDoc struct {
	Kind      onto.Kind `json:"type_kind"`
	Name      string    `json:"type_name"`
	Version   int       `json:"schema_version_id"` // its last
	Commit    int64     `json:"commit_id"`         // the first one without it
	DroppedAt string    `json:"dropped_at"`
	RenamedTo *string   `json:"renamed_to"` // null if it was dropped
	Purged    bool      `json:"purged"`
}

// versionDoc is one version of a type.
type versionDoc struct {
	Kind      onto.Kind            `json:"type_kind"`
	Name      string               `json:"type_name"`
	Version   int                  `json:"schema_version_id"`
	Schema    json.RawMessage      `json:"schema"` // as it was registered
	Hash      string               `json:"schema_hash"`
	Created   string               `json:"created_at"`
	Runtime   *string              `json:"runtime_id"`
	Reason    *string              `json:"reason"`
	ActorKind *string              `json:"actor_kind"`
	ActorID   *string              `json:"actor_id"`
	Comment   *string              `json:"comment"`
	Since     int64                `json:"since_commit"`
	Upgrader  *onto.StoredUpgrader `json:"upgrader"`
	Learned   *onto.Learned        `json:"learned"`
	End       *onto.End            `json:"end"`
}

// schemaObject is a derived object about types. Its body depends on the types
// alone.
type schemaObject struct {
	protocol.Object
	name  onto.TypeName // zero if it is about all types
	count int           // of what it lists
}

// schemaObjects are the derived objects about types. There are none as long as
// there was never a type.
func schemaObjects(all []onto.SchemaVersion) []schemaObject {
	if len(all) == 0 {
		return nil
	}
	types, registry := typesDoc{Entities: []string{}, Relations: []string{}}, map[onto.Kind]map[string]json.RawMessage{onto.KindEntity: {}, onto.KindRelation: {}}
	existing := typelist.Newest(all)
	for _, v := range existing {
		kind, name := v.Schema.Kind, v.Schema.Name
		if registry[kind] == nil {
			registry[kind] = map[string]json.RawMessage{}
		}
		registry[kind][name] = v.Schema.JSON()
		switch kind {
		case onto.KindFact:
			types.Facts = append(types.Facts, name)
		case onto.KindRelation:
			types.Relations = append(types.Relations, name)
		default:
			types.Entities = append(types.Entities, name)
		}
	}
	dropped := []droppedDoc{}
	versions := map[onto.TypeName][]versionDoc{}
	for i := range all {
		v := &all[i]
		name := v.Schema.TypeName()
		versions[name] = append(versions[name], newVersionDoc(v))
		types.UpdatedAt = max(types.UpdatedAt, codec.FormatTime(v.Created))
		if e := v.End; e != nil {
			at := codec.FormatTime(e.Time)
			types.UpdatedAt = max(types.UpdatedAt, at)
			dropped = append(dropped, droppedDoc{name.Kind, name.Name, v.Version, e.Commit, at, orNull(e.RenamedTo), e.Purged})
		}
	}
	list := []schemaObject{
		{Object: protocol.Object{Key: "meta/schema/dropped.json", Body: protocol.Encode(dropped)}, count: len(dropped)},
		{Object: protocol.Object{Key: "meta/schema/registry.json", Body: protocol.Encode(registry)}, count: len(existing)},
		{Object: protocol.Object{Key: "meta/schema/types.json", Body: protocol.Encode(types)}, count: len(existing)},
	}
	for name, docs := range versions {
		list = append(list, schemaObject{protocol.Object{Key: versionsKey(name), Body: protocol.Encode(docs)}, name, len(docs)})
	}
	slices.SortFunc(list[3:], func(a, b schemaObject) int { return a.name.Compare(b.name) })
	return list
}

// versionsKey is where the versions of a type are listed.
func versionsKey(t onto.TypeName) string {
	return "meta/schema/versions/" + string(t.Kind) + "/" + segment.Escape(t.Name) + ".json"
}

func newVersionDoc(v *onto.SchemaVersion) versionDoc {
	return versionDoc{
		Kind: v.Schema.Kind, Name: v.Schema.Name, Version: v.Version, Schema: v.JSON, Hash: v.Hash, Created: codec.FormatTime(v.Created),
		Runtime: orNull(v.Runtime), Reason: orNull(v.Reason),
		ActorKind: orNull(string(v.Actor.Kind)), ActorID: orNull(v.Actor.ID), Comment: orNull(v.Comment), Since: v.Since, Upgrader: v.Upgrader, Learned: v.Learned, End: v.End,
	}
}

// orNull is a text, or null if there is none.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// schemaWriter writes objects about types.
type schemaWriter struct {
	log *protocol.Publisher

	mu      sync.Mutex        // guards what follows
	catalog *protocol.Catalog // that the objects are made from
	objects map[string]schemaObject
}

// writeSchemas brings all objects about types up to date with the newest head.
func writeSchemas(ctx context.Context, l *protocol.Publisher) error {
	w := &schemaWriter{log: l}
	objects, err := w.newest(ctx)
	if err != nil {
		return err
	}
	keys := slices.Sorted(maps.Keys(objects))
	return protocol.SideBySide(len(keys), func(i int) error { return w.write(ctx, keys[i]) })
}

// newest is the objects as they should be by the newest head.
func (w *schemaWriter) newest(ctx context.Context) (map[string]schemaObject, error) {
	t, err := w.log.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.catalog == t.Catalog {
		return w.objects, nil
	}
	types, err := protocol.ReadTypes(t.Catalog)
	if err != nil {
		return nil, err
	}
	w.catalog, w.objects = t.Catalog, map[string]schemaObject{}
	for _, o := range schemaObjects(types.All) {
		w.objects[o.Key] = o
	}
	return w.objects, nil
}

// write brings one object up to date. These objects do not tell which head they
// were made from. So the head is read after the object: the last writer to
// swap has read it after all others have swapped, and knows all heads that they knew.
func (w *schemaWriter) write(ctx context.Context, key string) error {
	_, err := w.log.Amend(ctx, key, func([]byte) ([]byte, error) {
		objects, err := w.newest(ctx)
		return objects[key].Body, err
	})
	return unwritten(key, err)
}
