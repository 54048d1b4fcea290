package object

import (
	"context"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// Metadata tells when an object was created and last changed, and by whom, as the commits say
// that did it. An object that was deleted and inserted again was created by the latter.
type Metadata struct {
	CreatedAt time.Time
	CreatedBy onto.Actor
	UpdatedAt time.Time
	UpdatedBy onto.Actor

	Shard   string // the name of the shard that stores it
	Version int64  // the commit of that shard which made what was read
}

// WithMetadata is an object with its metadata.
type WithMetadata[T any] struct {
	Object   T
	Metadata Metadata
}

// found is an object as a shard has it.
type found[T any] struct {
	from    *source
	value   T
	version onto.Version
	place   store.Place
}

// complete adds metadata to objects, and lets the compute functions complete them. They are
// asked for in one question for each shard.
func (r *Reader[T, I, S]) complete(ctx context.Context, list []found[T], withMetadata bool) ([]WithMetadata[T], error) {
	objects := make([]WithMetadata[T], len(list))
	if !withMetadata && len(r.set.compute) == 0 {
		for i := range list {
			objects[i].Object = list[i].value
		}
		return objects, nil
	}
	var sources []*source
	var parts [][]int // of the list, by source
	for i := range list {
		n := slices.Index(sources, list[i].from)
		if n < 0 {
			n, sources, parts = len(sources), append(sources, list[i].from), append(parts, nil)
		}
		parts[n] = append(parts[n], i)
	}
	err := eachSideBySide(len(sources), func(n int) error { return describe(ctx, sources[n], list, parts[n], objects) })
	if err != nil {
		return nil, err
	}
	for i := range objects {
		for _, compute := range r.set.compute {
			if err := compute(ctx, objects[i].Metadata, &objects[i].Object); err != nil {
				return nil, err
			}
		}
	}
	return objects, nil
}

// describe adds metadata to those objects of a list that are of one source.
func describe[T any](ctx context.Context, from *source, list []found[T], part []int, objects []WithMetadata[T]) error {
	versions := make([]onto.Version, len(part))
	for n, i := range part {
		versions[n] = list[i].version
	}
	known, err := from.view.Provenance(ctx, versions)
	if err != nil {
		return from.shard.explain(err)
	}
	for n, i := range part {
		objects[i] = WithMetadata[T]{list[i].value, metadataOf(from.shard, &known[n])}
	}
	return nil
}

func metadataOf(s *shard, p *store.Provenance) Metadata {
	return Metadata{
		CreatedAt: p.Created.Time, CreatedBy: p.Created.Actor,
		UpdatedAt: p.Updated.Time, UpdatedBy: p.Updated.Actor,
		Shard: s.placement.Name, Version: p.Updated.ID,
	}
}
