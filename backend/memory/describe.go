package memory

import (
	"context"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/typelist"
)

// Describe implements [backend.Describer].
func (b *Backend) Describe(ctx context.Context, stats bool) (backend.Info, error) {
	now, err := b.moment(ctx)
	if err != nil {
		return backend.Info{}, err
	}
	info := backend.Info{Backend: "memory", Location: "memory", StoreID: b.store.id, Format: 1}
	for _, r := range now.commits {
		info.Bytes += int64(len(r.metadata))
	}
	for _, v := range now.versions {
		info.Bytes += int64(len(v.Fields))
	}
	if stats {
		info.Versions = int64(len(now.versions))
	}
	for _, s := range typelist.Newest(now.schemas) {
		t := backend.TypeInfo{Kind: s.Schema.Kind, Name: s.Schema.Name, Version: s.Version}
		if stats {
			t.Live, t.Versions = now.count(t)
		}
		info.Types = append(info.Types, t)
	}
	return info, nil
}

// count returns how many identities of a type exist and how many versions
// there are.
func (l log) count(t backend.TypeInfo) (live, versions int64) {
	for _, v := range l.versions {
		if v.Kind == t.Kind && v.Type == t.Name {
			versions++
		}
	}
	for id, v := range l.current(l.head()) {
		if id.Kind == t.Kind && id.Type == t.Name && v.Live() {
			live++
		}
	}
	return live, versions
}
