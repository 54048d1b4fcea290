package place

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/typelist"
)

// Describe is the description of the storage by the backend here, without types that a
// store keeps for itself. For a backend without one it is what can be queried: the types,
// and how much there is of each.
func (l Location) Describe(ctx context.Context, b backend.Backend, stats bool) (backend.Info, error) {
	info, err := l.describe(ctx, b, stats)
	info.Types = slices.DeleteFunc(info.Types, func(t backend.TypeInfo) bool { return strings.HasPrefix(t.Name, onto.OwnPrefix) })
	return info, err
}

func (l Location) describe(ctx context.Context, b backend.Backend, stats bool) (backend.Info, error) {
	if d, ok := backend.As[backend.Describer](b); ok {
		return d.Describe(ctx, stats)
	}
	info := backend.Info{Backend: "lake", Location: l.String()}
	all, err := b.Schemas(ctx)
	if err != nil {
		return info, err
	}
	for _, v := range typelist.Newest(all) {
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
	for g, err := range b.Aggregate(ctx, &backend.Aggregation{Query: q, Compute: []onto.Operand{onto.Count()}}) {
		if err == nil {
			n, err = strconv.ParseInt(string(g.Values[0]), 10, 64)
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
