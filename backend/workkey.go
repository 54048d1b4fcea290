package backend

import (
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/dedupe"
)

// WorkKeys returns the keys by which an item can be known: its own first. If a part has a
// colon or a percent sign, the original program gives the resource another key than this one,
// and items that were imported keep theirs.
func WorkKeys(i *onto.WorkItem) []string {
	keys := []string{i.Key}
	if !strings.ContainsAny(i.System+i.Source+i.Type, ":%") || dedupe.OfRun(i.Key) {
		return keys
	}
	r := dedupe.Resource{System: i.System, Source: i.Source, Type: i.Type, ID: i.Resource}
	if key, err := dedupe.Key(r); err == nil && key != i.Key {
		keys = append(keys, key)
	}
	if key := dedupe.Original(r); !slices.Contains(keys, key) {
		keys = append(keys, key)
	}
	return keys
}

// KnownWork returns the item as which a new one is known already, or nil, given how an item
// is found by its key. Two resources can have one key of the original program, so that by
// another key than its own it is known only as an item of the same resource.
func KnownWork(i *onto.WorkItem, find func(key string) *onto.WorkItem) *onto.WorkItem {
	for n, key := range WorkKeys(i) {
		o := find(key)
		if o != nil && (n == 0 || o.System == i.System && o.Source == i.Source && o.Type == i.Type && o.Resource == i.Resource) {
			return o
		}
	}
	return nil
}
