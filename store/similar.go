package store

import (
	"context"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/suggest"
)

// manyKeys is how many keys are compared with one that does not exist.
const manyKeys = 1000

// SimilarKey returns the key of an entity that is like one that does not exist, for
// messages; "" if none is close or it cannot be told. Of a type with many entities, those
// are compared whose keys begin alike.
func (v View) SimilarKey(ctx context.Context, id onto.Identity) string {
	schema, err := v.Type(id.Type)
	if err != nil || id.Kind != onto.KindEntity || len(id.Key) > onto.MaxName {
		return ""
	}
	all := v.FindKind(id.Kind, id.Type).Limit(manyKeys)
	page, err := all.Page(ctx)
	if key, _ := schema.Field(schema.Key); err == nil && page.Next != "" && key.Type == onto.String {
		begin := []rune(id.Key)
		page, err = all.Where(onto.Path(schema.Key).StartsWith(string(begin[:(len(begin)+1)/2]))).Page(ctx)
	}
	if err != nil {
		return ""
	}
	var keys []string
	for _, v := range page.Items {
		keys = append(keys, v.Key)
	}
	return suggest.Name(id.Key, keys)
}
