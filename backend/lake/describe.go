package lake

import (
	"context"
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/protocol"
)

var _ backend.Describer = (*Backend)(nil)

// Describe implements [backend.Describer]. The size is that of the files that
// answers are read from; with stats it is that of all objects, also of those that
// nobody needs any more.
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
	for _, v := range backend.Newest(s.types.All) {
		info.Types = append(info.Types, backend.TypeInfo{Kind: v.Schema.Kind, Name: v.Schema.Name, Version: v.Version})
	}
	if !stats {
		return info, nil
	}
	if info.Bytes, err = listedBytes(ctx, b.log); err != nil {
		return info, err
	}
	return info, countAll(ctx, b, s, &info)
}

// countAll counts what there is of each type, as of one head.
func countAll(ctx context.Context, b *Backend, s *shelf, info *backend.Info) error {
	counts := map[onto.TypeName]int64{}
	for _, t := range s.Names() {
		n, err := countMode(ctx, b, s, t, backend.History)
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
		if t.Live, err = countMode(ctx, b, s, name, backend.State); err != nil {
			return err
		}
	}
	return nil
}

// countMode counts the versions of a type that a mode selects.
func countMode(ctx context.Context, b *Backend, s *shelf, t onto.TypeName, mode backend.Mode) (int64, error) {
	a := &backend.Aggregation{
		Query:   backend.Query{Kind: t.Kind, Type: t.Name, Mode: mode, At: s.Tip.Head.CommitID},
		Compute: []onto.Operand{onto.Count()},
	}
	c := s.scopeOf(&a.Query, a.Ends())
	defer c.close()
	for g, err := range b.choose(c).aggregate(ctx, a, c) {
		if err != nil {
			return 0, err
		}
		return strconv.ParseInt(string(g.Values[0]), 10, 64)
	}
	return 0, nil
}

// listedBytes is how large all objects are together.
func listedBytes(ctx context.Context, l *protocol.Log) (int64, error) {
	var n int64
	for e, err := range l.Each(ctx, "") {
		if err != nil {
			return 0, err
		}
		n += e.Size
	}
	return n, nil
}
