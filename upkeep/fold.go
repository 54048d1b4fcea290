package upkeep

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/audit"
)

// foldSurvey reports folds whose states do not show all facts, by their records.
func foldSurvey(ctx context.Context, b backend.Backend) iter.Seq2[onto.Finding, error] {
	return func(yield func(onto.Finding, error) bool) {
		head, err := b.Resolve(ctx, onto.Point{})
		if err != nil {
			return // the check has told more
		}
		for v, err := range b.Scan(ctx, &backend.Query{Kind: onto.KindEntity, Type: audit.FoldRecords, At: head.ID}) {
			if err != nil {
				return // likewise
			}
			if f, behind := audit.Folded(&v, head.ID); behind && !yield(f, nil) {
				return
			}
		}
	}
}
