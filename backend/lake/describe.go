package lake

import (
	"context"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/typelist"
)

var _ backend.Describer = (*Backend)(nil)

// Describe implements [backend.Describer]. The size is that of the files that answers
// are read from; with stats it is that of all objects, orphans and replaced files
// included.
func (b *Backend) Describe(ctx context.Context, stats bool) (backend.Info, error) {
	s, err := b.newestShelf(ctx)
	if err != nil {
		return backend.Info{}, err
	}
	head := s.Tip.Head
	info := backend.Info{Backend: "lake", Location: b.opts.Location, StoreID: head.StoreID, Format: head.Format, Warnings: []string{}}
	for _, t := range s.Names() {
		for _, f := range s.Of(t, 0, head.CommitID) {
			info.Bytes += f.Bytes
		}
	}
	for _, v := range typelist.Newest(s.Types.All) {
		info.Types = append(info.Types, backend.TypeInfo{Kind: v.Schema.Kind, Name: v.Schema.Name, Version: v.Version})
	}
	if !stats {
		return info, nil
	}
	info.Bytes = 0
	for e, err := range b.log.Each(ctx, "") {
		if err != nil {
			return info, err
		}
		info.Bytes += e.Size
	}
	return info, countAll(ctx, b, s, &info)
}

// countAll counts what there is of each type, as of one head.
func countAll(ctx context.Context, b *Backend, s *protocol.Shelf, info *backend.Info) error {
	counts := map[onto.TypeName]int64{}
	for _, t := range s.Names() {
		n, err := b.queries.Count(ctx, s, t, backend.History)
		if err != nil {
			return err
		}
		counts[t] = n
		info.Versions += n
	}
	for i := range info.Types {
		t := &info.Types[i]
		name := onto.TypeName{Kind: t.Kind, Name: t.Name}
		t.Versions = counts[name]
		var err error
		if t.Live, err = b.queries.Count(ctx, s, name, backend.State); err != nil {
			return err
		}
	}
	return nil
}
