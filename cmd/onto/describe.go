package main

import (
	"context"
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/place"
)

// describeBackend is what a backend tells about its storage. For one that tells
// nothing it is what can be asked: the types, and how much there is of each.
func describeBackend(ctx context.Context, b backend.Backend, at place.Location, stats bool) (backend.Info, error) {
	if d, ok := backend.As[backend.Describer](b); ok {
		return d.Describe(ctx, stats)
	}
	info := backend.Info{Backend: "lake", Location: at.String()}
	all, err := b.Schemas(ctx)
	if err != nil {
		return info, err
	}
	for _, v := range backend.Newest(all) {
		t := backend.TypeInfo{Kind: v.Schema.Kind, Name: v.Schema.Name, Version: v.Version}
		if stats {
			if t.Live, err = countVersions(ctx, b, &v.Schema, backend.State); err == nil {
				t.Versions, err = countVersions(ctx, b, &v.Schema, backend.History)
			}
			if err != nil {
				return info, err
			}
		}
		info.Types = append(info.Types, t)
		info.Versions += t.Versions
	}
	return info, nil
}

// countVersions counts the versions of a type that a mode selects.
func countVersions(ctx context.Context, b backend.Backend, s *onto.Schema, mode backend.Mode) (int64, error) {
	var n int64
	q := backend.Query{Kind: s.Kind, Type: s.Name, Mode: mode, At: backend.Head, Schema: s}
	err := each(b.Aggregate(ctx, &backend.Aggregation{Query: q, Compute: []onto.Operand{onto.Count()}}), func(g onto.Group) (err error) {
		n, err = strconv.ParseInt(string(g.Values[0]), 10, 64)
		return err
	})
	return n, err
}
