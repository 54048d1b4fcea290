package upkeep

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/audit"
)

// fitSurvey reports versions that do not fit the version of their type that they are of, at
// every depth. What cannot be read is left to the check, which tells more.
func fitSurvey(ctx context.Context, b backend.Backend) iter.Seq2[onto.Finding, error] {
	return func(yield func(onto.Finding, error) bool) {
		head, err := b.Resolve(ctx, onto.Point{})
		if err != nil {
			return
		}
		all, err := b.Schemas(ctx)
		if err != nil {
			return
		}
		for len(all) > 0 {
			n := 1
			for n < len(all) && all[n].Schema.TypeName() == all[0].Schema.TypeName() {
				n++
			}
			if !unfitOf(ctx, b, all[:n], head.ID, yield) {
				return
			}
			all = all[n:]
		}
	}
}

// unfitOf yields what does not fit of one type, given its versions. It reports false to stop.
func unfitOf(ctx context.Context, b backend.Backend, versions []onto.SchemaVersion, head int64, yield func(onto.Finding, error) bool) bool {
	schemas := make(map[int]*onto.Schema, len(versions))
	for i := range versions {
		schemas[versions[i].Version] = &versions[i].Schema
	}
	newest := &versions[len(versions)-1].Schema
	q := &backend.Query{Kind: newest.Kind, Type: newest.Name, Mode: backend.History, At: head, Schema: newest}
	for v, err := range b.Scan(ctx, q) {
		if err != nil {
			return true
		}
		s := schemas[v.SchemaVersion]
		if s == nil {
			continue
		}
		if f, unfit := audit.Unfit(&v, s); unfit && !yield(f, nil) {
			return false
		}
	}
	return true
}
