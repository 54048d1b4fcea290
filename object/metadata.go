package object

import (
	"context"
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
	byShard := map[*source][]int{}
	for i := range list {
		byShard[list[i].from] = append(byShard[list[i].from], i)
	}
	for from, at := range byShard {
		versions := make([]onto.Version, len(at))
		for j, i := range at {
			versions[j] = list[i].version
		}
		known, err := from.view.Provenance(ctx, versions)
		if err != nil {
			return nil, from.shard.explain(err)
		}
		for j, i := range at {
			objects[i] = WithMetadata[T]{list[i].value, metadataOf(from.shard, &known[j])}
		}
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

func metadataOf(s *shard, p *store.Provenance) Metadata {
	return Metadata{
		CreatedAt: p.Created.Time, CreatedBy: p.Created.Actor,
		UpdatedAt: p.Updated.Time, UpdatedBy: p.Updated.Actor,
		Shard: s.placement.Name, Version: p.Updated.ID,
	}
}
