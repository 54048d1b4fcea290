package store

import (
	"context"

	"github.com/ontologia/onto"
)

// MissingEnds returns the entities that a relation names and that do not exist in the
// view, left before right.
func (v View) MissingEnds(ctx context.Context, id onto.Identity) ([]onto.Identity, error) {
	v, err := v.pin(ctx)
	if err != nil {
		return nil, err
	}
	t, err := v.typ(onto.KindRelation, id.Type)
	if err != nil {
		return nil, err
	}
	var missing []onto.Identity
	for _, end := range []onto.Identity{onto.EntityID(t.Schema.Left, id.Left), onto.EntityID(t.Schema.Right, id.Right)} {
		switch _, err := v.Get(ctx, end); {
		case err == nil || len(missing) > 0 && missing[0] == end:
		case onto.CodeOf(err) == onto.NotFound:
			missing = append(missing, end)
		default:
			return nil, err
		}
	}
	return missing, nil
}
